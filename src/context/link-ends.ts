/** Where inline links of Markdown end (C7, C12): their destinations and titles are no text, whatever backticks stand in them. */

/** CommonMark's readers agree on this many at least. */
const MAX_PARENTHESES = 32;
const POINTED = /<(?:\\[\s\S]|[^<>\\\n])*>/y;
const TITLE = /[ \t\n]+(?:"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|\((?:\\[\s\S]|[^()\\])*\))/y;
const GAP = /[ \t\n]*/y;

function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** The end of a destination without pointed brackets: its parentheses are balanced. */
function plainEnd(text: string, from: number): number {
  let depth = 0;
  let at = from;
  for (; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char <= " ") break;
    if (char === "\\") at++;
    else if (char === "(" && ++depth > MAX_PARENTHESES) break;
    else if (char === ")" && depth-- === 0) break;
  }
  return at;
}

/** Brackets that are open, as links are read: a link holds no other link. */
export class LinkEnds {
  readonly #text: string;
  /** Of each: whether it may become a link or image; a bracket that no longer may still has its own close. */
  readonly #open: { readonly image: boolean; active: boolean }[] = [];
  /** Brackets below this place have been looked at: each is put out of use once. */
  #settled = 0;

  constructor(text: string) {
    this.#text = text;
  }

  open(at: number): void {
    this.#open.push({ image: this.#text[at - 1] === "!", active: true });
  }

  /** The end of the link whose text a bracket at `at` closes; undefined where it closes none. */
  close(at: number): number | undefined {
    const opener = this.#open.pop();
    this.#settled = Math.min(this.#settled, this.#open.length);
    const end = opener?.active ? this.#end(at) : undefined;
    if (end === undefined || opener?.image) return end;
    // Brackets before it are text now; those of images may hold links.
    for (const one of this.#open.slice(this.#settled)) if (!one.image) one.active = false;
    this.#settled = this.#open.length;
    return end;
  }

  #end(at: number): number | undefined {
    const text = this.#text;
    if (text[at + 1] !== "(") return undefined;
    const from = after(GAP, text, at + 2);
    const pointed = text[from] === "<";
    const to = pointed ? after(POINTED, text, from) : plainEnd(text, from);
    if (pointed && to === from) return undefined;
    const end = after(GAP, text, after(TITLE, text, to));
    return text[end] === ")" ? end + 1 : undefined;
  }
}
