/**
 * Bytes of a keyboard → keys, text and pastes (repl.md, Input; L01, L02). Pure: time is told by `wait` and `idle`.
 * Refuses: reading, knowing what a key does.
 */
import { cleanTerminalText } from "../base/text.ts";
import { alternate, applicationKey, CSI, consoleKey, control, key, sequence } from "./key-codes.ts";

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
/** Ctrl+C as a read of its own, plain or as the kitty protocol reports it. */
const INTERRUPT = /^(?:\x03|\x1b\[(?:99|\d+:\d*:99)[:\d]*;5u)$/;
/** Escape, plain or as the kitty protocol reports it, as the last thing that came. */
const LEAVE = /\x1b(?:\[27(?:;1)?u)?$/;

const STRING = /^\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)/;
/** A click of the mouse as of old: button, column and row as one character each. Whatever is a control is no part of it. */
const CLICK = /^\x1b\[M[^\x00-\x1f]{0,3}/;
const CONSOLE = /^\x1b\[\[([ -~])/;
const PENDING =
  /^\x1b(?:\x1b(?:\[[0-9;:]*)?|\[(?:\[|M[^\x00-\x1f]{0,2})|\[[<=>?]?[0-9;:]*[ -/]*|O|[\]P_^X][^\x07\x1b]{0,4096}\x1b?)?$/;
const TEXT = /^[^\x00-\x1f\x7f-\x9f]+/;

/** Text of a paste as it is inserted: line ends become `\n`, escape sequences and controls go. */
function cleanPaste(text: string): string {
  return cleanTerminalText(text.replaceAll(START, "").replaceAll(END, "").replace(/\r\n?/g, "\n"));
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
    if (INTERRUPT.test(input)) {
      this.#endPaste(text.slice(0, -input.length), events, "keys");
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
    const click = CLICK.exec(input)?.[0];
    if (click !== undefined) return click.length;
    const onConsole = CONSOLE.exec(input);
    if (onConsole) {
      const pressed = consoleKey(onConsole[1] ?? "");
      if (pressed) events.push(pressed);
      return onConsole[0].length;
    }
    const csi = CSI.exec(input);
    if (csi) {
      const event = sequence(csi[1] ?? "", csi[2] ?? "", csi[3] ?? "");
      if (event) events.push(event);
      return csi[0].length;
    }
    if (input[1] === "O") {
      const pressed = applicationKey(input[2] ?? "");
      if (pressed) events.push(pressed);
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

/** One decoder for one keyboard. */
export function createKeyDecoder(): KeyDecoder {
  return new Decoder();
}
