/**
 * Keeps the first and last lines of a stream of any length in bounded memory (H07), and renders them within a budget
 * with every cut said. Refuses: deciding where the bytes come from.
 */
import { cleanTerminalLine, cutBytes, cutChars, groupDigits } from "./text.ts";

type CaptureLimits = { readonly headLines: number; readonly tailLines: number; readonly lineChars: number };

export type CapturedOutput = {
  readonly head: readonly string[];
  /** Lines after a gap, or directly after `head` when `omittedLines` is 0. */
  readonly tail: readonly string[];
  readonly omittedLines: number;
  readonly totalLines: number;
  readonly totalBytes: number;
  /** Kept lines that were longer than the cap. */
  readonly cutLines: number;
};

type OutputCapture = { push(chunk: Uint8Array): void; finish(): CapturedOutput };

type RawLine = { readonly start: Uint8Array; readonly end: Uint8Array | undefined; readonly bytes: number };

const NEWLINE = 0x0a;
/** Raw bytes kept of one line: room for 512 characters of four bytes and a good many colour codes. */
const START_BYTES = 8192;
/** Raw bytes kept of the end of an overlong line, where the last state of a progress display is. */
const END_BYTES = 4096;

/** Memory: at most (head + tail lines) × 12 KiB, whatever arrives. A chunk may be reused by its producer afterwards. */
export function createOutputCapture(limits: CaptureLimits): OutputCapture {
  const head: RawLine[] = [];
  const tail: RawLine[] = [];
  let tailAt = 0;
  let totalLines = 0;
  let totalBytes = 0;
  const line = createLineBuffer();

  const endLine = (): void => {
    const raw = line.take();
    totalLines++;
    if (head.length < limits.headLines) head.push(raw);
    else if (tail.length < limits.tailLines) tail.push(raw);
    else if (limits.tailLines > 0) {
      tail[tailAt] = raw;
      tailAt = (tailAt + 1) % limits.tailLines;
    }
  };

  /** Lines in the middle of a big chunk can be neither head nor tail: they are counted, not stored. */
  const skipMiddle = (chunk: Uint8Array): number => {
    if (head.length < limits.headLines) return 0;
    let newlines = 0;
    let cut = 0;
    for (let index = chunk.length - 1; index >= 0; index--) {
      if (chunk[index] !== NEWLINE) continue;
      if (newlines === limits.tailLines) cut = index + 1;
      newlines++;
    }
    if (cut === 0) return 0;
    totalLines += newlines - limits.tailLines;
    line.take();
    return cut;
  };

  return {
    push(chunk) {
      totalBytes += chunk.length;
      let next = chunk.indexOf(NEWLINE);
      if (next < 0) return line.append(chunk);
      let position = skipMiddle(chunk);
      if (position > 0) next = chunk.indexOf(NEWLINE, position);
      while (next >= 0) {
        line.append(chunk.subarray(position, next));
        endLine();
        position = next + 1;
        next = chunk.indexOf(NEWLINE, position);
      }
      line.append(chunk.subarray(position));
    },
    finish() {
      if (line.length() > 0) endLine();
      const ordered = [...tail.slice(tailAt), ...tail.slice(0, tailAt)];
      const shown = { head: head.map((raw) => sayLine(raw, limits)), tail: ordered.map((raw) => sayLine(raw, limits)) };
      return {
        head: shown.head.map((said) => said.text),
        tail: shown.tail.map((said) => said.text),
        omittedLines: totalLines - head.length - tail.length,
        totalLines,
        totalBytes,
        cutLines: [...shown.head, ...shown.tail].filter((said) => said.cut).length,
      };
    },
  };
}

type LineBuffer = { append(bytes: Uint8Array): void; take(): RawLine; length(): number };

