/** What an editor's text of a file is (stale, unsaved, both), in every order of events: nothing that is on the disk is lost. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { SeenTexts } from "../../src/acp/seen-texts.ts";
import { openEditor } from "./editor.ts";

type Call = { readonly name: string; readonly arguments: Record<string, unknown> };

const read = (path = "a.txt"): Call => ({ name: "read_file_range", arguments: { path } });
const edit = (from: string, to: string): Call => ({
  name: "replace_range",
  arguments: { path: "a.txt", old_string: from, new_string: to },
});
const shell = (script: string): Call => ({ name: "run_shell", arguments: { argv: ["sh", "-c", script] } });
const create = (content: string): Call => ({ name: "create_file", arguments: { path: "a.txt", content } });
const ADD = shell("printf 'from shell\\n' >> a.txt");

type Place = { readonly path: string };

/** Makes the calls one after the other. `buffer` is what the editor says it has; "" is what it says of files that are not open. */
async function play(
  calls: readonly Call[],
  buffer: (place: Place, reads: number) => string,
  before = "one\ntwo\n",
  save: (content: string) => string = (content) => content,
) {
  const saved: string[] = [];
  let reads = 0;
  await using editor = await openEditor({
    files: { "a.txt": before },
    script: [...calls.map((call) => ({ calls: [call] })), { text: "done" }],
    readText: (path) => buffer({ path }, ++reads),
    writeText: (path, content) => {
      saved.push(content);
      writeFileSync(path, save(content));
    },
  });
  await editor.prompt(await editor.open(), "go");
  const { body } = await editor.model.server.request(calls.length + 1);
  const results: string[] = body.messages
    .filter((message: { role: string }) => message.role === "tool")
    .map((message: { content: string }) => message.content);
  const path = editor.place.at("a.txt");
  return { results, saved, disk: existsSync(path) ? readFileSync(path, "utf8") : undefined };
}

test("a text the disk had before is stale: what a command wrote stays", async () => {
  const { results, saved, disk } = await play([read(), ADD, read(), edit("one", "ONE")], () => "one\ntwo\n");
  expect(disk).toBe("ONE\ntwo\nfrom shell\n");
  expect(saved).toEqual(["ONE\ntwo\nfrom shell\n"]);
  expect(results[2]).toContain("from shell");
  expect(results[2]).not.toContain("unsaved");
});

test("an editor that never takes over what was written is stale, too", async () => {
  const { disk } = await play([read(), edit("one", "ONE"), edit("two", "TWO")], () => "one\ntwo\n");
  expect(disk).toBe("ONE\nTWO\n");
});

test("a stale text that nobody has seen before could be the user's: the edit is refused, and nothing is written", async () => {
  const { results, saved, disk } = await play([ADD, read(), edit("one", "ONE")], () => "one\ntwo\n");
  expect(disk).toBe("one\ntwo\nfrom shell\n");
  expect(saved).toEqual([]);
  expect(results[1]).toContain("from shell");
  expect(results[1]).toContain("edits are refused");
  expect(results[2]).toContain("cannot be told whether that began from what the disk has now. Nothing was changed");
});

test("both have changed: the edit is refused", async () => {
  const buffer = (_: Place, reads: number) => (reads === 1 ? "one\ntwo\n" : "one\ntwo\nof the user\n");
  const { results, saved, disk } = await play([read(), ADD, read(), edit("one", "ONE")], buffer);
  expect(disk).toBe("one\ntwo\nfrom shell\n");
  expect(saved).toEqual([]);
  expect(results[2]).toContain("from shell");
  expect(results[3]).toContain("Ask the user to save or to reload it");
});

test("unsaved changes are saved only for an edit that fits them", async () => {
  const buffer = () => "one\nunsaved\n";
  const fits = await play([read(), edit("unsaved", "agreed")], buffer);
  expect(fits).toMatchObject({ disk: "one\nagreed\n", saved: ["one\nunsaved\n", "one\nagreed\n"] });
  expect(fits.results[1]).toContain("unsaved changes of the editor were saved first");
  for (const call of [edit("two", "TWO"), create("new")]) {
    const { results, saved, disk } = await play([call], buffer);
    expect({ saved, disk }).toEqual({ saved: [], disk: "one\ntwo\n" });
    expect(results[0]).toContain("nothing was saved");
  }
});

test("unsaved changes, then a command changes the disk: refused until they are saved", async () => {
  const { results, disk } = await play([read(), ADD, edit("unsaved", "agreed")], () => "one\nunsaved\n");
  expect(disk).toBe("one\ntwo\nfrom shell\n");
  expect(results[0]).toContain("2: unsaved");
  expect(results[2]).toContain("Nothing was changed");
});

const NOT_OPEN = (): string => {
  throw new Error("not open");
};

test.each([
  ["nothing", () => "", "one\ntwo\n"],
  ["an error", NOT_OPEN, "one\ntwo\n"],
  ["a last line end of its own", () => "one\ntwo\n", "one\ntwo"],
  ["no byte order mark and one kind of line end", () => "one\ntwo\n", "\ufeffone\r\ntwo\n"],
])("an editor that answers with %s says nothing of changes", async (_what, buffer, before) => {
  const { saved, disk } = await play([edit("one", "ONE")], buffer, before);
  expect(disk).toBe(before.replace("one", "ONE"));
  expect(saved).toEqual([before.replace("one", "ONE")]);
});

