/**
 * Streamed Markdown cut into blocks that are complete: each can be rendered once and never again (repl.md, Streaming). Tabs
 * become spaces on the way.
 * Linear in what arrives and bounded in what it keeps: a block that grows without end is cut at a line or a word.
 * Refuses: rendering, understanding more of Markdown than where a block ends.
 */
import { FENCE, HEADING, LIST, MAX_BLOCK, MAX_FENCE_LINES, MAX_TABLE } from "./markdown-lines.ts";
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

type Fence = { readonly mark: string; readonly info: string; readonly nested: boolean };

/** Most lines are none of these: looked at before a regular expression is. */
function mayFence(line: string): boolean {
  return line.includes("```") || line.includes("~~~");
}

function isBlank(line: string): boolean {
  return line === "" || (line.charCodeAt(0) <= 0x20 && line.trim() === "");
}

function closesFence(trimmed: string, mark: string): boolean {
  return trimmed.startsWith(mark) && trimmed.replaceAll(mark[0] ?? "`", "") === "";
}

class Splitter implements BlockSplitter {
  #line = "";
  /** Columns of the line that were cut off before `#line`. */
  #column = 0;
  #lines: string[] = [];
  #size = 0;
  #fence: Fence | undefined;
  #fenceHead = true;
  #continues = false;
  /** A list after a blank line: the next line tells whether it goes on. */
  #undecided = false;

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
      const line = this.#line + text.slice(start, at);
      this.#line = "";
      this.#column = 0;
      this.#take(line, blocks);
      start = at + 1;
    }
    this.#line += text.slice(start);
    if (this.#line.length > MAX_BLOCK) this.#cutLine(blocks);
    return blocks;
  }

  /** A block that is complete in `text` is taken at once. Answers where the next line begins; undefined where there is none. */
  #whole(text: string, start: number, blank: number, blocks: Block[]): number | undefined {
    if (this.#lines.length > 0 || this.#line !== "" || this.#fence !== undefined || this.#undecided) return undefined;
    const whole = wholeBlock(text, start, blank);
    if (whole === undefined) return undefined;
    const { text: own, fence } = whole;
    blocks.push(fence ? { text: own, continues: false, fence } : { text: own, continues: this.#continues });
    this.#continues = whole.cut;
    return whole.next;
  }

  end(): readonly Block[] {
    const blocks: Block[] = [];
    if (this.#line !== "") this.#take(this.#line, blocks);
    this.#line = "";
    this.#column = 0;
    this.#flush(blocks, true);
    this.#fence = undefined;
    this.#continues = false;
    return blocks;
  }

  open(): Block | undefined {
    const lines = this.#line === "" ? this.#lines : [...this.#lines, this.#line];
    if (lines.length === 0 && !(this.#fence && !this.#fence.nested)) return undefined;
    return this.#block(lines, false);
  }

  #take(line: string, blocks: Block[]): void {
    if (this.#fence) {
      this.#inFence(line, blocks);
      return;
    }
    if (this.#undecided) {
      this.#undecided = false;
      if (!/^\s{2,}\S/.test(line) && !LIST.test(line) && line.trim() !== "") this.#flush(blocks);
    }
    const fence = mayFence(line) ? FENCE.exec(line) : null;
    if (fence) {
      this.#openFence(line, fence, blocks);
      return;
    }
    if (isBlank(line)) {
      if (this.#lines.length === 0) {
        this.#continues = false;
        return;
      }
      if (LIST.test(this.#lines[0] ?? "")) {
        this.#add(line, blocks);
        this.#undecided = true;
      } else this.#flush(blocks);
      return;
    }
    if (line.includes("#") && HEADING.test(line)) {
      this.#flush(blocks);
      this.#lines.push(line);
      this.#flush(blocks);
      return;
    }
    this.#add(line, blocks);
  }

  #openFence(line: string, match: RegExpExecArray, blocks: Block[]): void {
    const nested = this.#lines.length > 0 && LIST.test(this.#lines[0] ?? "") && /^\s{2,}|^\s*(?:[-*+]|\d)/.test(line);
    const opens = nested || LIST.test(line);
    const fence = { mark: match[2] ?? "```", info: (match[3] ?? "").trim(), nested: opens };
    // What stands before it is no part of it: first that ends, then the fence begins.
    if (!nested) this.#flush(blocks);
    this.#fence = fence;
    this.#fenceHead = true;
    if (opens) this.#add(line, blocks);
  }

  #inFence(line: string, blocks: Block[]): void {
    const fence = this.#fence;
    if (!fence) return;
    const closes = line.includes(fence.mark) && closesFence(line.trim(), fence.mark);
    if (fence.nested) {
      if (closes) this.#fence = undefined;
      this.#add(line, blocks);
      return;
    }
    if (closes) {
      blocks.push(this.#block(this.#lines, true));
      this.#reset(false);
      this.#fence = undefined;
      return;
    }
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
    if (this.#size <= limit) return;
    const nested = this.#fence;
    this.#fence = undefined;
    this.#flush(blocks);
    this.#continues = true;
    if (nested) {
      // The rest of a fence that was cut inside its list goes on as a fence of its own.
      this.#fence = { ...nested, nested: false };
      this.#fenceHead = false;
    }
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
      if (this.#fence && !this.#fence.nested) {
        this.#lines.push(part);
        this.#cutFence(blocks);
      } else {
        this.#lines.push(part);
        this.#flush(blocks);
        this.#continues = true;
      }
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
    this.#undecided = false;
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
    this.#undecided = false;
  }
}

/** A splitter for one answer. */
export function createBlockSplitter(): BlockSplitter {
  return new Splitter();
}
