/**
 * Addresses that stand in a text by themselves. Without hyperlinks of the terminal the renderer writes where a link leads behind
 * it, also where that is what the link says: here it is asked for hyperlinks, what leads elsewhere is told in the source, and
 * the hyperlinks are taken out. Pure. Refuses: a rendering that hides where a link leads.
 */

/** Outside of `[text](address)`. More than the renderer makes a link of: the rendering decides. */
const BARE = /(?<!\]\(<?)(?:https?|ftp):\/\/|(?<!\/\/)www\.|[\w.+-]@\w/i;
/** One of them is in each of these. Most blocks have none: looking for words costs next to nothing. */
const MARKS = ["://", "@", "ww.", "WW."];
/** The plainest of links; a block with others is rendered as ever. */
const NAMED = /(?<!!)\[([^[\]\n]{1,500})\]\((https?:\/\/[^\s()<>]{1,2000})\)/g;
const PUNCTUATION = /[!-/:-@[-`{-~]/g;
const LINK = /\x1b\]8;;([^\x07\x1b\n]*)\x1b\\([^\x07]*?)\x1b\]8;;\x1b\\/g;
/** What a link's text has besides its characters where it was wrapped: colours, line ends, margins, the bar of a quotation. */
const AROUND = /\x1b\[[0-9;]*m|[\s│]/g;

function says(text: string, target: string): boolean {
  return [text, `http://${text}`, `mailto:${text}`].includes(target);
}

/** Up to where an address may end. What may close emphasis around it is no part of it. */
const BARE_WHOLE =
  /(?<!\]\(<?)(?:(?:https?|ftp):\/\/|(?<!\/\/)www\.|(?<![\w.+-])[\w.+-]+@(?=\w))(?:[^\s<>()[\]*`|\\]|\*(?=\w))*[^\s<>()[\]*`|\\_~]/gi;
const MARKUP = /[!"$%'()*+,./:<=>?@[\\\]^_`{|}~-]/g;
const BRACKETED = /<((?:https?|ftp):\/\/[^\s<>]*)>/gi;
/** In these an escape would be seen, or a link by another rule begins. */
const UNSAFE = /[`\\]|~~~|<(?!(?:https?|ftp):\/\/)|\]:|(?:^|[>*+.)-])(?: {4}|\t)/im;

/** As it is; `&amp;` in it is still a reference. */
function escaped(address: string): string {
  return address.replace(MARKUP, "\\$&");
}

/** The source with its bare addresses escaped, for a renderer that knows no hyperlinks; undefined where that may be seen. */
export function withoutBareLinks(source: string): string | undefined {
  if (UNSAFE.test(source)) return undefined;
  return source
    .replace(NAMED, (whole, name: string, address: string) => (says(name, address) ? name : whole))
    .replace(BRACKETED, (_whole, address: string) => escaped(address))
    .replace(BARE_WHOLE, escaped);
}

/** What stands before the `@` of a mail address, but for the marks of code, emphasis and tables. */
const LOCAL_PART = /(?<![\p{L}\p{M}\p{N}_.!#$%&'/=?^{}+-])[\p{L}\p{M}\p{N}_.!#$%&'/=?^{}+-]+@(?=[\p{L}\p{N}])/gu;
/** One cell each, and part of a mail address as `_` is; the last two are for texts that have all the others. */
const STAND_INS = [..."QXZJKVWYUGPHFDBMLNRSTOICEA\ue000\ue001"];

/**
 * The source with other characters for the underscores of its mail addresses, and the way back. The renderer shows a text up to an
 * underscore, which may be emphasis, before it finds that an address began in front of it; then it shows the address as a whole. One
 * before its first letter is left: that is taken for emphasis where another one closes it.
 */
export function withStandIns(source: string): { readonly text: string; readonly restored: (rendered: string) => string } {
  const as = source.includes("_")
    ? STAND_INS.slice(source.includes("&#") ? -2 : 0).find((char) => !source.includes(char))
    : undefined;
  if (as === undefined) return { text: source, restored: (rendered) => rendered };
  const text = source.replace(LOCAL_PART, (local) => {
    const from = Math.max(0, local.search(/[\p{L}\p{N}]/u));
    return from === 0 ? local.replaceAll("_", as) : local.slice(0, from) + local.slice(from).replaceAll("_", as);
  });
  return { text, restored: (rendered) => rendered.replaceAll(as, "_") };
}

/** True where a rendering with hyperlinks is worth a look. */
export function hasBareAddress(text: string): boolean {
  return MARKS.some((mark) => text.includes(mark)) && BARE.test(text);
}

/** The source with the addresses of named links behind them, as text, and these addresses. */
export function withAddresses(source: string): { readonly text: string; readonly told: readonly string[] } {
  const told: string[] = [];
  const text = source.replace(NAMED, (whole, name: string, address: string) => {
    if (says(name, address)) return whole;
    told.push(address);
    return `${whole} (${address.replace(PUNCTUATION, "\\$&")})`;
  });
  return { text, told };
}

/** A rendering with hyperlinks, without them; undefined where one leads elsewhere than it says and is not one of `told`. */
export function withoutTargets(rendered: string, told: readonly string[]): string | undefined {
  const elsewhere: string[] = [];
  const text = rendered.replace(LINK, (_whole, target: string, shown: string) => {
    const said = shown.replace(AROUND, "");
    if (said === "" || !says(said, target)) elsewhere.push(target);
    return shown;
  });
  const isTold = elsewhere.length === told.length && elsewhere.every((target, at) => target === told[at]);
  return isTold && !text.includes("\x1b]") ? text : undefined;
}
