/**
 * Streamed Markdown cut into blocks that are complete: each can be rendered once and never again (repl.md, Streaming). Tabs
 * become spaces on the way.
 * Linear in what arrives and bounded in what it keeps: a block that grows without end is cut at a line or a word.
 * Refuses: rendering, understanding more of Markdown than where a block ends.
 */
import { closesFence, type Fence, indentOf, insideFence, insideItem, openedFence, opensFence } from "./markdown-fences.ts";
import {
  goesOnAfterBlank,
  HEADING,
  isBlank,
  isList,
  LIST,
  LIST_BELOW,
  MAX_BLOCK,
  MAX_FENCE_LINES,
  MAX_TABLE,
} from "./markdown-lines.ts";
import { expandTabs } from "./tabs.ts";
import { wholeBlock } from "./whole-blocks.ts";

export type Block = {
  readonly text: string;
  /** Part of a code fence: `head` opens it, `tail` closes it; a long one comes in several parts. */
  readonly fence?: { readonly info: string; readonly head: boolean; readonly tail: boolean };
  /** It goes on where the block before it was cut: no blank line between the two. */
  readonly continues: boolean;
};

export interface BlockSplitter {
  push(text: string): readonly Block[];
  /** What is complete only because the text is over. */
  end(): readonly Block[];
  /** What has come since the last block, for a view that is redrawn. */
  open(): Block | undefined;
}

class Splitter implements BlockSplitter {
  #line = "";
  /** Columns of the line that were cut off before `#line`: it is the rest of a line, whatever it begins with. */
  #column = 0;
  #lines: string[] = [];
  #size = 0;
  #fence: Fence | undefined;
  #fenceHead = true;
  #continues = false;
  /** A block after a blank line that may go on: what the next line looks like if it does. */
  #undecided: RegExp | undefined;

