import { expect, test } from "bun:test";
import { readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { growOwnFile } from "../../src/base/file-append.ts";
import { tempDir } from "../support/temp.ts";

test("a growing file: nothing before the first piece, then anew with its mode, then appended to", async () => {
  await using dir = await tempDir({ "it.jsonl": "old\n" });
  const path = dir.at("it.jsonl");
  const file = growOwnFile(path, 0o600);
  expect(readFileSync(path, "utf8")).toBe("old\n");
  expect(await file.append("one\n")).toEqual({ ok: true });
  expect(readFileSync(path, "utf8")).toBe("one\n");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await file.append("zwei ö\n")).toEqual({ ok: true });
  expect(await file.append("three\n")).toEqual({ ok: true });
  expect(readFileSync(path, "utf8")).toBe("one\nzwei ö\nthree\n");
});

test("directories that are missing are made; a link is kept and its target grows", async () => {
  await using dir = await tempDir({ "real.jsonl": "old\n" });
  const below = growOwnFile(dir.at("a/b/it.jsonl"), 0o644);
  expect(await below.append("x\n")).toEqual({ ok: true });
  expect(statSync(dir.at("a/b")).mode & 0o777).toBe(0o700);
  symlinkSync(dir.at("real.jsonl"), dir.at("link.jsonl"));
  const linked = growOwnFile(dir.at("link.jsonl"), 0o644);
  await linked.append("one\n");
  await linked.append("two\n");
  expect(readFileSync(dir.at("real.jsonl"), "utf8")).toBe("one\ntwo\n");
});

test("what somebody else did to the file in between is left alone; nothing is written after a gap", async () => {
  const changes: readonly [string, (path: string) => void, string][] = [
    ["removed", (path) => rmSync(path), "missing"],
    ["written to", (path) => writeFileSync(path, "mine\n"), "changed"],
    [
      "replaced",
      (path) => {
        writeFileSync(`${path}.new`, "mine\n");
        renameSync(`${path}.new`, path);
      },
      "changed",
    ],
    [
      "replaced by a link",
      (path) => {
        renameSync(path, `${path}.moved`);
        symlinkSync(`${path}.moved`, path);
      },
      "escaped",
    ],
  ];
  for (const [what, change, reason] of changes) {
    await using dir = await tempDir();
    const path = dir.at("it.jsonl");
    const file = growOwnFile(path, 0o600);
    await file.append("one\n");
    change(path);
    const before = what === "removed" ? undefined : readFileSync(path, "utf8");
    expect(await file.append("two\n")).toMatchObject({ ok: false, reason });
    if (before === undefined) writeFileSync(path, "one\n");
    else expect(readFileSync(path, "utf8")).toBe(before);
    // Also where the file would fit again.
    expect(await file.append("three\n")).toMatchObject({ ok: false, reason });
  }
});

test("a place that cannot be written is a failure of the first piece", async () => {
  await using dir = await tempDir({ file: "" });
  expect(await growOwnFile(dir.at("file/below"), 0o600).append("x")).toMatchObject({ ok: false });
  expect(await growOwnFile("/dev/null", 0o600).append("x")).toMatchObject({ ok: false, reason: "not_regular" });
});
