/**
 * Finds matching lines in the chunks of one file, in bounded memory for any line length. Lines end at `\n` or `\r\n`, as
 * for rg and read_file_range. Refuses: opening files.
 */
import { groupDigits, incompleteUtf8Tail } from "../base/text.ts";
import { excerptText, type MatchLine } from "./matches.ts";
import type { LineTest } from "./pattern.ts";

type LineSearchOptions = {
  readonly test: LineTest;
  /** A text every match holds: chunks without it need no splitting. */
  readonly needle?: string;
  readonly contextLines: number;
  readonly maxMatches: number;
  /** Search on after a NUL byte (a file named by path), to say that it matches. */
  readonly keepBinary: boolean;
};

type LineSearch = {
  /** True while more is wanted. The chunk may be reused afterwards. */
  push(chunk: Buffer): boolean;
  finish(): { readonly lines: readonly MatchLine[]; readonly matches: number; readonly binary: boolean };
};

/** A longer line is tested piece by piece, with this much of the previous piece repeated. */
const MAX_LINE_LENGTH = 1_048_576;
const OVERLAP = 4096;

export function searchChunks(options: LineSearchOptions): LineSearch {
  const lines: MatchLine[] = [];
  const before: MatchLine[] = [];
  let decoder: TextDecoder | undefined;
  let rest = "";
  let lineNumber = 1;
  let matches = 0;
  let after = 0;
  let binary = false;
  let done = false;
  /** Set inside an overlong line: whether it already matched, and how much of it was let go. */
  let overlong: { matched: boolean; dropped: number } | undefined;

  const takeContext = (text: string): void => {
    const line: MatchLine = {
      number: lineNumber,
      isMatch: false,
      text: excerptText(text, 0, 0, `${groupDigits(text.length)} characters`),
    };
    if (after > 0) {
      lines.push(line);
      after -= 1;
    } else {
      before.push(line);
      if (before.length > options.contextLines) before.shift();
    }
  };
  const takeMatch = (text: string, start: number, end: number, length: string): void => {
    lines.push(...before.splice(0), { number: lineNumber, isMatch: true, text: excerptText(text, start, end, length) });
    matches += 1;
    after = options.contextLines;
    if (matches >= options.maxMatches) done = true;
  };
  const takeLine = (raw: string): void => {
    const text = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    if (overlong?.matched) overlong = undefined;
    else {
      const length = (overlong?.dropped ?? 0) + text.length;
      overlong = undefined;
      const found = options.test(text);
      if (found !== undefined) takeMatch(text, found.start, found.end, `${groupDigits(length)} characters`);
      else if (options.contextLines > 0) takeContext(text);
    }
    lineNumber += 1;
  };
  const takeBlock = (block: string): void => {
    const pieces = block.split("\n");
    rest = pieces.pop() ?? "";
    const canSkip = options.needle !== undefined && options.contextLines === 0 && !block.includes(options.needle);
    if (canSkip && overlong === undefined) {
      lineNumber += pieces.length;
      return;
    }
    for (const piece of pieces) {
      if (done) return;
      takeLine(piece);
    }
  };
  const shorten = (): void => {
    overlong ??= { matched: false, dropped: 0 };
    const found = overlong.matched ? undefined : options.test(rest);
    if (found !== undefined) {
      overlong.matched = true;
      takeMatch(rest, found.start, found.end, "over 1 MiB");
    }
    const kept = overlong.matched ? "" : rest.slice(-OVERLAP);
    overlong.dropped += rest.length - kept.length;
    rest = kept;
  };
  let carry: Buffer = Buffer.alloc(0);

  return {
    push(chunk) {
      const first = decoder === undefined;
      decoder ??= decoderFor(chunk);
      if (decoder.encoding === "utf-8" && chunk.includes(0)) {
        binary = true;
        if (!options.keepBinary) return false;
      }
      const text = decode(decoder, chunk, first);
      takeBlock(rest + text);
      if (rest.length > MAX_LINE_LENGTH && !done) shorten();
      return !done;
    },
    finish() {
      if (!done && (!binary || options.keepBinary)) {
        const last = rest + (decoder?.encoding === "utf-8" ? carry.toString("utf8") : (decoder?.decode() ?? ""));
        if (last !== "") takeLine(last);
      }
      return { lines, matches, binary };
    },
  };

  /** Buffer decodes UTF-8 several times faster than a streaming TextDecoder, which only UTF-16 needs. */
  function decode(by: TextDecoder, chunk: Buffer, first: boolean): string {
    if (by.encoding !== "utf-8") return by.decode(chunk, { stream: true });
    const bytes = carry.length > 0 ? Buffer.concat([carry, chunk]) : chunk;
    const end = bytes.length - incompleteUtf8Tail(bytes);
    carry = Buffer.from(bytes.subarray(end));
    const hasMark = first && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    return bytes.toString("utf8", hasMark ? 3 : 0, end);
  }
}

/** rg reads files with a UTF-16 mark as text. */
function decoderFor(chunk: Buffer): TextDecoder {
  if (chunk[0] === 0xff && chunk[1] === 0xfe) return new TextDecoder("utf-16le");
  if (chunk[0] === 0xfe && chunk[1] === 0xff) return new TextDecoder("utf-16be");
  return new TextDecoder("utf-8");
}
