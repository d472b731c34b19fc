import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { whyKept } from "../../src/base/kept-files.ts";
import { tempDir } from "../support/temp.ts";

test("the file that would complete a git directory is kept, whichever comes last", async () => {
  const parts = { HEAD: "HEAD", objects: "objects/pack/x", refs: "refs/heads/x" };
  for (const [last, path] of Object.entries(parts)) {
    const others = Object.entries(parts).filter(([name]) => name !== last);
    await using dir = await tempDir(Object.fromEntries(others.map(([, file]) => [`deep/r/${file}`, ""])));
    expect([path, whyKept(dir.path, `deep/r/${path}`)]).toEqual([path, expect.stringContaining("git's own files")]);
    for (const other of ["config", "hooks/x", `sub/${path}`, `${last}.txt`])
      expect([other, whyKept(dir.path, `deep/r/${other}`)]).toEqual([other, undefined]);
    expect(whyKept(dir.path, last)).toBeUndefined();
  }
});

test("so is one whose HEAD is a link that leads nowhere, and what shares another repository", async () => {
  await using dir = await tempDir({ "w/commondir": "../r\n", "r/refs/x": "" });
  expect(whyKept(dir.path, "w/HEAD")).toBeDefined();
  expect(whyKept(dir.path, "w/index")).toBeUndefined();
  symlinkSync("refs/heads/none", dir.at("r/HEAD"));
  expect(whyKept(dir.path, "r/config")).toBeUndefined();
  mkdirSync(dir.at("r/objects"));
  expect(whyKept(dir.path, "r/config")).toBeDefined();
  expect(whyKept(dir.path, "new/r/objects/x")).toBeUndefined();
  expect(whyKept(dir.path, ".GIT/config")).toBeDefined();
});
