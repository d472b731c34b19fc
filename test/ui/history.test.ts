/** Input history: bounds, walking, searching, several programs at once. */
import { expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import {
  formatHistory,
  MAX_ENTRIES,
  openHistory,
  parseHistory,
  searchHistory,
  type Walk,
  walkHistory,
  withEntry,
} from "../../src/ui/history.ts";
import { tempDir } from "../support/temp.ts";

const keep = (text: string): string => text;
const fail = (message: string): never => {
  throw new Error(message);
};

test("what is formatted is parsed again; anything else in the file is left out", () => {
  const entries = ["one", "two\nlines", 'q"uote\\', "日本語\u2028x", ""];
  expect(parseHistory(formatHistory(entries))).toEqual(entries);
  expect(parseHistory('"a"\n{"b":1}\nnonsense\n"cut\n"c"\n')).toEqual(["a", "c"]);
});

test("1,000 entries, newest last; no repeats, no blanks, nothing enormous; the file is bounded", () => {
  let entries: readonly string[] = [];
  for (let index = 0; index < 1500; index++) entries = withEntry(entries, `entry ${index}`);
  expect(entries).toHaveLength(MAX_ENTRIES);
  expect(entries.at(-1)).toBe("entry 1499");
  expect(withEntry(entries, "entry 1499")).toBe(entries);
  expect(withEntry(entries, "  ")).toBe(entries);
  expect(withEntry(entries, "x".repeat(40_000))).toBe(entries);
  const big = Array.from({ length: 1000 }, (_, index) => `${index} ${"日".repeat(10_000)}`);
  const text = formatHistory(big);
  expect(Buffer.byteLength(text)).toBeLessThan(800_000);
  expect(parseHistory(text).at(-1)).toBe(big.at(-1) ?? "");
});

test("Up and Down walk, and lead back to what was being typed", () => {
  const entries = ["a", "b", "c"];
  let walk: Walk;
  let text = "draft";
  const step = (delta: -1 | 1): string | undefined => {
    const next = walkHistory(entries, walk, text, delta);
    if (!next) return undefined;
    walk = next.walk;
    text = next.text;
    return text;
  };
  expect(step(1)).toBeUndefined();
  expect([step(-1), step(-1), step(-1), step(-1)]).toEqual(["c", "b", "a", undefined]);
  expect([step(1), step(1), step(1), step(1)]).toEqual(["b", "c", "draft", undefined]);
});

test("search finds the newest first, then older ones", () => {
  const entries = ["run tests", "commit", "Run linter", "push"];
  const first = searchHistory(entries, "run", entries.length);
  expect(first).toBe(2);
  expect(searchHistory(entries, "run", first)).toBe(0);
  expect(searchHistory(entries, "run", 0)).toBe(-1);
});

test("the file: 0600, secrets out, two programs do not lose each other's entries", async () => {
  await using place = await tempDir();
  const path = place.at("state", "history");
  const clean = (text: string): string => text.replace("secret", "…");
  const [one, two] = [openHistory(path, clean, fail), openHistory(path, clean, fail)];
  for (let index = 0; index < 5; index++) {
    one.add(`one ${index}`);
    two.add(`two ${index} secret`);
  }
  await Promise.all([one.settled(), two.settled()]);
  const entries = parseHistory(readFileSync(path, "utf8"));
  expect([...entries].sort()).toEqual([0, 1, 2, 3, 4].flatMap((n) => [`one ${n}`, `two ${n} …`]).sort());
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(openHistory(path, keep, fail).entries).toEqual(entries);
});

test("a file that cannot be written is told once; one that is nonsense is an empty history", async () => {
  await using place = await tempDir({ "state/history/in-the-way": "", broken: "", file: "" });
  const told: string[] = [];
  const nowhere = openHistory(place.at("file", "history"), keep, (message) => told.push(message));
  nowhere.add("a");
  await nowhere.settled();
  expect(nowhere.entries).toEqual(["a"]);
  expect(told.splice(0)).toEqual([expect.stringContaining("file is not a directory")]);
  const history = openHistory(place.at("state", "history"), keep, (message) => told.push(message));
  history.add("a");
  history.add("b");
  await history.settled();
  expect(told).toHaveLength(1);
  expect(history.entries).toEqual(["a", "b"]);
  writeFileSync(place.at("broken"), new Uint8Array([0, 255, 10, 34]));
  expect(openHistory(place.at("broken"), keep, fail).entries).toEqual([]);
});
