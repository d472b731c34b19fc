/**
 * Text that came from elsewhere: control sequences removed, progress lines collapsed, one line made of many, cuts between characters.
 * Refuses: making text safe for a terminal (ui/sanitize.ts does), redaction, deciding how much is enough.
 */
import { once } from "./once.ts";

/**
 * Control sequences of a terminal, 7-bit and 8-bit forms. Unterminated strings lose their introducer only. No string holds an
 * introducer: looking for the end of each would take quadratic time.
 */
const sequences = once(
  () =>
    new RegExp(
      [
        "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-~]", // CSI: colours, cursor, modes
        "(?:\\x1b\\]|\\x9d)[^\\x07\\x1b\\x90\\x98\\x9c-\\x9f]*(?:\\x07|\\x1b\\\\|\\x9c)", // OSC: titles, links
        "(?:\\x1b[PX^_]|[\\x90\\x98\\x9e\\x9f])[^\\x1b\\x90\\x98\\x9c-\\x9f]*(?:\\x1b\\\\|\\x9c)", // DCS, SOS, PM, APC
        "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*", // a CSI that was cut off
        "\\x1b[ -/]*[0-~]", // character sets, keypad modes, save and restore
      ].join("|"),
      "g",
    ),
);
/** What is left of C0 and C1 once sequences are gone; tab and newline are text. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
const SUSPECT = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;

/** One line without its terminator → what a person would have seen at its end: no escapes, progress collapsed. */
export function cleanTerminalLine(line: string): string {
  if (!SUSPECT.test(line)) return line;
  const plain = line.replace(sequences(), "");
  const visible = plain.includes("\r") ? lastVisible(plain.split("\r")) : plain;
  const struck = visible.includes("\b") ? applyBackspaces(visible) : visible;
  return struck.replace(CONTROLS, "");
}

/** Cleans every line of a text. Lines end at `\n` or `\r\n`; the result has `\n` only. */
export function cleanTerminalText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return text.split("\n").map(cleanTerminalLine).join("\n");
}

/** A carriage return goes back to the first column: the last segment that shows anything is what stays. */
function lastVisible(segments: readonly string[]): string {
  for (let index = segments.length - 1; index > 0; index--) {
    const segment = segments[index] ?? "";
    if (segment.trim() !== "") return segment;
  }
  return segments[0] ?? "";
}

function applyBackspaces(text: string): string {
  const kept: string[] = [];
  for (const character of text) {
    if (character === "\b") kept.pop();
    else kept.push(character);
  }
  return kept.join("");
}

/** The first `max` UTF-16 units of `text`, one fewer where the cut would split a surrogate pair. */
export function cutChars(text: string, max: number): string {
  if (text.length <= max) return text;
  if (max <= 0) return "";
  return text.slice(0, splitsPair(text, max) ? max - 1 : max);
}

/** The last `max` UTF-16 units of `text`, one fewer where the cut would split a surrogate pair. */
export function cutCharsFromEnd(text: string, max: number): string {
  if (text.length <= max) return text;
  if (max <= 0) return "";
  const start = text.length - max;
  return text.slice(splitsPair(text, start) ? start + 1 : start);
}

/** Text of a stranger as one line without anything unseen, cut after `max` UTF-16 units, which is then shown. */
export function oneLine(text: string, max = Number.POSITIVE_INFINITY): string {
  const line = text
    .toWellFormed()
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, " ")
    .trim();
  return line.length <= max ? line : `${cutChars(line, max).trimEnd()}…`;
}

/** The longest prefix of `text` whose UTF-8 form has at most `maxBytes` bytes. */
export function cutBytes(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = Math.max(0, maxBytes);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

function splitsPair(text: string, index: number): boolean {
  const before = text.charCodeAt(index - 1);
  const after = text.charCodeAt(index);
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
}

/** How many bytes at the end of `bytes` begin a UTF-8 character that is not complete yet (0–3). */
export function incompleteUtf8Tail(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 && byte < 0xf5 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
    return needed > back ? back : 0;
  }
  return 0;
}

/** A control sequence that is not complete; a string may lack no more than the second half of its end. */
const INCOMPLETE_ESCAPE = /\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b\n]*\x1b?|[PX^_][^\x1b\n]*\x1b?|[ -/]*)$/;

/** How many bytes at the end of `bytes` begin a control sequence that is not complete yet; 0 when none of 64 bytes or fewer. */
export function incompleteEscapeTail(bytes: Uint8Array): number {
  const tail = Buffer.from(bytes.subarray(Math.max(0, bytes.length - 64))).toString("latin1");
  const found = tail.includes("\x1b") ? INCOMPLETE_ESCAPE.exec(tail) : null;
  return found === null ? 0 : tail.length - found.index;
}

/** 1234567 → `1,234,567`, whatever the locale. */
export function groupDigits(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Milliseconds as a person says them: `340 ms`, `1.2 s`, `2 min 5 s`. */
export function sayDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))} s`;
  const seconds = Math.round(ms / 1000);
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
