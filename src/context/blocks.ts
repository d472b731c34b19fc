/**
 * The blocks of a Markdown text as far as code depends on them (C7, C12): which lines are prose, fences, HTML. CommonMark's
 * containers decide where a fence begins and ends and how far a code span can reach. Refuses: what stands inside prose.
 */

import { once } from "../base/once.ts";

export type Block = {
  /** Indented code is no block: lists make it ambiguous. */
  readonly kind: "prose" | "fence" | "html";
  readonly start: number;
  readonly end: number;
  /** Marks of quotes between the lines of prose: from, to. */
  readonly marks?: readonly (readonly [number, number])[];
};

type Container =
  | { readonly kind: "quote" }
  /** `width`: columns that its content is indented by; `empty` until it has some. */
  | { readonly kind: "item"; readonly width: number; empty: boolean };

type Leaf = {
  readonly kind: Block["kind"];
  readonly start: number;
  end: number;
  /** What ends a fence or an HTML block; undefined: a blank line. */
  readonly close?: RegExp;
  readonly marks?: (readonly [number, number])[];
};

/** More quotes and lists inside one another than this are no text for a reader. */
const MAX_DEPTH = 64;

const ATX = /#{1,6}(?=[ \t\n]|$)/y;
const FENCE = /(?:(`{3,})[^`\n]*|(~{3,})[^\n]*)(?=\n|$)/y;
const SETEXT = /(?:=+|-+)[ \t]*(?=\n|$)/y;
const RULE = /(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})(?=\n|$)/y;
const MARKER = /(?:[-*+]|(\d{1,9})[.)])(?=[ \t\n]|$)/y;
const VERBATIM = /<(?:script|pre|textarea|style)(?=[\s>]|$)/iy;
const element = once(
  () =>
    /<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?=[\s>]|\/>|$)/iy,
);
const loneTag = once(() => {
  const attribute = `[ \\t]+[a-z_:][\\w.:-]*(?:[ \\t]*=[ \\t]*(?:[^\\s"'=<>\`]+|'[^'\\n]*'|"[^"\\n]*"))?`;
  return new RegExp(`<(?:[a-z][a-z0-9-]*(?:${attribute})*[ \\t]*/?|/[a-z][a-z0-9-]*[ \\t]*)>[ \\t]*(?=\\n|$)`, "iy");
});
/** Elements of HTML by what ends them (CommonMark, HTML blocks 1–5). */
const delimited = once((): readonly (readonly [RegExp, RegExp])[] => [
  [VERBATIM, /<\/(?:script|pre|textarea|style)>/i],
  [/<!--/y, /-->/],
  [/<\?/y, /\?>/],
  [/<![a-z]/iy, />/],
  [/<!\[CDATA\[/y, /\]\]>/],
]);

