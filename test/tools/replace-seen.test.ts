/** A whole file is not replaced over what somebody wrote since the model saw it. */
import { expect, test } from "bun:test";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { replaceRange } from "../../src/tools/edit.ts";
import { readFileRange } from "../../src/tools/read.ts";
import { createSeenFiles } from "../../src/tools/seen-files.ts";
import { createFileTool, writePatch } from "../../src/tools/write.ts";
import { tempDir } from "../support/temp.ts";
import { type FileTools, fileTools } from "./file-context.ts";

const replace = (tools: FileTools, content: string, more: { expected_before_hash?: string } = {}, path = "f.txt") =>
  tools.run(writePatch, { patches: [{ op: "replace", path, content, ...more }] });
const REFUSED = /has changed since you last read or wrote it.* Read the file again/s;

test("read, changed by the user: refused until it is read again", async () => {
  await using dir = await tempDir({ "f.txt": "one\ntwo\n" });
  const tools = await fileTools(dir.path);
  await tools.run(readFileRange, { path: "f.txt", end_line: 1 });
  appendFileSync(dir.at("f.txt"), "mine\n");
  const refused = await replace(tools, "one\nTWO\n");
  expect(refused.status).toBe("failed");
  expect(refused.text).toMatch(REFUSED);
  expect(await dir.read("f.txt")).toBe("one\ntwo\nmine\n");
  await tools.run(readFileRange, { path: "./f.txt" });
  expect(await replace(tools, "one\nTWO\nmine\n")).toMatchObject({ status: "ok" });
  expect(await replace(tools, "one\n")).toMatchObject({ status: "ok" });
});

test("written by us, changed by the user: refused; an edit of another place makes that no better", async () => {
  await using dir = await tempDir();
  const tools = await fileTools(dir.path);
  await tools.run(createFileTool, { path: "f.txt", content: "one\ntwo\n" });
  expect(await replace(tools, "one\n2\n")).toMatchObject({ status: "ok" });
  appendFileSync(dir.at("f.txt"), "mine\n");
  expect((await replace(tools, "1\n2\n")).text).toMatch(REFUSED);
  const edit = { path: "f.txt", old_string: "one", new_string: "1" };
  expect(await tools.run(replaceRange, edit)).toMatchObject({ status: "ok" });
  expect((await replace(tools, "1\n2\n")).text).toMatch(REFUSED);
  expect(await dir.read("f.txt")).toBe("1\n2\nmine\n");
});

test("a hash that holds is enough; a file never seen and one that is gone are replaced as before", async () => {
  await using dir = await tempDir({ "f.txt": "one\n", "never.txt": "x\n" });
  const tools = await fileTools(dir.path);
  await tools.run(readFileRange, { path: "f.txt" });
  writeFileSync(dir.at("f.txt"), "two\n");
  const hash = `xxh64:${Bun.hash.xxHash64("two\n").toString(16).padStart(16, "0")}`;
  expect(await replace(tools, "three\n", { expected_before_hash: hash })).toMatchObject({ status: "ok" });
  expect(await replace(tools, "y\n", {}, "never.txt")).toMatchObject({ status: "ok" });
  rmSync(dir.at("f.txt"));
  expect(await replace(tools, "four\n")).toMatchObject({ status: "ok" });
});

test("a conversation that goes on remembers what its results said", async () => {
  await using dir = await tempDir({ "f.txt": "one\n", 'g "1".txt': "g\n", "empty.txt": "" });
  const before = await fileTools(dir.path);
  const paths = ["f.txt", 'g "1".txt', "empty.txt"];
  const results: string[] = [];
  for (const path of paths) results.push((await before.run(readFileRange, { path })).text);
  results.push((await replace(before, "two\n")).text);
  const resumed = async () =>
    fileTools(
      dir.path,
      undefined,
      createSeenFiles(() => results),
    );
  expect(await replace(await resumed(), "three\n")).toMatchObject({ status: "ok" });
  for (const path of paths) {
    appendFileSync(dir.at(path), "mine\n");
    expect((await replace(await resumed(), "four\n", {}, path)).text).toMatch(REFUSED);
  }
});

test("what we made in the place of a file that was there is known; what a failed look did not show is not", async () => {
  await using dir = await tempDir({ "f.txt": "one\n" });
  const tools = await fileTools(dir.path);
  await tools.run(readFileRange, { path: "f.txt" });
  rmSync(dir.at("f.txt"));
  await tools.run(createFileTool, { path: "f.txt", content: "two\n" });
  expect(await replace(tools, "three\n")).toMatchObject({ status: "ok" });
  appendFileSync(dir.at("f.txt"), "mine\n");
  expect(await tools.run(readFileRange, { path: "f.txt", start_line: 50 })).toMatchObject({ status: "failed" });
  expect((await replace(tools, "four\n")).text).toMatch(REFUSED);
});

test("an edit over unseen changes says so, and a conversation that goes on knows it", async () => {
  await using dir = await tempDir({ "f.txt": "one\ntwo\n" });
  const tools = await fileTools(dir.path);
  const results = [(await tools.run(readFileRange, { path: "f.txt" })).text];
  appendFileSync(dir.at("f.txt"), "mine\n");
  const edited = await tools.run(replaceRange, { path: "f.txt", old_string: "one", new_string: "1" });
  expect(edited.text).toContain("The file had changed since you last saw it");
  results.push(edited.text);
  const resumed = await fileTools(
    dir.path,
    undefined,
    createSeenFiles(() => results),
  );
  expect((await replace(resumed, "1\n")).text).toMatch(REFUSED);
  expect((await replace(tools, "1\n")).text).toMatch(REFUSED);
});
