/** Key decoding: sequences, pastes, cuts at every place. */
import { expect, test } from "bun:test";
import { isEditing } from "../../src/ui/input.ts";
import { createKeyDecoder, type KeyDecoder, type KeyEvent } from "../../src/ui/keys.ts";

function say(events: readonly KeyEvent[]): string[] {
  return events.map((event) =>
    event.type === "key" ? event.key : event.type === "reports-keys" ? "reports" : `${event.type}:${event.text}`,
  );
}

/** Everything a decoder says to these reads, each idle moment included. */
function decode(...reads: string[]): string[] {
  const decoder = createKeyDecoder();
  const events = reads.flatMap((read) => [...decoder.push(read)]);
  return say([...events, ...drain(decoder)]);
}

function drain(decoder: KeyDecoder): KeyEvent[] {
  const events: KeyEvent[] = [];
  for (let turn = 0; turn < 5 && decoder.wait !== undefined; turn++) events.push(...decoder.idle());
  return events;
}

const table: readonly (readonly [string, string])[] = [
  ["\r", "enter"],
  ["\n", "ctrl+j"],
  ["\t", "tab"],
  ["\x7f", "backspace"],
  ["\x03", "ctrl+c"],
  ["\x1a", "ctrl+z"],
  ["\x1f", "ctrl+_"],
  ["\x1b", "escape"],
  ["\x1b[A", "up"],
  ["\x1bOA", "up"],
  ["\x1b[1;5D", "ctrl+left"],
  ["\x1b[1;3C", "alt+right"],
  ["\x1b[3~", "delete"],
  ["\x1b[3;5~", "ctrl+delete"],
  ["\x1b[Z", "shift+tab"],
  ["\x1b[13;2u", "shift+enter"],
  ["\x1b[27;2;13~", "shift+enter"],
  ["\x1b[27u", "escape"],
  ["\x1b[99;5u", "ctrl+c"],
  ["\x1b[99;5:1u", "ctrl+c"],
  ["\x1b\r", "alt+enter"],
  ["\x1bb", "alt+b"],
  ["\x1b\x7f", "alt+backspace"],
  ["\x1b\x1b[D", "alt+left"],
  ["\x1b[?1u", "reports"],
  ["\x1bOM", "enter"],
  ["\x1b[[A", "f1"],
  ["\x1b[[E", "f5"],
  // The kitty protocol: what is named after a control character, and letters where a Latin one stands.
  ["\x1b[109;5u", "enter"],
  ["\x1b[105;5u", "tab"],
  ["\x1b[91;5u", "escape"],
  ["\x1b[1089::99;5u", "ctrl+c"],
  ["\x1b[1076:1044:108;6u", "ctrl+shift+l"],
  ["\x1b[1080::98;3u", "alt+b"],
  ["\x1b[97::113;5u", "ctrl+a"],
  ["\x1b[49:33;2u", "text:!"],
  ["\x1b[1092::97u", "text:ф"],
  ["日本語🌲é", "text:日本語🌲é"],
];

for (const [bytes, name] of table) {
  test(`${JSON.stringify(bytes)} is ${name}, also when it comes in pieces`, () => {
    expect(decode(bytes)).toEqual([name]);
    for (let at = 1; at < bytes.length; at++) {
      if (bytes.charCodeAt(0) !== 0x1b || at >= bytes.length) continue;
      expect(decode(bytes.slice(0, at), bytes.slice(at))).toEqual([name]);
    }
  });
}

test("Esc and a control key in one read are two keys", () => {
  expect(decode("\x1b\x03")).toEqual(["escape", "ctrl+c"]);
  expect(decode("\x1b\x1b")).toEqual(["escape", "escape"]);
});

test("a click of the mouse is no key, in any of its three forms, wherever the reads are cut", () => {
  for (const click of [
    "\x1b[M !!",
    "\x1b[M#~\x7f",
    "\x1b[M ñé",
    "\x1b[32;1;5M",
    "\x1b[32;10;5M",
    "\x1b[<0;10;10M",
    "\x1b[<0;10;10m",
  ]) {
    for (let at = 1; at <= click.length; at++)
      expect([click, decode(click.slice(0, at), `${click.slice(at)}a`)]).toEqual([click, ["text:a"]]);
    expect(decode(`a${click}${click}b`)).toEqual(["text:a", "text:b"]);
  }
  // What is a control is no part of a click that was cut off; what never comes is not waited for.
  expect(decode("\x1b[M !\r")).toEqual(["enter"]);
  expect(decode("\x1b[M ")).toEqual([]);
  expect(decode("\x1b[[x", "a")).toEqual(["text:a"]);
});

test("Esc and text in one read are Esc and the text; one letter is pressed with Alt", () => {
  expect(decode("\x1bhello")).toEqual(["escape", "text:hello"]);
  expect(decode("\x1b", "日本")).toEqual(["escape", "text:日本"]);
  expect(decode("\x1bx")).toEqual(["alt+x"]);
  expect(decode("\x1bbx")).toEqual(["alt+b", "text:x"]);
  for (const name of "abcdefghijklmnopqrstuvwxyz.,<>?0") {
    const means = isEditing(`alt+${name}`);
    expect([name, decode(`\x1b${name}xx`)[0]]).toEqual([name, means ? `alt+${name}` : "escape"]);
  }
});

