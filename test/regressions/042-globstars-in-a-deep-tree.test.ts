/**
 * A rule of several globstars in a deep tree held up the whole program, from its start on: the regular expression made of it tried
 * every way to lay them.
 */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { IgnoreTree } from "../../src/base/ignore-rules.ts";
import { listFiles } from "../../src/tools/listing.ts";
import { tempDir } from "../support/temp.ts";

const RULE = `${"**/a/".repeat(12)}b`;

test("it takes as long as there are names", async () => {
  const deep = "a/".repeat(300);
  await using ws = await tempDir({ ".git/HEAD": "", ".gitignore": `${RULE}\n!**/a/**/a/keep/**\n` });
  mkdirSync(join(ws.path, deep), { recursive: true });
  for (const name of ["b", "c", "keep"]) writeFileSync(join(ws.path, deep, name), "");
  const began = performance.now();
  const paths: string[] = [];
  const request = { root: ws.path, base: "", includeHidden: false, includeIgnored: false, signal: new AbortController().signal };
  const outcome = await listFiles({ fd: undefined, rg: undefined, find: undefined }, [], request, (more) => paths.push(...more));
  expect(outcome).toMatchObject({ engine: "built-in", end: "complete" });
  expect(paths).toEqual([`${deep}c`, `${deep}keep`]);
  expect(new IgnoreTree(ws.path).ignores(`${deep}b`)).toBe(true);
  // The old way took longer than anybody would wait.
  expect(performance.now() - began).toBeLessThan(10_000);
});