function createLineBuffer(): LineBuffer {
  const start = new Uint8Array(START_BYTES);
  const end = new Uint8Array(END_BYTES);
  let startLength = 0;
  let endLength = 0;
  let bytes = 0;

  const keepEnd = (rest: Uint8Array): void => {
    if (rest.length >= END_BYTES) {
      end.set(rest.subarray(rest.length - END_BYTES));
      endLength = END_BYTES;
      return;
    }
    const keep = Math.min(endLength, END_BYTES - rest.length);
    end.copyWithin(0, endLength - keep, endLength);
    end.set(rest, keep);
    endLength = keep + rest.length;
  };

  return {
    append(piece) {
      bytes += piece.length;
      const room = START_BYTES - startLength;
      if (room > 0) {
        start.set(room >= piece.length ? piece : piece.subarray(0, room), startLength);
        startLength += Math.min(room, piece.length);
      }
      if (piece.length > room) keepEnd(piece.subarray(room));
    },
    take() {
      const raw = { start: start.slice(0, startLength), end: endLength > 0 ? end.slice(0, endLength) : undefined, bytes };
      startLength = 0;
      endLength = 0;
      bytes = 0;
      return raw;
    },
    length: () => bytes,
  };
}

function sayLine(raw: RawLine, limits: CaptureLimits): { readonly text: string; readonly cut: boolean } {
  const lastState = raw.end === undefined ? undefined : progressState(raw.end);
  const text = cleanTerminalLine(lastState ?? decodeStart(raw));
  if (text.length <= limits.lineChars && (raw.end === undefined || lastState !== undefined)) return { text, cut: false };
  const shown = cutChars(text, limits.lineChars);
  return { text: `${shown}… [line cut at ${limits.lineChars} characters; it has ${groupDigits(raw.bytes)} bytes]`, cut: true };
}

/** What follows the last carriage return that something visible follows; undefined for a line without one. */
function progressState(end: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(end);
  const first = text.indexOf("\r");
  if (first < 0 || text.slice(first).trim() === "") return undefined;
  return text.slice(first);
}

function decodeStart(raw: RawLine): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  // A character cut by our own buffer is left out; one cut by the program is its own fault and shown as U+FFFD.
  return decoder.decode(raw.start, { stream: raw.end !== undefined });
}

/** `cut` says that anything at all is missing from `text`. `text` has no trailing newline and at most `maxBytes` bytes. */
export function renderOutput(output: CapturedOutput, maxBytes: number): { readonly text: string; readonly cut: boolean } {
  const whole = join(output.head, output.omittedLines, output.tail, output.totalBytes);
  const cut = output.omittedLines > 0 || output.cutLines > 0;
  if (Buffer.byteLength(whole) <= maxBytes) return { text: whole, cut };
  const lines = [...output.head, ...output.tail];
  const half = Math.max(0, Math.floor((maxBytes - 160) / 2));
  const headCount = Math.min(output.head.length, fit(lines, half));
  const tailSource = output.omittedLines > 0 ? output.tail : lines.slice(headCount);
  const tailCount = fit([...tailSource].reverse(), half);
  const head = lines.slice(0, headCount);
  const tail = tailCount === 0 ? [] : tailSource.slice(-tailCount);
  const text = join(head, output.totalLines - head.length - tail.length, tail, output.totalBytes);
  return { text: cutBytes(text, maxBytes), cut: true };
}

/** How many of `lines`, from the first, fit into `budget` bytes with their newlines. */
function fit(lines: readonly string[], budget: number): number {
  let used = 0;
  for (const [index, line] of lines.entries()) {
    used += Buffer.byteLength(line) + 1;
    if (used > budget) return index;
  }
  return lines.length;
}

function join(head: readonly string[], omitted: number, tail: readonly string[], totalBytes: number): string {
  if (omitted === 0) return [...head, ...tail].join("\n");
  const total = groupDigits(head.length + tail.length + omitted);
  const gap = `… [${groupDigits(omitted)} of ${total} lines left out here; the whole stream has ${groupDigits(totalBytes)} bytes] …`;
  return [...head, gap, ...tail].join("\n");
}