class BlockReader {
  readonly #text: string;
  readonly #blocks: Block[] = [];
  #containers: Container[] = [];
  #leaf: Leaf | undefined;
  /** Start and end of the line that is read, the place in it and its column. */
  #start = 0;
  #end = 0;
  #at = 0;
  #column = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(from: number): Block[] {
    for (let next = from; next <= this.#text.length; next = this.#end + 1) {
      if (this.#containers.length > MAX_DEPTH) {
        // Nobody writes so: nothing of it is taken for code.
        this.#closeLeaf();
        this.#blocks.push({ kind: "html", start: next, end: this.#text.length });
        break;
      }
      const end = this.#text.indexOf("\n", next);
      this.#start = next;
      this.#at = next;
      this.#end = end === -1 ? this.#text.length : end;
      this.#column = 0;
      this.#line();
    }
    this.#closeLeaf();
    return this.#blocks;
  }

  #line(): void {
    const matched = this.#matchContainers();
    const whole = matched === this.#containers.length;
    const kind = this.#leaf?.kind;
    if (whole && (kind === "fence" || kind === "html") && this.#continues()) return;
    if (!whole && kind !== "prose") this.#closeLeaf();
    const opened = this.#openBlocks(matched);
    if (opened === "done") return;
    if (this.#blank()) {
      // Where the quote or item has not been carried on, it ends with the paragraph.
      if (!opened) this.#closeUnmatched(matched);
      this.#closeLeaf();
      return;
    }
    // Text without the marks of its containers carries a paragraph on, lazily.
    if (!opened && this.#leaf?.kind !== "prose") this.#closeUnmatched(matched);
    this.#fill();
    if (this.#leaf && this.#at > this.#start) this.#leaf.marks?.push([this.#start, this.#at]);
    this.#leaf ??= { kind: "prose", start: this.#at, end: this.#end, marks: [] };
    this.#leaf.end = this.#end;
  }

  /** How many of the open containers this line carries on. */
  #matchContainers(): number {
    for (const [depth, container] of this.#containers.entries()) {
      const indent = this.#indent();
      if (container.kind === "quote") {
        if (indent > 3 || this.#text[this.#next()] !== ">") return depth;
        this.#takeQuote(indent);
      } else if (this.#blank()) {
        if (container.empty) return depth;
      } else if (indent >= container.width) this.#consume(container.width);
      else return depth;
    }
    return this.#containers.length;
  }

  /** Whether the line belongs to the fence or HTML block that is open; ends it where this is its last line. */
  #continues(): boolean {
    const leaf = this.#leaf;
    if (!leaf) return false;
    if (leaf.kind === "html" && !leaf.close) {
      if (this.#blank()) return false;
      leaf.end = this.#end;
      return true;
    }
    leaf.end = this.#end;
    if (leaf.kind === "fence" && this.#indent() > 3) return true;
    if (leaf.close?.test(this.#text.slice(this.#at, this.#end))) this.#closeLeaf();
    return true;
  }

  /** Opens what begins on this line. `done`: the line is used up; else whether a container was opened. */
  #openBlocks(matched: number): boolean | "done" {
    let opened = false;
    while (!this.#blank()) {
      const indent = this.#indent();
      const tip = !opened && this.#leaf?.kind === "prose";
      // Only a paragraph whose containers go on can be interrupted; any other is merely carried on lazily.
      const inside = tip && matched === this.#containers.length;
      if (indent > 3) {
        if (tip) return opened;
        this.#begin(matched, opened);
        return "done";
      }
      const from = this.#next();
      if (this.#text[from] === ">") {
        this.#begin(matched, opened);
        this.#takeQuote(indent);
        this.#containers.push({ kind: "quote" });
      } else if (this.#leafAt(from, { matched, opened, inside, lazy: tip })) return "done";
      else if (!this.#openItem(indent, from, { matched, opened, inside })) return opened;
      opened = true;
      if (this.#containers.length > MAX_DEPTH) break;
    }
    return opened;
  }

  #leafAt(from: number, where: { matched: number; opened: boolean; inside: boolean; lazy: boolean }): boolean {
    const { matched, opened, inside, lazy } = where;
    const begin = (leaf?: Leaf): true => {
      this.#begin(matched, opened);
      this.#leaf = leaf;
      return true;
    };
    if (this.#has(ATX, from)) {
      begin({ kind: "prose", start: from, end: this.#end });
      this.#closeLeaf();
      return true;
    }
    const run = this.#match(FENCE, from);
    if (run) {
      const mark = run[1] ?? run[2] ?? "";
      const close = new RegExp(`^[ \\t]*${mark[0]}{${mark.length},}[ \\t]*$`);
      return begin({ kind: "fence", start: this.#start, end: this.#end, close });
    }
    if (this.#text[from] === "<" && this.#html(from, lazy, begin)) return true;
    if (inside && this.#has(SETEXT, from)) return this.#closeLeaf();
    return this.#has(RULE, from) && begin();
  }

  #html(from: number, lazy: boolean, begin: (leaf?: Leaf) => true): boolean {
    const found = delimited().find(([open]) => this.#has(open, from));
    if (found) {
      const [, close] = found;
      begin({ kind: "html", start: from, end: this.#end, close });
      if (close.test(this.#text.slice(from, this.#end))) this.#closeLeaf();
      return true;
    }
    if (!this.#has(element(), from) && (lazy || !this.#has(loneTag(), from))) return false;
    return begin({ kind: "html", start: from, end: this.#end });
  }

  #openItem(indent: number, from: number, where: { matched: number; opened: boolean; inside: boolean }): boolean {
    const marker = this.#match(MARKER, from);
    if (!marker) return false;
    const bare = this.#next(from + marker[0].length) >= this.#end;
    if (where.inside && (bare || (marker[1] !== undefined && Number(marker[1]) !== 1))) return false;
    this.#begin(where.matched, where.opened);
    this.#consume(indent);
    this.#at += marker[0].length;
    this.#column += marker[0].length;
    const gap = this.#indent();
    const padding = bare || gap > 4 ? 1 : gap;
    this.#consume(padding);
    this.#containers.push({ kind: "item", width: indent + marker[0].length + padding, empty: bare });
    return true;
  }

  /** A block begins here: what the line does not carry on is over. */
  #begin(matched: number, opened: boolean): void {
    this.#closeLeaf();
    if (!opened) this.#closeUnmatched(matched);
    this.#fill();
  }

  #fill(): void {
    for (const container of this.#containers) if (container.kind === "item") container.empty = false;
  }

  #closeUnmatched(matched: number): void {
    if (matched < this.#containers.length) {
      this.#closeLeaf();
      this.#containers.length = matched;
    }
  }

  #closeLeaf(): true {
    const leaf = this.#leaf;
    if (leaf) this.#blocks.push({ kind: leaf.kind, start: leaf.start, end: leaf.end, ...(leaf.marks && { marks: leaf.marks }) });
    this.#leaf = undefined;
    return true;
  }

  #takeQuote(indent: number): void {
    this.#consume(indent);
    this.#at++;
    this.#column++;
    this.#consume(1);
  }

  #has(pattern: RegExp, from: number): boolean {
    return this.#match(pattern, from) !== null;
  }

  #match(pattern: RegExp, from: number): RegExpExecArray | null {
    pattern.lastIndex = from;
    return pattern.exec(this.#text);
  }

  /** Where the line goes on behind its white space. */
  #next(at = this.#at): number {
    let place = at;
    while (place < this.#end && (this.#text[place] === " " || this.#text[place] === "\t")) place++;
    return place;
  }

  /** Columns of white space that come next. */
  #indent(): number {
    let column = this.#column;
    for (let at = this.#at; at < this.#end; at++) {
      const char = this.#text[at];
      if (char === "\t") column += 4 - (column % 4);
      else if (char === " ") column++;
      else break;
    }
    return column - this.#column;
  }

  /** Goes on by so many columns of white space; half a tab may be left. */
  #consume(columns: number): void {
    const target = this.#column + columns;
    while (this.#column < target && this.#at < this.#end) {
      const char = this.#text[this.#at];
      if (char !== " " && char !== "\t") return;
      const width = char === "\t" ? 4 - (this.#column % 4) : 1;
      if (this.#column + width > target) {
        this.#column = target;
        return;
      }
      this.#at++;
      this.#column += width;
    }
  }

  #blank(): boolean {
    return this.#next() >= this.#end;
  }
}

/** The blocks of `text` from an offset on, in order. Linear in the text. */
export function readBlocks(text: string, from = 0): Block[] {
  return new BlockReader(text).read(from);
}
