/**
 * Nothing from a model, a tool, a file name or a session reaches the terminal as a control sequence (repl.md, T01–T05).
 * Works character by character, so a sequence split over chunks is harmless too. Refuses: layout, colours of our own.
 */

// C0 without tab and newline, DEL, C1, and the line separators that some terminals obey.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Bidirectional controls, zero-width and other invisible characters, tag characters. */
const INVISIBLE = /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** Text for a terminal, several lines allowed: controls become visible pictures (ESC → ␛), CRLF becomes LF. */
export function sanitize(text: string): string {
  if (!CONTROL.test(text)) return text;
  return text.replaceAll("\r\n", "\n").replace(CONTROLS, shown);
}

/** One line for a command, a path, a name or a title: controls, newlines, bidirectional and invisible characters are all made visible. */
export function visible(text: string): string {
  return text
    .replace(/[\n\t]/g, shown)
    .replace(CONTROLS, shown)
    .replace(INVISIBLE, shown);
}
