import { describe, expect, test } from "bun:test";
import { createOutputCapture, renderOutput } from "../../src/base/output-capture.ts";
import {
  cleanTerminalLine,
  cleanTerminalText,
  cutBytes,
  cutChars,
  cutCharsFromEnd,
  groupDigits,
  incompleteEscapeTail,
  incompleteUtf8Tail,
  oneLine,
  sayDuration,
} from "../../src/base/text.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("H10 control sequences", () => {
  for (const [name, raw, clean] of [
    ["colours", "\x1b[1;31mred\x1b[0m", "red"],
    ["colon colours", "\x1b[38:2::1:2:3mx\x1b[m", "x"],
    ["titles and links", "\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\", "ab"],
    ["device strings", "a\x1bPq#0;1\x1b\\b\x1b_apc\x1b\\c", "abc"],
    ["8-bit forms", "a\x9b31mb\x9d0;t\x9cc", "abc"],
    ["character sets and resets", "\x1b(Ba\x1b=b\x1bcc\x1b7d", "abcd"],
    ["a sequence cut off", "a\x1b[3", "a"],
    ["an unterminated title keeps its text", "a\x1b]0;bcd", "a0;bcd"],
    ["a lone escape", "a\x1b", "a"],
    ["NUL, BEL, DEL, C1", "a\0\x07\x7f\x85b", "ab"],
    ["tab stays", "a\tb", "a\tb"],
    ["overstrike", "b\bbo_\bx", "box"],
    ["backspace at the start", "\b\bx", "x"],
    ["progress", "10%\r50%\r100%", "100%"],
    ["progress then an erased line", "50%\r\x1b[K", "50%"],
    ["progress with a coloured last state", "\x1b[32m1\x1b[0m\r\x1b[32m2\x1b[0m\r", "2"],
    ["CRLF", "text\r", "text"],
    ["emoji and combining marks", "e\u0301 👩‍👩‍👧 北", "e\u0301 👩‍👩‍👧 北"],
  ] as const) {
    test(name, () => expect(cleanTerminalLine(raw)).toBe(clean));
  }

  test("no input leaves a control character", () => {
    for (let code = 0; code < 0xa0; code++) {
      if (code === 10) continue; // A line holds no newline.
      const cleaned = cleanTerminalLine(`x${String.fromCharCode(0x1b, code, 0x1b, 0x5b, code)}y`);
      expect(cleaned).not.toMatch(/[\x00-\x08\x0a-\x1f\x7f-\x9f]/);
    }
  });

  test("strings that never end take no longer than their length: introducers are no part of a string", () => {
    const size = 256 * 1024;
    for (const start of ["\x9d", "\x90", "\x98", "\x9e", "\x9f", "\x9b", "\x1b]", "\x1bP", "\x1b[", "\x1b ", "\x9dab", "\x9b1;"])
      expect(cleanTerminalLine(start.repeat(size))).not.toMatch(/[\x00-\x08\x0a-\x1f\x7f-\x9f]/);
    expect(cleanTerminalLine("a\x9d0;one\x9d0;two\x9cb")).toBe("a0;oneb");
  });

  test("a text keeps its lines", () => {
    expect(cleanTerminalText("a\r\n\x1b[1mb\x1b[0m\n1\r2\n")).toBe("a\nb\n2\n");
    expect(cleanTerminalText("plain\ntext")).toBe("plain\ntext");
  });
});

describe("cuts", () => {
  test("never split a surrogate pair, from either end", () => {
    const text = "a🌲b🌲";
    for (let max = 0; max <= text.length; max++) {
      expect(cutChars(text, max).isWellFormed()).toBe(true);
      expect(cutCharsFromEnd(text, max).isWellFormed()).toBe(true);
      expect(cutChars(text, max).length).toBeLessThanOrEqual(max);
    }
    expect(cutChars(text, 2)).toBe("a");
    expect(cutChars(text, 3)).toBe("a🌲");
    expect(cutCharsFromEnd(text, 3)).toBe("b🌲");
    expect(cutCharsFromEnd(text, 1)).toBe("");
  });

  test("by bytes fall between characters", () => {
    const text = "é北🌲";
    const expected = ["", "", "é", "é", "é", "é北", "é北", "é北", "é北", text];
    for (const [max, cut] of expected.entries()) expect(cutBytes(text, max)).toBe(cut);
    expect(cutBytes(text, 100)).toBe(text);
  });
});

test("a stranger's text on one line: nothing unseen, cut between characters", () => {
  expect(oneLine(" a\r\n\tb\u0000\u202e c\u200b ")).toBe("a b c");
  expect(oneLine("half \ud800 pair")).toBe("half \ufffd pair");
  expect([oneLine("ab😀", 4), oneLine("ab😀c", 3), oneLine("ab cd", 3)]).toEqual(["ab😀", "ab…", "ab…"]);
});