test("what is pressed with Super, Hyper or Meta is no text", () => {
  expect(decode("\x1b[99;9u", "\x1b[99;17u", "\x1b[99;33u")).toEqual([]);
  expect(decode("\x1b[97;129u", "\x1b[97;65u")).toEqual(["text:a", "text:a"]);
});

test("L02 Ctrl+C leaves a paste that is never closed, however it is reported", () => {
  for (const pressed of ["\x1b[99;5u", "\x1b[1089::99;5u"]) expect(decode("\x1b[200~abc", pressed)).toEqual(["paste:abc"]);
});

test("releases, mouse reports, replies and unknown sequences are no keys", () => {
  expect(decode("\x1b[97;1:3u", "\x1b[<0;1;1M", "\x1b]11;rgb:0/0/0\x07", "\x1b[?62;22c", "\x1b[200;5x")).toEqual([]);
});

test("L01 a paste is one event, its line ends are \\n, its markers are gone", () => {
  for (const text of ["a\nb\nc", "a\rb\rc", "a\r\nb\r\nc"]) {
    expect(decode(`\x1b[200~${text}\x1b[201~`, "\r")).toEqual(["paste:a\nb\nc", "enter"]);
    // In one read, as a driver sends it.
    expect(decode(`\x1b[200~${text}\x1b[201~\r`)).toEqual(["paste:a\nb\nc", "enter"]);
  }
});

test("L01 the same text without markers, in one read, is one text as well", () => {
  expect(decode("a\rb\rc")).toEqual(["paste:a\nb\nc"]);
  expect(decode("a\nb\nc")).toEqual(["text:a", "ctrl+j", "text:b", "ctrl+j", "text:c"]);
  expect(decode("hello\r")).toEqual(["text:hello", "enter"]);
  // A prompt that a script sends with its Enter is no paste, however many words it has; a piece of a large paste is one.
  const prompt = "explain this ".repeat(60);
  expect(decode(`${prompt}\r`)).toEqual([`text:${prompt}`, "enter"]);
  expect(decode(`${"x".repeat(4000)}\r`)).toEqual([`paste:${"x".repeat(4000)}\n`]);
  // Typed ahead: a control key or a command tells.
  expect(decode("one\r\x14two\r")).toEqual(["text:one", "enter", "ctrl+t", "text:two", "enter"]);
  expect(decode("/clear\r//clear now\r")).toEqual(["text:/clear", "enter", "text://clear now", "enter"]);
});

test("L01 200 KB in reads of every size arrive whole", () => {
  const text = "líne of text 日本\n".repeat(12_000);
  for (const size of [1021, 4096, 65_536]) {
    const bytes = `\x1b[200~${text.replaceAll("\n", "\r")}\x1b[201~`;
    const decoder = createKeyDecoder();
    const events: KeyEvent[] = [];
    for (let at = 0; at < bytes.length; at += size) events.push(...decoder.push(bytes.slice(at, at + size)));
    expect(say([...events, ...drain(decoder)])).toEqual([`paste:${text}`]);
  }
});

test("L02 an end marker inside a paste runs nothing, wherever the reads are cut", () => {
  const bytes = "\x1b[200~x\x1b[201~\r:bg cancel 1\r\x1b[201~";
  for (let at = 1; at < bytes.length; at++) {
    const said = decode(bytes.slice(0, at), bytes.slice(at));
    expect(said.filter((event) => !event.startsWith("paste:"))).toEqual([]);
    expect(said.map((event) => event.slice("paste:".length)).join("")).toBe("x\n:bg cancel 1\n");
  }
});

test("L02 a paste that is never closed is left by Esc, by Ctrl+C, by silence", () => {
  expect(decode("\x1b[200~abc", "\x1b")).toEqual(["paste:abc"]);
  expect(decode("\x1b[200~abc", "\x03")).toEqual(["paste:abc"]);
  const decoder = createKeyDecoder();
  decoder.push("\x1b[200~abc");
  expect(decoder.pasting).toBe(true);
  expect(say(decoder.idle())).toEqual(["paste:abc"]);
  expect(decoder.pasting).toBe(false);
  // What comes late still belongs to it.
  expect(say(decoder.push("def\r\x1b[201~"))).toEqual(["paste:def\n"]);
});

test("random bytes never throw, and a paste's text holds no control character", () => {
  let seed = 7;
  const random = (limit: number): number => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return seed % limit;
  };
  const alphabet = [
    "\x1b",
    "[",
    "2",
    "0",
    "1",
    "~",
    "\r",
    "\n",
    "a",
    ";",
    "u",
    "\x03",
    "\x1b[200~",
    "\x1b[201~",
    "é",
    "O",
    "\x9b",
  ];
  for (let round = 0; round < 3000; round++) {
    const decoder = createKeyDecoder();
    const events: KeyEvent[] = [];
    for (let read = 0; read < 4; read++) {
      let text = "";
      for (let count = random(9); count >= 0; count--) text += alphabet[random(alphabet.length)];
      events.push(...decoder.push(text));
    }
    events.push(...drain(decoder));
    expect(decoder.wait).toBeUndefined();
    for (const event of events)
      if (event.type === "paste" || event.type === "text") expect(event.text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
  }
});
