/** read_file_range: numbered lines of one regular file, in bounded memory for any size. Refuses: decoding other encodings, following a file. */
import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { errnoOf } from "../base/file-problem.ts";
import { MAX_FILE_BYTES, type OpenFile, openSafe, readUpTo } from "../base/files.ts";
import { contentHash } from "../base/hash.ts";
import { HashStream } from "../base/hash-stream.ts";
import { pathText, quotePath } from "../base/path-quote.ts";
import { incompleteUtf8Tail } from "../base/text.ts";
import { MAX_LINE_CHARS, MAX_READ_LINES, MAX_RESULT_BYTES } from "./bounds.ts";
import { markedEncoding } from "./byte-order-mark.ts";
import { LineWindow } from "./line-window.ts";
import { explainFailure, explainMissing, resolveTarget, type Target, touch } from "./target.ts";
import { failed, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

/** Beginning of a file in which a NUL makes it binary, as for git. */
const SNIFF_BYTES = 8192;
const CHUNK_BYTES = 1_048_576;
/** Behind the last line that is shown, lines of a file too large to be hashed are counted so far (0.3 s). */
const COUNT_ON_BYTES = 67_108_864;
/** The longest character of UTF-8. */
const CHARACTER_BYTES = 4;
/** Kept free for the header and the notices, which name the path up to three times. */
const NOTICE_BYTES = 4096;

const input = z.strictObject({
  path: z.string().describe("File, relative to the workspace root"),
  start_line: z.int().min(1).optional().describe("First line, from 1 (default 1)"),
  end_line: z.int().min(1).optional().describe("Last line, inclusive (default: to the end of the file)"),
});

type Input = z.infer<typeof input>;

type Scan = {
  readonly window: LineWindow;
  /** Bytes of the file. */
  readonly size: number;
  /** Set when the rest was not looked at: bytes in which lines were counted. */
  readonly countedTo?: number;
  /** Undefined above the limit. */
  readonly hash?: string;
  readonly binary: boolean;
  readonly utf16: boolean;
  readonly lossy: boolean;
  readonly cancelled: boolean;
};

/**
 * Reads on behind the window for the line count: to the end of a file within the limit, which is hashed, and so far in a larger one.
 * A small file is read at once, any other in pieces.
 */
async function scan(file: OpenFile, window: LineWindow, signal: AbortSignal): Promise<Scan> {
  const { handle, version } = file;
  const head = await readUpTo(handle, CHUNK_BYTES, version.size);
  const found = {
    window,
    binary: head.subarray(0, SNIFF_BYTES).includes(0),
    utf16: markedEncoding(head)?.startsWith("utf-16") === true,
    lossy: false,
  };
  if (found.binary) return { ...found, size: version.size, cancelled: false };
  if (head.length === version.size || head.length < CHUNK_BYTES) {
    window.feed(head);
    window.finish();
    return { ...found, size: head.length, hash: contentHash(head), lossy: !isUtf8(head), cancelled: false };
  }
  const rest = await scanPieces(file, head, window, signal);
  return { ...found, ...rest };
}

/** Goes on after `head` in a buffer of its size. A file that passes the limit meanwhile has no hash. */
async function scanPieces(
  { handle, version }: OpenFile,
  head: Buffer,
  window: LineWindow,
  signal: AbortSignal,
): Promise<Pick<Scan, "size" | "countedTo" | "hash" | "lossy" | "cancelled">> {
  const huge = version.size > MAX_FILE_BYTES;
  const hash = new HashStream();
  // Before each piece, bytes of a character that was cut off at the end of the last one.
  const buffer = Buffer.allocUnsafe(CHARACTER_BYTES + CHUNK_BYTES);
  let isText = true;
  let carried = 0;
  let size = 0;
  const take = (length: number): void => {
    const piece = buffer.subarray(CHARACTER_BYTES, CHARACTER_BYTES + length);
    window.feed(piece);
    size += length;
    if (huge) return;
    if (size <= MAX_FILE_BYTES) hash.push(piece);
    const text = buffer.subarray(CHARACTER_BYTES - carried, CHARACTER_BYTES + length);
    carried = incompleteUtf8Tail(text);
    isText &&= isUtf8(text.subarray(0, text.length - carried));
    buffer.copyWithin(CHARACTER_BYTES - carried, CHARACTER_BYTES + length - carried, CHARACTER_BYTES + length);
  };
  head.copy(buffer, CHARACTER_BYTES);
  take(head.length);
  let shownAt = 0;
  while (!signal.aborted && (huge || size !== version.size)) {
    // No hash is promised any more, and who asked for five lines of gigabytes does not wait for the rest.
    if (!window.isFull && !window.binary) shownAt = size;
    else if (size > MAX_FILE_BYTES && size - shownAt >= COUNT_ON_BYTES && size < version.size) {
      return { size: Math.max(size, version.size), countedTo: size, lossy: window.lossy, cancelled: false };
    }
    const bytesRead = await handle.read(buffer, CHARACTER_BYTES, CHUNK_BYTES, size);
    if (bytesRead === 0) break;
    take(bytesRead);
  }
  window.finish();
  const cancelled = signal.aborted;
  if (huge || size > MAX_FILE_BYTES) return { size, lossy: window.lossy, cancelled };
  return { size, hash: hash.finish(), lossy: !isText || carried > 0, cancelled };
}

/** As an argument of a command. */
function shellPath(relative: string): string {
  return relative.startsWith("-") ? `./${relative}` : relative;
}

function sayTotal({ window, countedTo }: Scan): string {
  return countedTo === undefined ? String(window.total) : `at least ${window.total}`;
}

/** A command that shows the unseen part of a long line, in lines short enough for every cap. */
function showRest(relative: string, from: number): string {
  const path = shellPath(relative);
  const script = 'tail -c "+$1" "$2" | head -c 20000 | fold -b -w 400';
  return JSON.stringify({ argv: ["sh", "-c", script, "sh", String(from + 1), path] });
}

function notices(scanned: Scan, target: Target, first: number, last: number, wanted: number): string[] {
  const { window, lossy, countedTo, size } = scanned;
  const said: string[] = [];
  if (last < Math.min(wanted, window.total)) {
    const cap =
      window.closedBy === "bytes" ? `the cap of ${MAX_RESULT_BYTES} bytes a result` : `the cap of ${MAX_READ_LINES} lines a read`;
    said.push(`[cut by ${cap}: lines ${first}-${last} of ${sayTotal(scanned)} shown; continue with start_line ${last + 1}]`);
  }
  if (countedTo !== undefined) {
    said.push(
      `[lines were counted in the first ${countedTo} of ${size} bytes; run_shell with ${JSON.stringify(["wc", "-l", shellPath(target.relative)])} counts all, with tail it shows the end]`,
    );
  }
  const cut = window.cutLines[0];
  if (cut !== undefined) {
    const more = window.cutLines.length > 1 ? ` and ${window.cutLines.length - 1} more` : "";
    const where = `line ${cut.number} (${cut.length} bytes)${more} cut at ${MAX_LINE_CHARS} characters; search_text shows the text around a match, or run_shell shows what follows the cut`;
    said.push(`[${where}: ${showRest(target.relative, cut.continueAt)}]`);
  }
  if (lossy) {
    said.push(
      "[not valid UTF-8: bad bytes are shown as U+FFFD (\ufffd), which is not what the file holds; the edit tools refuse this file]",
    );
  }
  return said;
}

function present(scanned: Scan, target: Target, asked: Input): ToolResult {
  const { window } = scanned;
  const first = asked.start_line ?? 1;
  const wanted = asked.end_line ?? Number.POSITIVE_INFINITY;
  const touched = touch(target, "read");
  const path = pathText(target.relative);
  if (scanned.binary || window.binary) {
    const hint = scanned.utf16 ? " It looks like UTF-16 text: run_shell with `iconv -f UTF-16 -t UTF-8` shows it." : "";
    return succeeded(`${path}: binary, ${scanned.size} bytes.${hint}`, { touched });
  }
  const id = scanned.hash ?? `no hash: over ${MAX_FILE_BYTES} bytes, too large to edit`;
  if (window.total === 0 && first === 1) {
    const whole = scanned.hash === undefined ? {} : { completeHash: scanned.hash };
    return succeeded(`${path} (empty, 0 lines, ${id})`, { touched: touched.map((one) => ({ ...one, ...whole })) });
  }
  if (first > window.total) {
    const lines = window.total === 1 ? "1 line" : `${window.total} lines`;
    const range = window.total === 0 ? "it is empty" : `ask for lines 1 to ${window.total}`;
    return failed(`${quotePath(target.relative)} has ${lines}; start_line ${first} is past the end (${range}).`, { touched });
  }
  const last = first + window.lines.length - 1;
  const said = notices(scanned, target, first, last, wanted);
  const text = [`${path} (lines ${first}-${last} of ${sayTotal(scanned)}, ${id})`, ...window.lines, ...said].join("\n");
  const cut = last < Math.min(wanted, window.total) || window.cutLines.length > 0;
  const complete = first === 1 && last === window.total && !cut && !scanned.lossy && scanned.hash !== undefined;
  return succeeded(text, {
    truncated: cut,
    touched: complete ? touched.map((one) => ({ ...one, completeHash: scanned.hash ?? "" })) : touched,
  });
}

async function run(asked: Input, context: ToolContext): Promise<ToolResult> {
  const { start_line: start = 1, end_line: end = Number.POSITIVE_INFINITY } = asked;
  if (end < start) return failed(`end_line ${end} is before start_line ${start}. Both are inclusive and count from 1.`);
  const target = await resolveTarget(asked.path, context);
  if (!target.ok) return target.result;
  if (!target.exists) return failed(explainMissing(target), { touched: touch(target, "read") });
  const file = await openSafe(target.path);
  if (!file.ok) return failed(explainFailure(target, file), { touched: touch(target, "read") });
  try {
    const spare = NOTICE_BYTES + 3 * Buffer.byteLength(pathText(target.relative));
    const window = new LineWindow({
      start,
      end,
      maxLines: MAX_READ_LINES,
      maxBytes: MAX_RESULT_BYTES - spare,
      maxLineChars: MAX_LINE_CHARS,
    });
    const scanned = await scan(file, window, context.signal);
    if (scanned.cancelled)
      return { status: "cancelled", text: "Cancelled while reading.", truncated: false, effects: [], touched: [] };
    const result = present(scanned, target, asked);
    // What shows nothing of the file is no look at it.
    if (result.status === "ok" && !scanned.binary && !window.binary) context.seen?.note(target, scanned.hash);
    return result;
  } catch (error) {
    const code = errnoOf(error);
    if (code === "") throw error;
    return failed(`${quotePath(target.relative)} cannot be read: input/output error (${code}).`, {
      touched: touch(target, "read"),
    });
  } finally {
    file.handle.close();
  }
}

/** read_file_range (tools.md): header `path (lines A-B of N, H)`, then `N: text`. */
export const readFileRange: Tool<Input> = {
  name: "read_file_range",
  description:
    "read_file_range shows a text file, or a range of its lines, as numbered lines under a header with the line count and a content hash. Use it before editing: copy text without the `N: ` prefix, and pass the hash as expected_before_hash. At most 2,000 lines or 65,536 bytes a call, 512 characters a line; every cut is said with where to go on.",
  effect: "read",
  input,
  example: { path: "src/main.ts", start_line: 1, end_line: 80 },
  run,
};