  push(piece: string): readonly Block[] {
    const text = piece.includes("\t") ? expandTabs(piece, this.#column + Bun.stringWidth(this.#line)) : piece;
    const blocks: Block[] = [];
    let start = 0;
    let blank = text.indexOf("\n\n");
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", start)) {
      if (blank !== -1 && blank < start) blank = text.indexOf("\n\n", start);
      const behind = this.#whole(text, start, blank, blocks);
      if (behind !== undefined) {
        start = behind;
        continue;
      }
      this.#line += text.slice(start, at);
      this.#endLine(blocks);
      start = at + 1;
    }
    this.#line += text.slice(start);
    if (this.#line.length > MAX_BLOCK) this.#cutLine(blocks);
    return blocks;
  }

  /** A block that is complete in `text` is taken at once. Answers where the next line begins; undefined where there is none. */
  #whole(text: string, start: number, blank: number, blocks: Block[]): number | undefined {
    if (this.#lines.length > 0 || this.#line !== "" || this.#fence !== undefined || this.#undecided) return undefined;
    if (this.#column > 0) return undefined;
    const whole = wholeBlock(text, start, blank);
    if (whole === undefined) return undefined;
    const { text: own, fence } = whole;
    blocks.push(fence ? { text: own, continues: false, fence } : { text: own, continues: this.#continues });
    this.#continues = whole.continued;
    return whole.next;
  }

  end(): readonly Block[] {
    const blocks: Block[] = [];
    if (this.#line !== "") this.#endLine(blocks);
    this.#flush(blocks, true);
    this.#fence = undefined;
    this.#continues = false;
    this.#column = 0;
    return blocks;
  }

  open(): Block | undefined {
    const lines = this.#line === "" ? this.#lines : [...this.#lines, this.#line];
    if (lines.length === 0 && !(this.#fence && !this.#fence.nested)) return undefined;
    return this.#block(lines, false);
  }

  #endLine(blocks: Block[]): void {
    if (this.#line.length > MAX_BLOCK) this.#cutLine(blocks);
    const line = this.#line;
    const isRest = this.#column > 0;
    this.#line = "";
    this.#column = 0;
    if (!isRest) this.#take(line, blocks);
    else if (this.#fence && !this.#fence.nested) this.#addCode(line, blocks);
    else if (line !== "") this.#add(line, blocks);
  }

  #take(line: string, blocks: Block[]): void {
    if (this.#fence) {
      this.#inFence(line, this.#fence, blocks);
      return;
    }
    if (this.#undecided) {
      const goesOn = this.#undecided.test(line);
      this.#undecided = undefined;
      if (!goesOn) this.#flush(blocks);
    }
    if (opensFence(line)) {
      this.#openFence(line, blocks);
      return;
    }
    if (isBlank(line)) {
      if (this.#lines.length === 0) {
        this.#continues = false;
        return;
      }
      const goesOn = goesOnAfterBlank(this.#lines[0] ?? "");
      if (goesOn) {
        this.#add(line, blocks);
        this.#undecided = goesOn;
      } else this.#flush(blocks);
      return;
    }
    if (line.includes("#") && HEADING.test(line) && !(this.#inList() && indentOf(line) >= 2)) {
      this.#flush(blocks);
      this.#lines.push(line);
      this.#flush(blocks);
      return;
    }
    if (this.#lines.length > 0 && LIST_BELOW.test(line)) this.#beginList(blocks);
    this.#add(line, blocks);
  }

  #inList(): boolean {
    return isList(this.#lines[0] ?? "");
  }

  /** A list is a block of its own also right below a paragraph, where it stands without a blank line. */
  #beginList(blocks: Block[]): void {
    if (this.#lines.length === 0 || this.#inList()) return;
    this.#flush(blocks);
    this.#continues = true;
  }

  #openFence(line: string, blocks: Block[]): void {
    const item = LIST.test(line);
    const nested = item || (this.#inList() && indentOf(line) >= 2);
    // What stands before it is no part of it: first that ends, then the fence begins.
    if (item) this.#beginList(blocks);
    else if (!nested) this.#flush(blocks);
    const fence = openedFence(line, nested && !item ? this.#lines : undefined, nested);
    this.#fence = fence;
    this.#fenceHead = true;
    if (nested) this.#add(line.slice(fence.excess), blocks);
  }

  #inFence(line: string, fence: Fence, blocks: Block[]): void {
    const closes = closesFence(line, fence);
    if (fence.nested) {
      if (closes) this.#fence = undefined;
      this.#add(insideItem(line, fence), blocks);
      return;
    }
    if (closes) {
      blocks.push(this.#block(this.#lines, true));
      this.#reset(false);
      this.#fence = undefined;
      return;
    }
    this.#addCode(insideFence(line, fence), blocks);
  }

  #addCode(line: string, blocks: Block[]): void {
    this.#lines.push(line);
    this.#size += line.length + 1;
    if (this.#lines.length >= MAX_FENCE_LINES || this.#size > MAX_BLOCK) this.#cutFence(blocks);
  }

  #cutFence(blocks: Block[]): void {
    blocks.push(this.#block(this.#lines, false));
    this.#fenceHead = false;
    this.#reset(true);
  }

  #add(line: string, blocks: Block[]): void {
    this.#lines.push(line);
    this.#size += line.length + 1;
    const limit = this.#lines[0]?.trimStart().startsWith("|") ? MAX_TABLE : MAX_BLOCK;
    if (this.#size > limit) this.#cutBlock(blocks);
  }

  #cutBlock(blocks: Block[]): void {
    const nested = this.#fence;
    this.#fence = undefined;
    this.#flush(blocks);
    this.#continues = true;
    if (!nested) return;
    // The rest of a fence that was cut inside its list goes on as a fence of its own: the list's has been closed.
    this.#fence = { ...nested, nested: false };
    this.#fenceHead = true;
  }

  /** A line that does not end: cut behind a word, or a fence's line at the limit. */
  #cutLine(blocks: Block[]): void {
    while (this.#line.length > MAX_BLOCK) {
      const space = this.#line.lastIndexOf(" ", MAX_BLOCK);
      let at = space > MAX_BLOCK / 2 ? space + 1 : MAX_BLOCK;
      const code = this.#line.charCodeAt(at);
      if (code >= 0xdc00 && code <= 0xdfff) at += 1;
      const part = this.#line.slice(0, at);
      this.#line = this.#line.slice(at);
      this.#column += Bun.stringWidth(part);
      this.#lines.push(part);
      if (this.#fence && !this.#fence.nested) this.#cutFence(blocks);
      else this.#cutBlock(blocks);
    }
  }

  #flush(blocks: Block[], over = false): void {
    const standing = this.#fence && !this.#fence.nested;
    if (standing && over) {
      blocks.push(this.#block(this.#lines, true));
      this.#reset(false);
      return;
    }
    while (this.#lines.at(-1)?.trim() === "") this.#lines.pop();
    if (this.#lines.length > 0) {
      blocks.push(this.#block(this.#lines, false));
      this.#reset(false);
    }
    this.#size = 0;
    this.#undecided = undefined;
  }

  #block(lines: readonly string[], tail: boolean): Block {
    const text = lines.join("\n");
    const fence = this.#fence;
    if (!fence || fence.nested) return { text, continues: this.#continues };
    return { text, continues: !this.#fenceHead, fence: { info: fence.info, head: this.#fenceHead, tail } };
  }

  #reset(continues: boolean): void {
    this.#lines = [];
    this.#size = 0;
    this.#continues = continues;
    this.#undecided = undefined;
  }
}

/** A splitter for one answer. */
export function createBlockSplitter(): BlockSplitter {
  return new Splitter();
}
