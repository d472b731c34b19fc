/**
 * What one sequence of a keyboard means: a key with its modifiers, text, or nothing (repl.md, Input). Pure. Refuses: where a sequence
 * ends (keys.ts), what a key does.
 */
import type { KeyEvent } from "./keys.ts";

export const CSI = /^\x1b\[([<=>?]?)([0-9;:]*)[ -/]*([@-~])/;
/** The key with Shift, where the terminal tells it, and what stands on a US keyboard where it is. */
type Others = { readonly shifted: number; readonly base: number };

const LETTERS: Readonly<Record<string, string>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  P: "f1",
  Q: "f2",
  R: "f3",
  S: "f4",
};
/** As they come behind ESC O; behind ESC [ an M is a click of the mouse. */
const APPLICATION: Readonly<Record<string, string>> = { ...LETTERS, M: "enter" };
/** Control characters that have a key of their own. */
const CONTROLS: Readonly<Record<string, string>> = { "ctrl+m": "enter", "ctrl+i": "tab", "ctrl+[": "escape" };
/** Characters that mean something with Alt (input.ts). */
const WITH_ALT: ReadonlySet<string> = new Set(["b", "d", "f", "<", ">"]);
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

function chord(name: string, modifiers: number): string {
  const bits = Math.max(0, modifiers - 1);
  return `${bits & 4 ? "ctrl+" : ""}${bits & 2 ? "alt+" : ""}${bits & 1 ? "shift+" : ""}${name}`;
}

/** A key that was pressed. */
export const key = (name: string): KeyEvent => ({ type: "key", key: name });

/** A key reported by its code point (`CSI code:shifted:base ; modifiers u`, `CSI 27 ; modifiers ; code ~`). */
function coded(code: number, modifiers: number, { shifted, base }: Others = { shifted: 0, base: 0 }): KeyEvent | undefined {
  const name = CODES[code];
  if (name !== undefined) return key(chord(name, modifiers));
  if (code >= 57399 && code <= 57408) return { type: "text", text: String(code - 57399) };
  if (code < 32 || (code >= 57344 && code <= 63743) || code > 0x10ffff) return undefined;
  const character = String.fromCodePoint(code);
  const bits = Math.max(0, modifiers - 1);
  // With Super, Hyper or Meta it is a command to somebody else.
  if (bits & 56) return undefined;
  if ((bits & 6) === 0) {
    if ((bits & 1) === 0) return { type: "text", text: character };
    return { type: "text", text: isText(shifted) ? String.fromCodePoint(shifted) : character.toUpperCase() };
  }
  // A letter that no shortcut is named after stands where one of the Latin letters does.
  const named = code > 0x7f && isText(base) ? String.fromCodePoint(base) : character;
  const pressed = chord(named.toLowerCase(), modifiers);
  return key(CONTROLS[pressed] ?? pressed);
}

const isText = (code: number): boolean => code > 32 && code <= 0x10ffff;

/** What a control sequence (`ESC [ …`) means; undefined when it is no key that is known. */
export function sequence(prefix: string, numbers: string, final: string): KeyEvent | undefined {
  if (prefix === "?" && final === "u") return { type: "reports-keys" };
  if (prefix !== "") return undefined;
  const parts = numbers.split(";").map((part) => part.split(":"));
  const [first = "", second = "", third = ""] = parts.map(([number = ""]) => number);
  // A release or repeat is told after a colon; releases are no key presses.
  if (parts[1]?.[1] === "3") return undefined;
  const modifiers = Number(second || "1");
  if (final === "u") return coded(Number(first), modifiers, { shifted: Number(parts[0]?.[1]), base: Number(parts[0]?.[2]) });
  if (final === "Z") return key(chord("tab", 2));
  if (final === "~") {
    if (first === "27") return coded(Number(third), modifiers);
    const name = NUMBERS[first];
    return name === undefined ? undefined : key(chord(name, modifiers));
  }
  const name = LETTERS[final];
  return name === undefined ? undefined : key(chord(name, modifiers));
}

/** The keys of ESC O; undefined when it is none that is known. */
export function applicationKey(letter: string): KeyEvent | undefined {
  const name = APPLICATION[letter];
  return name === undefined ? undefined : key(name);
}

/** The Linux console's first five function keys: ESC [ [ A to E. */
export function consoleKey(letter: string): KeyEvent | undefined {
  const number = "ABCDE".indexOf(letter) + 1;
  return number === 0 ? undefined : key(`f${number}`);
}

/** A control character as the key that sends it. */
export function control(character: string): KeyEvent | undefined {
  const code = character.charCodeAt(0);
  if (character === "\r") return key("enter");
  if (character === "\t") return key("tab");
  if (code === 0x7f || code === 0x08) return key("backspace");
  if (code === 0) return key("ctrl+space");
  if (code <= 26) return key(`ctrl+${String.fromCharCode(code + 96)}`);
  if (code < 32) return key(`ctrl+${String.fromCharCode(code + 64)}`);
  return undefined;
}

/** A key behind ESC, pressed with Alt; undefined where Esc was pressed, and then something else. */
export function alternate(rest: string): { readonly key: string; readonly length: number } | undefined {
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
  const name = character.toLowerCase();
  // One letter that does nothing with Alt does nothing; several were typed behind Esc.
  if (!WITH_ALT.has(name) && /^[^\x00-\x1f\x7f-\x9f]/.test(rest.slice(character.length))) return undefined;
  return { key: `alt+${name}`, length: character.length };
}