test("a deleted file: an old text of it is stale, any other is the user's", async () => {
  const stale = await play([read(), shell("rm a.txt"), read(), create("new\n")], () => "one\ntwo\n");
  expect(stale.disk).toBe("new\n");
  const buffer = (_: Place, reads: number) => (reads === 1 ? "one\ntwo\n" : "one\ntwo\nof the user\n");
  const changed = await play([read(), shell("rm a.txt"), create("new\n")], buffer);
  expect(changed).toMatchObject({ disk: undefined, saved: [] });
  expect(changed.results[2]).toContain("the editor holds text of that name. Nothing was written");
});

test("the disk changes while the editor answers: what is there then counts", async () => {
  const buffer = ({ path }: Place, reads: number) => {
    if (reads === 2) rmSync(path);
    return "one\nunsaved\n";
  };
  const { saved, disk } = await play([read(), edit("unsaved", "agreed")], buffer);
  expect({ saved, disk }).toEqual({ saved: [], disk: undefined });
});

test.each([
  ["the edit", []],
  ["a later read that saw it", [read()]],
])("undone in the editor after %s: the undo is the user's", async (_what, between) => {
  let held = "one\ntwo\n";
  const saved: string[] = [];
  const ask = [edit("two", "TWO"), ...between, read(), edit("one", "ONE")];
  await using editor = await openEditor({
    files: { "a.txt": held },
    script: [
      ...ask.slice(0, -2).map((call) => ({ calls: [call] })),
      { text: "done" },
      ...ask.slice(-2).map((call) => ({ calls: [call] })),
      { text: "done" },
    ],
    readText: () => held,
    writeText: (path, content) => {
      saved.push(content);
      writeFileSync(path, content);
      held = content;
    },
  });
  const session = await editor.open();
  await editor.prompt(session, "go");
  expect(held).toBe("one\nTWO\n");
  held = "one\ntwo\n";
  await editor.prompt(session, "go on");
  expect(held).toBe("ONE\ntwo\n");
  expect(readFileSync(editor.place.at("a.txt"), "utf8")).toBe("ONE\ntwo\n");
  expect(saved).toEqual(["one\nTWO\n", "one\ntwo\n", "ONE\ntwo\n"]);
});

test("another session of the same editor knows what was written: what the user types on is unsaved", async () => {
  let held = "one\ntwo\n";
  await using editor = await openEditor({
    files: { "a.txt": held },
    script: [
      { calls: [read()] },
      { text: "first" },
      { calls: [edit("two", "TWO")] },
      { text: "second" },
      { calls: [edit("one", "ONE")] },
      { text: "first again" },
    ],
    readText: () => held,
    writeText: (path, content) => {
      writeFileSync(path, content);
      held = content;
    },
  });
  const first = await editor.open();
  const second = await editor.open();
  await editor.prompt(first, "look");
  await editor.prompt(second, "edit");
  held += "typed\n";
  await editor.prompt(first, "edit, too");
  expect(readFileSync(editor.place.at("a.txt"), "utf8")).toBe("ONE\nTWO\ntyped\n");
});

test.each([
  ["line ends", "one\r\ntwo\r\n", "one\ntwo\nthree\n", (text: string) => text.replaceAll(/\r?\n/g, "\r\n")],
  ["a byte order mark", "\ufeffone\n", "one\nthree\n", (text: string) => `\ufeff${text.replace(/^\ufeff/, "")}`],
  ["a last line end", "one\n", "one\nthree", (text: string) => text.replace(/\n*$/, "\n")],
])("an editor that puts back %s as it saves: what was read may be replaced, twice", async (_what, before, buffer, save) => {
  const replace = (content: string): Call => ({
    name: "write_patch",
    arguments: { patches: [{ op: "replace", path: "a.txt", content }] },
  });
  let written: string | undefined;
  const { results, disk } = await play(
    [read(), replace("new\n"), replace("newer\n")],
    () => written?.replace(/^\ufeff/, "").replaceAll("\r\n", "\n") ?? buffer,
    before,
    (content) => {
      written = save(content);
      return written;
    },
  );
  expect(results[2]).toMatch(/^replaced a\.txt/);
  expect(disk).toBe(save("newer\n"));
});

test("what is remembered has a bound, and what was forgotten is nobody's", () => {
  const texts = new SeenTexts();
  texts.begin(100);
  const disk = (text: string, changedMs = 0) => ({ exists: true, text, changedMs });
  texts.saw("/a", "old");
  for (let n = 0; n < 2500; n++) texts.saw(`/f${n}`, "x");
  expect(texts.judge("/a", "old", disk("new"))).toBe("unsaved");
  expect(texts.judge("/b", "old", disk("new", 200))).toBe("conflict");
  for (let n = 0; n < 100; n++) texts.saw("/c", `text ${n}`);
  expect(texts.judge("/c", "text 99", disk("new", 200))).toBe("stale");
  const undone = new SeenTexts();
  undone.saw("/e", "A");
  undone.took("/e", "B", disk("B", 7), { held: "B", before: "A" });
  expect(undone.judge("/e", "A", disk("B", 7))).toBe("unsaved");
  // The disk may have been A again meanwhile, and the editor slow.
  undone.took("/e", "B", disk("B", 7), { held: "B", before: "A" });
  expect(undone.judge("/e", "A", disk("B", 8))).toBe("conflict");
  expect(texts.judge("/d", "", { exists: false, text: undefined, changedMs: 0 })).toBe("same");
});
