/**
 * Bytes of a keyboard → keys, text and pastes (repl.md, Input; L01, L02). Pure: time is told by `wait` and `idle`.
 * Refuses: reading, knowing what a key does.
 */
import { cleanTerminalText } from "../base/text.ts";

export type KeyEvent =
  /** Printable characters, as typed. */
  | { readonly type: "text"; readonly text: string }
  /** `enter`, `ctrl+c`, `alt+left`, `shift+enter` …: modifiers in the order ctrl, alt, shift. */
  | { readonly type: "key"; readonly key: string }
  /** Pasted text: newlines are `\n`, no control characters but tab. */
  | { readonly type: "paste"; readonly text: string }
  /** The terminal reports that it speaks the kitty keyboard protocol. */
  | { readonly type: "reports-keys" };

export interface KeyDecoder {
  push(input: string): readonly KeyEvent[];
  /** Milliseconds of silence after which `idle` is due; undefined when nothing is pending. */
  readonly wait: number | undefined;
  /** Nothing came for `wait`: what is pending means what it says. */
  idle(): readonly KeyEvent[];
  /** A paste has begun and not ended. */
  readonly pasting: boolean;
}

const START = "\x1b[200~";
const END = "\x1b[201~";
/** A lone ESC is the key when nothing follows within this time. */
const ESCAPE_MS = 40;
/** A sequence that has begun is waited for longer: it was cut on its way. */
const CUT_MS = 250;
/** Bytes this close behind a paste may still belong to it: a paste can hold an end marker (L02). */
const SETTLE_MS = 80;
/** A paste that is never closed ends after this silence. */
const OPEN_MS = 3000;
/** One line with its Enter in one read: up to this length somebody (a script, a terminal multiplexer) typed it, beyond it is a piece of a paste. */
const MAX_TYPED = 1000;
/** Escape, plain or as the kitty protocol reports it, as the last thing that came. */
const LEAVE = /\x1b(?:\[27(?:;1)?u)?$/;

const CSI = /^\x1b\[([<=>?]?)([0-9;:]*)[ -/]*([@-~])/;
const STRING = /^\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)/;
const PENDING = /^\x1b(?:\x1b(?:\[[0-9;:]*)?|\[[<=>?]?[0-9;:]*[ -/]*|O|[\]P_^X][^\x07\x1b]{0,4096}\x1b?)?$/;
const TEXT = /^[^\x00-\x1f\x7f-\x9f]+/;

const LETTERS: Readonly<Record<string, string>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  M: "enter",
  P: "f1",
  Q: "f2",
  R: "f3",
  S: "f4",
};
const NUMBERS: Readonly<Record<string, string>> = {
  "1": "home",
  "2": "insert",
  "3": "delete",
  "4": "end",
  "5": "page-up",
  "6": "page-down",
  "7": "home",
  "8": "end",
};
const CODES: Readonly<Record<number, string>> = {
  9: "tab",
  13: "enter",
  27: "escape",
  127: "backspace",
  8: "backspace",
  57414: "enter",
  57417: "left",
  57418: "right",
  57419: "up",
  57420: "down",
  57423: "home",
  57424: "end",
  57426: "delete",
};

/** Text of a paste as it is inserted: line ends become `\n`, escape sequences and controls go. */
function cleanPaste(text: string): string {
  return cleanTerminalText(text.replaceAll(START, "").replaceAll(END, "").replace(/\r\n?/g, "\n"));
}

function chord(name: string, modifiers: number): string {
  const bits = Math.max(0, modifiers - 1);
  return `${bits & 4 ? "ctrl+" : ""}${bits & 2 ? "alt+" : ""}${bits & 1 ? "shift+" : ""}${name}`;
}

const key = (name: string): KeyEvent => ({ type: "key", key: name });

/** A key reported by its code point (`CSI code ; modifiers u`, `CSI 27 ; modifiers ; code ~`). */
function coded(code: number, modifiers: number): KeyEvent | undefined {
  const name = CODES[code];
  if (name !== undefined) return key(chord(name, modifiers));
  if (code >= 57399 && code <= 57408) return { type: "text", text: String(code - 57399) };
  if (code < 32 || (code >= 57344 && code <= 63743) || code > 0x10ffff) return undefined;
  const character = String.fromCodePoint(code);
  const bits = Math.max(0, modifiers - 1);
  if ((bits & 6) === 0) return { type: "text", text: bits & 1 ? character.toUpperCase() : character };
  return key(chord(character.toLowerCase(), modifiers));
}

function sequence(prefix: string, numbers: string, final: string): KeyEvent | undefined {
  if (prefix === "?" && final === "u") return { type: "reports-keys" };
  if (prefix !== "") return undefined;
  const [first = "", second = "", third = ""] = numbers.split(";").map((part) => part.split(":")[0] ?? "");
  // A release or repeat is told after a colon; releases are no key presses.
  if (numbers.split(";")[1]?.split(":")[1] === "3") return undefined;
  const modifiers = Number(second || "1");
  if (final === "u") return coded(Number(first), modifiers);
  if (final === "Z") return key(chord("tab", 2));
  if (final === "~") {
    if (first === "27") return coded(Number(third), modifiers);
    const name = NUMBERS[first];
    return name === undefined ? undefined : key(chord(name, modifiers));
  }
  const name = LETTERS[final];
  return name === undefined ? undefined : key(chord(name, modifiers));
}

function control(character: string): KeyEvent | undefined {
  const code = character.charCodeAt(0);
  if (character === "\r") return key("enter");
  if (character === "\t") return key("tab");
  if (code === 0x7f || code === 0x08) return key("backspace");
  if (code === 0) return key("ctrl+space");
  if (code <= 26) return key(`ctrl+${String.fromCharCode(code + 96)}`);
  if (code < 32) return key(`ctrl+${String.fromCharCode(code + 64)}`);
  return undefined;
}

/**
 * Whether a read without paste markers is a paste all the same: a line end with more text behind it came in one piece (L01).
 * Keys typed ahead look alike; they are told by a control key among them, or by a command.
 */
function looksPasted(input: string): boolean {
  if (/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(input)) return false;
  if (/(?:^|[\r\n])[/:][a-z]/i.test(input)) return false;
  return /\r\n?[^\r\n]/.test(input) || (input.length > MAX_TYPED && input.includes("\r"));
}

class Decoder implements KeyDecoder {
  #mode: "keys" | "paste" | "settling" = "keys";
  /** Keys: an incomplete sequence. Paste: the last characters, in case a marker is cut. Settling: everything since the end. */
  #held = "";
  #parts: string[] = [];

  get pasting(): boolean {
    return this.#mode === "paste";
  }

  get wait(): number | undefined {
    if (this.#mode === "paste") return LEAVE.test(this.#held) ? SETTLE_MS : OPEN_MS;
    if (this.#mode === "settling") return SETTLE_MS;
    if (this.#held === "") return undefined;
    return this.#held === "\x1b" ? ESCAPE_MS : CUT_MS;
  }

  push(input: string): readonly KeyEvent[] {
    const events: KeyEvent[] = [];
    this.#feed(input, events);
    return events;
  }

  idle(): readonly KeyEvent[] {
    const events: KeyEvent[] = [];
    const held = this.#held;
    this.#held = "";
    if (this.#mode === "paste") this.#endPaste(held.replace(LEAVE, ""), events);
    if (this.#mode === "settling") {
      this.#mode = "keys";
      this.#keys(held, events);
    } else if (this.#mode === "keys") {
      this.#finish(held, events);
    } else this.#mode = "keys";
    return events;
  }

  #feed(input: string, events: KeyEvent[]): void {
    if (this.#mode === "paste") {
      this.#paste(input, events);
      return;
    }
    if (this.#mode === "settling") {
      this.#held += input;
      this.#settle(events);
      return;
    }
    const orphan = input.lastIndexOf(END);
    const start = input.indexOf(START);
    if (orphan !== -1 && (start === -1 || orphan < start)) {
      // The end of a paste whose start was given up: nothing before it was typed.
      this.#emitPaste(this.#held + input.slice(0, orphan), events);
      this.#mode = "settling";
      this.#held = input.slice(orphan + END.length);
      return;
    }
    if (this.#held === "" && looksPasted(input)) {
      this.#emitPaste(input, events);
      return;
    }
    this.#keys(this.#held + input, events);
  }

  #paste(input: string, events: KeyEvent[]): void {
    const text = this.#held + input;
    this.#held = "";
    if (input === "\x03") {
      this.#endPaste(text.slice(0, -1), events, "keys");
      return;
    }
    const end = text.indexOf(END);
    if (end !== -1) {
      this.#endPaste(text.slice(0, end), events, "settling");
      this.#held = text.slice(end + END.length);
      this.#settle(events);
      return;
    }
    const keep = Math.max(0, text.length - (END.length + 2));
    this.#parts.push(text.slice(0, keep));
    this.#held = text.slice(keep);
  }

  #endPaste(last: string, events: KeyEvent[], mode: "keys" | "settling" = "keys"): void {
    this.#parts.push(last);
    this.#emitPaste(this.#parts.join(""), events);
    this.#parts = [];
    this.#mode = mode;
  }

  /** A second end marker close behind the first: the first was part of what was pasted. */
  #settle(events: KeyEvent[]): void {
    const end = this.#held.lastIndexOf(END);
    if (end === -1) return;
    this.#emitPaste(this.#held.slice(0, end), events);
    this.#held = this.#held.slice(end + END.length);
  }

  #emitPaste(text: string, events: KeyEvent[]): void {
    const clean = cleanPaste(text);
    if (clean !== "") events.push({ type: "paste", text: clean });
  }

  #keys(input: string, events: KeyEvent[]): void {
    this.#held = "";
    let rest = input;
    while (rest !== "") {
      if (rest.startsWith(START)) {
        this.#mode = "paste";
        this.#paste(rest.slice(START.length), events);
        return;
      }
      const used = this.#one(rest, events);
      if (used === 0) {
        this.#held = rest;
        return;
      }
      rest = rest.slice(used);
    }
  }

  /** Decodes one piece and returns its length; 0 when it is not complete. */
  #one(input: string, events: KeyEvent[]): number {
    const text = TEXT.exec(input)?.[0];
    if (text !== undefined) {
      events.push({ type: "text", text });
      return text.length;
    }
    if (input[0] !== "\x1b") {
      const pressed = control(input[0] ?? "");
      if (pressed) events.push(pressed);
      return input.startsWith("\r\n") ? 2 : 1;
    }
    if (PENDING.test(input)) return 0;
    return this.#escape(input, events);
  }

  #escape(input: string, events: KeyEvent[]): number {
    const csi = CSI.exec(input);
    if (csi) {
      const event = sequence(csi[1] ?? "", csi[2] ?? "", csi[3] ?? "");
      if (event) events.push(event);
      return csi[0].length;
    }
    if (input[1] === "O") {
      const name = LETTERS[input[2] ?? ""];
      if (name !== undefined) events.push(key(name));
      return 3;
    }
    const string = STRING.exec(input)?.[0];
    if (string !== undefined) return string.length;
    const alt = alternate(input.slice(1));
    if (alt) {
      events.push(key(alt.key));
      return 1 + alt.length;
    }
    events.push(key("escape"));
    return 1;
  }

  /** What is left when nothing more comes: a lone ESC is the key, anything longer was cut off and is dropped. */
  #finish(held: string, events: KeyEvent[]): void {
    if (held === "") return;
    if (held.startsWith("\x1b\x1b")) events.push(key("escape"));
    if (held === "\x1b" || held === "\x1b\x1b") events.push(key("escape"));
    else if (held === "\x1bO" || held === "\x1b[") events.push(key(`alt+${held[1]}`));
  }
}

/** A key behind ESC, pressed with Alt. */
function alternate(rest: string): { readonly key: string; readonly length: number } | undefined {
  const csi = rest.startsWith("\x1b") ? CSI.exec(rest) : null;
  if (csi) {
    const event = sequence(csi[1] ?? "", csi[2] ?? "", csi[3] ?? "");
    return event?.type === "key" ? { key: `alt+${event.key}`, length: csi[0].length } : undefined;
  }
  const character = String.fromCodePoint(rest.codePointAt(0) ?? 0);
  if (character === "\x1b") return undefined;
  const pressed = control(character);
  if (pressed?.type === "key") {
    // Esc and a control key in one read: two keys; nobody holds Alt for these.
    if (pressed.key.startsWith("ctrl+")) return undefined;
    return { key: `alt+${pressed.key}`, length: 1 };
  }
  return { key: `alt+${character.toLowerCase()}`, length: character.length };
}

/** One decoder for one keyboard. */
export function createKeyDecoder(): KeyDecoder {
  return new Decoder();
}
