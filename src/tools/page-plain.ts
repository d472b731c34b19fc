/**
 * The visible words of an HTML page in one linear pass, without a DOM: for pages too large, too deep or too broken for the
 * article extraction. Refuses: structure beyond lines.
 */

/** Elements whose content is never shown. */
const HIDDEN: ReadonlySet<string> = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "head",
  "iframe",
  "object",
  "select",
]);
const BLOCK =
  /^(?:address|article|aside|blockquote|body|br|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|summary|table|tbody|td|tfoot|th|thead|tr|ul)$/;
/** Elements that have no end, and those whose end HTML lets one leave out. */
const FLAT =
  /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr|p|li|dd|dt|tr|td|th|tbody|thead|tfoot|option|optgroup|colgroup)$/;
const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  copy: "©",
  laquo: "«",
  raquo: "»",
  bull: "•",
  middot: "·",
};

/** Entities → characters; unknown ones stay. */
export function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? (NAMED[name] ?? whole) : whole;
    const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : whole;
  });
}

const TAG = /<(?:!--|(\/?)([a-z][^\s/>]*)|[!?/])/gi;

/** Where the construct that begins at `at` ends: just behind its `>`, outside quotes only roughly. */
function endOfTag(html: string, at: number): number {
  const end = html.startsWith("<!--", at) ? html.indexOf("-->", at + 4) : html.indexOf(">", at);
  return end < 0 ? html.length : end + (html[end] === "-" ? 3 : 1);
}

/**
 * What a DOM of a page would cost: its deepest nesting, and how much of it (`end`, an index) stays within `budget` tags and
 * entities.
 */
export function measureHtml(html: string, budget: number): { readonly depth: number; readonly end: number } {
  let count = 0;
  let depth = 0;
  let deepest = 0;
  for (const { 0: found, 1: slash, 2: name, index } of html.matchAll(/<(\/?)([a-z][^\s/>]*)?|&/gi)) {
    count += 1;
    if (count > budget) return { depth: deepest, end: index };
    if (found === "&" || name === undefined || FLAT.test(name.toLowerCase())) continue;
    depth = slash === "/" ? Math.max(0, depth - 1) : depth + 1;
    deepest = Math.max(deepest, depth);
  }
  return { depth: deepest, end: html.length };
}

/** Text with one line per block. */
export function plainText(html: string): string {
  const parts: string[] = [];
  const tags = new RegExp(TAG);
  let at = 0;
  for (let tag = tags.exec(html); tag !== null; tag = tags.exec(html)) {
    parts.push(decodeEntities(html.slice(at, tag.index)).replace(/\s+/g, " "));
    const name = tag[2]?.toLowerCase() ?? "";
    at = endOfTag(html, tag.index);
    if (tag[1] === "" && HIDDEN.has(name)) at = endOfHidden(html, name, at);
    else if (BLOCK.test(name)) parts.push("\n");
    tags.lastIndex = at;
  }
  parts.push(decodeEntities(html.slice(at)).replace(/\s+/g, " "));
  return parts
    .join("")
    .split("\n")
    .map((line) => line.trim())
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

function endOfHidden(html: string, name: string, at: number): number {
  const close = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  close.lastIndex = at;
  const found = close.exec(html);
  return found ? endOfTag(html, found.index) : html.length;
}
