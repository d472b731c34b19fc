/** Search and listing while a directory is replaced by a link that leads out of the workspace. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ListEngine, listFiles } from "../../src/tools/listing.ts";
import { searchFiles } from "../../src/tools/search.ts";
import { searchBuiltIn } from "../../src/tools/search-builtin.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { installed, searching, searchRequest } from "./search-place.ts";

// Many small processes: on a busy machine slower than the default allows.
setDefaultTimeout(30_000);

let dir: TempDir;
let root = "";
beforeEach(async () => {
  dir = await tempDir({ "ws/d/a": "needle inside\n", "ws/b": "needle b\n", "out/a": "needle OUTSIDE\n", "bin/x": "" });
  root = dir.at("ws");
});
afterEach(() => dir.remove());

function swap(): void {
  renameSync(join(root, "d"), join(root, "d.real"));
  symlinkSync("../out", join(root, "d"));
}

/** A program that swaps the directory and then prints what an engine that went through the link would. */
function engine(name: string, output: string): string {
  const script = `#!/bin/sh\nmv '${root}/d' '${root}/d.real'\nln -s ../out '${root}/d'\nprintf '${output}'\n`;
  writeFileSync(dir.at("bin", name), script);
  chmodSync(dir.at("bin", name), 0o755);
  return dir.at("bin", name);
}

test("a directory that became a link after it was proved is not searched", async () => {
  swap();
  for (const rg of [installed.rg, undefined]) {
    const outcome = await searchFiles({ ...searchRequest(root, "needle"), base: "d" }, rg);
    expect(outcome).toMatchObject({ ok: true, files: [], unreadable: 1 });
    const file = await searchFiles({ ...searchRequest(root, "needle"), base: "d/a", baseIsFile: true }, rg);
    expect(file).toMatchObject({ ok: true, files: [], unreadable: 1 });
  }
});

test("nor listed, by any engine", async () => {
  swap();
  const request = { root, base: "d", includeHidden: false, includeIgnored: false, signal: new AbortController().signal };
  for (const name of ["fd", "rg", "find", "built-in"] satisfies ListEngine[]) {
    const paths: string[] = [];
    const outcome = await listFiles(installed, [name], request, (found) => void paths.push(...found));
    expect([name, paths, outcome.unreadable]).toEqual([name, [], 1]);
  }
});

test("what an engine found behind a link that came while it ran is left out, and the result says so", async () => {
  const record = (path: string, text: string) =>
    [
      { type: "begin", data: { path: { text: path } } },
      { type: "match", data: { path: { text: path }, lines: { text }, line_number: 1, submatches: [{ start: 0, end: 6 }] } },
      { type: "end", data: { path: { text: path }, binary_offset: null } },
    ].map((one) => `${JSON.stringify(one)}\\n`);
  const printed = [...record("./d/a", "needle OUTSIDE"), ...record("./b", "needle b"), '{"type":"summary","data":{}}\\n'];
  const outcome = await searchFiles(searchRequest(root, "needle"), engine("rg", printed.join("")));
  expect(outcome).toMatchObject({ ok: true, engine: "rg", unreadable: 1, firstProblem: expect.stringContaining("d/a: moved") });
  expect(outcome.ok && outcome.files.map(({ path }) => path)).toEqual(["b"]);
});

test("so is what a listing found there", async () => {
  engine("fd", "./b\\0./d/a\\0./d/secret-name\\0");
  const { find } = await searching(root, { PATH: `${dir.at("bin")}:/usr/bin:/bin` });
  expect((await find({ pattern: "*" })).text).toBe("b\n[2 left out: moved or replaced by a link meanwhile]");
});

test.skipIf(process.platform !== "linux")(
  "the built-in engine never reads outside while directory and link are swapped",
  async () => {
    symlinkSync("../out", join(root, "link"));
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "../base/swap-child.ts"), root], { stdout: "pipe" });
    try {
      await child.stdout.getReader().read();
      for (let round = 0; round < 300; round++) {
        const outcome = await searchBuiltIn(searchRequest(root, "needle"));
        expect(JSON.stringify(outcome)).not.toContain("OUTSIDE");
      }
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
  },
);
