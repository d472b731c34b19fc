/**
 * Finds what an edit means in the bytes of a file and computes the new bytes. Pure. Exact matching only, with one documented
 * convenience: in a file that uses CRLF throughout, text sent with LF is converted. Refuses: guessing, the disk.
 */
import { isUtf8 } from "node:buffer";
import { lineNumberAt } from "./byte-lines.ts";
import { explainMiss } from "./edit-explain.ts";

const LF = 10;
const CR = 13;
/** Positions counted before "more than" is said: so many, and less for long texts, whose every match costs its length. */
const MAX_COUNTED = 1000;
const MAX_COUNTED_BYTES = 50_000_000;
const MAX_LISTED = 20;

export type Edit = { readonly oldString: string; readonly newString: string };

/** One replaced stretch of the original, in bytes. */
export type Span = { readonly start: number; readonly end: number; readonly replacement: Buffer };

type Plan =
  | {
      readonly ok: true;
      readonly after: Buffer;
      /** In file order, not overlapping. */
      readonly spans: readonly Span[];
      /** True when LF was converted to the file's CRLF. */
      readonly converted: boolean;
    }
  /** `faults` by index of the edit; each is written for the model and names no path. */
  | { readonly ok: false; readonly faults: readonly { readonly index: number; readonly message: string }[] };

/** Why these bytes are not text that can be edited without damage; undefined when they are. Completes "`path` ". */
export function textFault(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return "is binary (it holds NUL bytes), so it is not edited as text";
  if (isUtf8(bytes)) return undefined;
  return "is not valid UTF-8, so it is not edited: text in another encoding would be damaged. Convert it first (run_shell with iconv), or edit it with a program that knows its encoding";
}

/** Does every line end with CRLF (and is there at least one)? */
export function usesCrlf(bytes: Buffer): boolean {
  let found = bytes.indexOf(LF);
  if (found === -1) return false;
  for (; found !== -1; found = bytes.indexOf(LF, found + 1)) if (bytes[found - 1] !== CR) return false;
  return true;
}

/** `text` with the file's CRLF, unless it has a CR of its own: then its author knew. Undefined when nothing changes. */
export function withCrlf(text: string): string | undefined {
  return text.includes("\n") && !text.includes("\r") ? text.replaceAll("\n", "\r\n") : undefined;
}

function countLimit(length: number): number {
  return Math.max(1, Math.min(MAX_COUNTED, Math.floor(MAX_COUNTED_BYTES / length)));
}

/** Byte offsets of every occurrence, overlapping ones too, up to one more than is counted. */
function occurrences(bytes: Buffer, wanted: Buffer): number[] {
  const limit = countLimit(wanted.length);
  const found: number[] = [];
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + 1)) {
    found.push(at);
    if (found.length > limit) break;
  }
  return found;
}

/** 1-based line numbers of ascending offsets, in one pass. */
function lineNumbers(bytes: Buffer, offsets: readonly number[]): number[] {
  const numbers: number[] = [];
  let line = 1;
  let next = bytes.indexOf(LF);
  for (const offset of offsets) {
    while (next !== -1 && next < offset) {
      line += 1;
      next = bytes.indexOf(LF, next + 1);
    }
    numbers.push(line);
  }
  return numbers;
}

function severalMatches(bytes: Buffer, found: readonly number[], length: number): string {
  const limit = countLimit(length);
  const count = found.length > limit ? `more than ${limit}` : String(found.length);
  const lines = lineNumbers(bytes, found.slice(0, MAX_LISTED)).join(", ");
  const more = found.length > MAX_LISTED ? ", …" : "";
  return `old_string occurs ${count} times (lines ${lines}${more}); it must occur exactly once. Include more of the surrounding text to make it unique.`;
}

function formFault(edit: Edit): string | undefined {
  if (edit.oldString === "") {
    return "old_string is empty. Give the exact text to replace; for a new file use create_file, for a whole file write_patch with op replace.";
  }
  if (!edit.oldString.isWellFormed()) return "old_string holds half a surrogate pair, which is not a character.";
  if (!edit.newString.isWellFormed()) return "new_string holds half a surrogate pair, which cannot be written.";
  if (edit.oldString === edit.newString) return "old_string and new_string are identical: there is nothing to change.";
  return undefined;
}

type Located =
  | { readonly ok: true; readonly span: Span; readonly converted: boolean }
  | { readonly ok: false; readonly message: string };

function locate(bytes: Buffer, edit: Edit, crlf: boolean): Located {
  const fault = formFault(edit);
  if (fault !== undefined) return { ok: false, message: fault };
  const explicit = edit.oldString.includes("\r") || edit.newString.includes("\r");
  const oldCrlf = crlf && !explicit ? withCrlf(edit.oldString) : undefined;
  const newCrlf = crlf && !explicit ? withCrlf(edit.newString) : undefined;
  const wanted = Buffer.from(oldCrlf ?? edit.oldString, "utf8");
  const replacement = Buffer.from(newCrlf ?? edit.newString, "utf8");
  const found = occurrences(bytes, wanted);
  const [start] = found;
  if (start === undefined) {
    return { ok: false, message: explainMiss(bytes, oldCrlf ?? edit.oldString, newCrlf ?? edit.newString) };
  }
  if (found.length > 1) return { ok: false, message: severalMatches(bytes, found, wanted.length) };
  const converted = oldCrlf !== undefined || newCrlf !== undefined;
  return { ok: true, span: { start, end: start + wanted.length, replacement }, converted };
}

/** Joins the untouched stretches of the original with the replacements. */
function assemble(bytes: Buffer, spans: readonly Span[]): Buffer {
  const parts: Buffer[] = [];
  let position = 0;
  for (const span of spans) {
    parts.push(bytes.subarray(position, span.start), span.replacement);
    position = span.end;
  }
  parts.push(bytes.subarray(position));
  return Buffer.concat(parts);
}

/**
 * Matches every edit against the same original bytes. One fault anywhere, or two edits that overlap, and there is no plan.
 * `bytes` must have passed `textFault`.
 */
export function planEdits(bytes: Buffer, edits: readonly Edit[]): Plan {
  const crlf = usesCrlf(bytes);
  const faults: { index: number; message: string }[] = [];
  const located: { index: number; span: Span }[] = [];
  let converted = false;
  for (const [index, edit] of edits.entries()) {
    const result = locate(bytes, edit, crlf);
    if (result.ok) {
      located.push({ index, span: result.span });
      converted ||= result.converted;
    } else {
      faults.push({ index, message: result.message });
    }
  }
  if (faults.length > 0) return { ok: false, faults };
  located.sort((one, other) => one.span.start - other.span.start);
  for (const [position, { index, span }] of located.entries()) {
    const before = located[position - 1];
    if (before === undefined || before.span.end <= span.start) continue;
    const line = lineNumberAt(bytes, span.start);
    const [low, high] = [Math.min(before.index, index), Math.max(before.index, index)];
    faults.push({ index: high, message: `it overlaps patches[${low}] at line ${line}. Merge the two into one edit.` });
  }
  if (faults.length > 0) return { ok: false, faults };
  const spans = located.map(({ span }) => span);
  return { ok: true, after: assemble(bytes, spans), spans, converted };
}