describe("H09 pieces", () => {
  test("incomplete characters at the end are counted", () => {
    for (const character of ["a", "é", "北", "🌲"]) {
      const whole = bytes(character);
      expect(incompleteUtf8Tail(bytes(`x${character}`))).toBe(0);
      for (let length = 1; length < whole.length; length++) {
        expect(incompleteUtf8Tail(Uint8Array.of(0x78, ...whole.subarray(0, length)))).toBe(length);
      }
    }
    expect(incompleteUtf8Tail(Uint8Array.of(0x80, 0x80, 0x80, 0x80))).toBe(0);
    expect(incompleteUtf8Tail(Uint8Array.of(0xff))).toBe(0);
    expect(incompleteUtf8Tail(new Uint8Array(0))).toBe(0);
  });

  test("incomplete control sequences at the end are counted", () => {
    expect(incompleteEscapeTail(bytes("abc"))).toBe(0);
    expect(incompleteEscapeTail(bytes("abc\x1b"))).toBe(1);
    expect(incompleteEscapeTail(bytes("abc\x1b[38;5"))).toBe(6);
    expect(incompleteEscapeTail(bytes("abc\x1b[38;5m"))).toBe(0);
    expect(incompleteEscapeTail(bytes("\x1b]0;ti"))).toBe(6);
    expect(incompleteEscapeTail(bytes("a\x1b]0;ti\x1b"))).toBe(7);
    expect(incompleteEscapeTail(bytes("a\x1bPq\x1b"))).toBe(4);
    expect(incompleteEscapeTail(bytes("\x1b]0;ti\x1b\\"))).toBe(0);
    expect(incompleteEscapeTail(bytes("\x1b]0;ti\x07b\x1b"))).toBe(1);
    expect(incompleteEscapeTail(bytes("\x1b(Ba"))).toBe(0);
    expect(incompleteEscapeTail(bytes(`\x1b[${"1;".repeat(60)}`))).toBe(0);
  });
});

test("numbers and durations are readable", () => {
  expect([0, 999, 1000, 1234567, 2e9].map(groupDigits)).toEqual(["0", "999", "1,000", "1,234,567", "2,000,000,000"]);
  expect([0.4, 999, 1000, 1250, 59_900, 60_000, 125_000].map(sayDuration)).toEqual([
    "0 ms",
    "999 ms",
    "1 s",
    "1.3 s",
    "59.9 s",
    "1 min",
    "2 min 5 s",
  ]);
});

describe("H07 output capture", () => {
  const limits = { headLines: 3, tailLines: 2, lineChars: 10 };
  const capture = (text: string, size: number, using = limits) => {
    const store = createOutputCapture(using);
    const all = bytes(text);
    for (let at = 0; at < all.length; at += size) store.push(all.slice(at, at + size));
    return store.finish();
  };

  test("a short stream is kept whole, also without a last newline", () => {
    expect(capture("a\nb", 1)).toMatchObject({ head: ["a", "b"], tail: [], omittedLines: 0, totalLines: 2, totalBytes: 3 });
    expect(capture("a\n\nb\n", 2)).toMatchObject({ head: ["a", "", "b"], tail: [], totalLines: 3 });
    expect(renderOutput(capture("", 1), 100)).toEqual({ text: "", cut: false });
  });

  test("every chunk size gives the same head, tail and counts", () => {
    const text = Array.from({ length: 100 }, (_, index) => `line ${index} 北`).join("\n");
    const whole = capture(text, 1_000_000);
    expect(whole).toMatchObject({
      head: ["line 0 北", "line 1 北", "line 2 北"],
      tail: ["line 98 北", "line 99 北"],
      omittedLines: 95,
      totalLines: 100,
    });
    for (const size of [1, 2, 3, 7, 10, 11, 64, 1000]) expect(capture(text, size)).toEqual(whole);
    expect(renderOutput(whole, 1000)).toEqual({
      text: `line 0 北\nline 1 北\nline 2 北\n… [95 of 100 lines left out here; the whole stream has 1,189 bytes] …\nline 98 北\nline 99 北`,
      cut: true,
    });
  });

  test("lines are cut between characters and say their length", () => {
    const cut = capture(`${"x".repeat(9)}🌲${"y".repeat(50)}\nshort\n`, 5);
    expect(cut.cutLines).toBe(1);
    expect(cut.head).toEqual([`${"x".repeat(9)}… [line cut at 10 characters; it has 63 bytes]`, "short"]);
  });

  test("an endless line keeps its beginning; an endless progress line its last state", () => {
    const long = capture(`${"é".repeat(50_000)}\nend\n`, 4096);
    expect(long.head).toEqual(["éééééééééé… [line cut at 10 characters; it has 100,000 bytes]", "end"]);
    let progress = "";
    for (let percent = 0; percent <= 20_000; percent++) progress += `at ${percent}\r`;
    for (const size of [100, 5000, 1_000_000])
      expect(capture(`${progress}\n`, size)).toMatchObject({ head: ["at 20000"], cutLines: 0 });
  });

  test("escapes do not count as characters of a line", () => {
    expect(capture(`${"\x1b[31mx\x1b[0m".repeat(10)}\n`, 3).head).toEqual(["xxxxxxxxxx"]);
  });

  test("a budget in bytes keeps head and tail and says what is gone", () => {
    const text = Array.from({ length: 300 }, (_, index) => `${index} ${"x".repeat(400)}`).join("\n");
    const kept = capture(text, 999, { headLines: 200, tailLines: 200, lineChars: 512 });
    expect(kept.omittedLines).toBe(0);
    const { text: rendered, cut } = renderOutput(kept, 10_000);
    expect(cut).toBe(true);
    expect(Buffer.byteLength(rendered)).toBeLessThanOrEqual(10_000);
    expect(rendered).toStartWith("0 x");
    expect(rendered).toMatch(/… \[\d+ of 300 lines left out here/);
    expect(rendered.split("\n").at(-1)).toStartWith("299 x");
    expect(renderOutput(kept, 1_000_000).cut).toBe(false);
    for (const tiny of [0, 1, 50, 200, 700]) expect(Buffer.byteLength(renderOutput(kept, tiny).text)).toBeLessThanOrEqual(tiny);
  });

  test("the producer may reuse its chunk", () => {
    const store = createOutputCapture(limits);
    const chunk = bytes("aaa\nb");
    store.push(chunk);
    chunk.fill(0x7a);
    store.push(bytes("c\n"));
    expect(store.finish().head).toEqual(["aaa", "bc"]);
  });
});
