/** find_files and list_searchable_files: cases S01, S10–S12, T03 and what their results say. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MAX_RESULT_BYTES, MAX_RESULTS, MAX_RESULTS_CEILING } from "../../src/tools/bounds.ts";
import { type Files, giveTo, type TempDir, tempDir } from "../support/temp.ts";
import { freshWorkspace, installed, pathOf, type Searching, searching } from "./search-place.ts";

// Many small processes and files: on a busy machine slower than the default allows.
setDefaultTimeout(30_000);

let place: TempDir;
/** PATH values that leave only one engine. */
const paths: Record<string, string> = {};
beforeAll(async () => {
  place = await tempDir();
  paths.fd = pathOf(place.at("bin-fd"), { fd: installed.fd });
  paths.fdfind = pathOf(place.at("bin-fdfind"), { fdfind: installed.fd });
  paths.find = pathOf(place.at("bin-find"), { find: installed.find });
  paths.none = "/nonexistent";
});
afterAll(() => place.remove());

const workspace = (files: Files): Promise<string> => freshWorkspace(place, files);

async function eachEngine(root: string, run: (tools: Searching, engine: string) => Promise<void>): Promise<void> {
  for (const [engine, PATH] of Object.entries(paths)) await run(await searching(root, { PATH }), engine);
}

test("S10 the same files in the same order from fd, fdfind, find and none of them", async () => {
  const root = await workspace({ ".hidden/a.ts": "", "b.ts": "", "sub/c.ts": "", ".git/HEAD": "" });
  await eachEngine(root, async ({ find, list }) => {
    expect((await find({ pattern: "*.ts" })).text).toBe("b.ts\nsub/c.ts");
    expect((await find({ pattern: "*.ts", include_hidden: true })).text).toBe(".hidden/a.ts\nb.ts\nsub/c.ts");
    expect((await list({})).text).toBe("b.ts\nsub/c.ts");
    expect((await list({ path: ".hidden" })).text).toBe(".hidden/a.ts");
  });
});

test("S01 a pattern or directory that begins with a dash is a name", async () => {
  const root = await workspace({ "-delete": "", "-x/a": "", keep: "", ".git/HEAD": "" });
  await eachEngine(root, async ({ find, list }) => {
    expect((await find({ pattern: "-delete" })).text).toBe("-delete");
    expect((await find({ pattern: "-exec*" })).text).toStartWith("No files found");
    expect((await list({ path: "-x" })).text).toBe("-x/a");
  });
  expect(existsSync(join(root, "keep"))).toBe(true);
});

test("S11 without fd and rg: heavy trees, a loop, the cap said", async () => {
  const root = await workspace({ "src/a.ts": "" });
  symlinkSync(".", join(root, "loop"));
  mkdirSync(join(root, "node_modules"));
  for (let index = 0; index < 50_000; index++) writeFileSync(join(root, `node_modules/f${index}.ts`), "");
  for (const engine of ["find", "none"]) {
    const { find } = await searching(root, { PATH: paths[engine] });
    const began = performance.now();
    const result = await find({ pattern: "*.ts" });
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(result.text.split("\n")).toHaveLength(MAX_RESULTS + 1);
    expect(result.text).toContain("[first 100 of 50,001 files shown: limit reached; raise limit (at most 1000) or narrow");
    expect(result.truncated).toBe(true);
    expect(result.text).not.toContain("loop");
    expect((await find({ pattern: "*.ts", limit: 4000 })).text.split("\n")).toHaveLength(MAX_RESULTS_CEILING + 1);
    const sources = await find({ pattern: "*.ts", path: "src" });
    expect([sources.text, sources.truncated]).toEqual(["src/a.ts", false]);
  }
}, 30_000);

test("S12 a file that is there but left out gets the reason", async () => {
  const root = await workspace({
    ".git/HEAD": "",
    ".gitignore": "dist/\n",
    "dist/app.js": "",
    "src/dist/app.js.map": "",
    ".env": "",
    "a.ts": "",
    "src/deep/b.ts": "",
  });
  symlinkSync("a.ts", join(root, "link.ts"));
  await eachEngine(root, async ({ find }) => {
    const text = async (input: Record<string, unknown>) => (await find(input)).text;
    expect(await text({ pattern: "dist/app.js" })).toBe("[dist/app.js exists, but is ignored; read it by path]");
    expect(await text({ pattern: "app.js", path: "dist" })).toBe("dist/app.js");
    expect(await text({ pattern: ".env" })).toBe("[.env exists, but is hidden; read it by path]");
    expect(await text({ pattern: ".env", include_hidden: true })).toBe(".env");
    expect(await text({ pattern: "link.ts" })).toBe("[link.ts exists, but is or lies behind a link; read it by path]");
    expect(await text({ pattern: "a.ts", extensions: ["js"] })).toBe("[a.ts exists, but glob or extensions leave it out]");
    expect(await text({ pattern: "src", extensions: ["md"] })).toBe(
      "[src exists, but is a directory; give it as path to list its files]",
    );
    expect(await text({ pattern: "deep/b.ts", path: "src" })).toBe("src/deep/b.ts");
    expect(await text({ pattern: "dist/app.js", include_ignored: true })).toBe("dist/app.js\nsrc/dist/app.js.map");
    expect(await text({ pattern: "nowhere.ts" })).toBe(
      "No files found in the workspace. Hidden and ignored files are not listed.",
    );
  });
});

test("patterns: glob on the name or the path, else a smart-case part of the path", async () => {
  const root = await workspace({
    ".git/HEAD": "",
    "src/App.ts": "",
    "src/ui/app.tsx": "",
    "src/ui/[id].tsx": "",
    "docs/App/x.md": "",
    "lib/z.d.ts": "",
  });
  await eachEngine(root, async ({ find }) => {
    const found = async (input: Record<string, unknown>) => (await find(input)).text.split("\n");
    expect(await found({ pattern: "app" })).toEqual(["docs/App/x.md", "src/App.ts", "src/ui/app.tsx"]);
    expect(await found({ pattern: "App" })).toEqual(["docs/App/x.md", "src/App.ts"]);
    expect(await found({ pattern: "ui/" })).toEqual(["src/ui/[id].tsx", "src/ui/app.tsx"]);
    expect(await found({ pattern: "*.{ts,md}" })).toEqual(["docs/App/x.md", "lib/z.d.ts", "src/App.ts"]);
    expect(await found({ pattern: "src/*.ts" })).toEqual(["src/App.ts"]);
    expect(await found({ pattern: "src/**/*.tsx" })).toEqual(["src/ui/[id].tsx", "src/ui/app.tsx"]);
    expect(await found({ pattern: "ui/*", path: "src" })).toEqual(["src/ui/[id].tsx", "src/ui/app.tsx"]);
    expect(await found({ pattern: "[id].tsx" })).toEqual(["src/ui/[id].tsx"]);
    expect(await found({ pattern: join(root, "src/*.ts") })).toEqual(["src/App.ts"]);
    expect(await found({ pattern: join(root, "lib/z.d.ts") })).toEqual(["lib/z.d.ts"]);
    expect(await found({ pattern: "", path: "src/*" })).toEqual([
      "src/* does not exist. path is no pattern: use glob for that. Leave path out to look everywhere.",
    ]);
    expect(await found({ pattern: "?pp.*" })).toEqual(["src/App.ts", "src/ui/app.tsx"]);
    expect(await found({ pattern: "", extensions: [".ts"], glob: "!*.d.ts" })).toEqual(["src/App.ts"]);
    expect(await found({ pattern: "*", max_depth: 2, extensions: ["ts", "tsx"] })).toEqual(["lib/z.d.ts", "src/App.ts"]);
  });
});

test("T03 an odd name is one line, shown as JSON", async () => {
  const name = "x\x1b[31my\nz";
  const root = await workspace({ [name]: "", ".git/HEAD": "" });
  await eachEngine(root, async ({ find }) => {
    expect((await find({ pattern: "*" })).text).toBe(String.raw`"x\u001b[31my\nz"`);
    expect((await find({ pattern: name })).text).toBe(String.raw`"x\u001b[31my\nz"`);
  });
});

test("names that are not UTF-8 are shown, lossily, by every engine alike", async () => {
  const root = await workspace({ ".git/HEAD": "", "a.ts": "" });
  writeFileSync(Buffer.concat([Buffer.from(`${root}/caf`), Buffer.from([0xe9]), Buffer.from(".ts")]), "");
  await eachEngine(root, async ({ find }) => {
    expect((await find({ pattern: "*.ts" })).text).toBe("a.ts\ncaf\ufffd.ts");
  });
});

test("unreadable directories are said (non-root)", async () => {
  const root = await workspace({ "a.ts": "", "locked/b.ts": "", ".git/HEAD": "" });
  chmodSync(place.path, 0o755);
  giveTo(root, 65534);
  spawnSync("chmod", ["000", join(root, "locked")]);
  for (const path of Object.values(paths)) {
    const drop = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    const child = [
      process.execPath,
      join(import.meta.dir, "search-place.ts"),
      root,
      path,
      "find",
      JSON.stringify({ pattern: "*.ts" }),
    ];
    const done = spawnSync("setpriv", [...drop, ...child], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, HOME: place.path },
    });
    const result = JSON.parse(done.stdout || JSON.stringify({ text: done.stderr }));
    expect(result.text).toMatch(/^a\.ts\n\[1 path could not be listed: .*locked.*\]$/);
    expect(result.status).toBe("ok");
  }
  spawnSync("chmod", ["755", join(root, "locked")]);
});

test("the byte cap is said", async () => {
  const long = Array.from({ length: 400 }, (_, index) => [
    `${"d".repeat(200)}/${String(index).padStart(4, "0")}${"f".repeat(190)}`,
    "",
  ]);
  const root = await workspace(Object.fromEntries(long));
  await eachEngine(root, async ({ list }) => {
    const result = await list({ limit: 400 });
    expect(Buffer.byteLength(result.text)).toBeLessThanOrEqual(MAX_RESULT_BYTES);
    expect(result.truncated).toBe(true);
    expect(result.text).toMatch(/\[cut at 64 KiB: \d+ of 400 files; narrow pattern, path or glob\]$/);
  });
});

test("paths that are not directories of the workspace are failures; the path is touched", async () => {
  const root = await workspace({ a: "", "sub/b": "" });
  const { find, list } = await searching(root);
  for (const path of ["..", "/etc", "gone", "a", "~"]) expect((await list({ path })).status).toBe("failed");
  const { touched } = await find({ pattern: "b", path: "sub" });
  expect(touched).toEqual([{ path: join(root, "sub"), kind: "search" }]);
  const cancelled = await searching(root, { PATH: paths.fd }, AbortSignal.abort());
  expect((await cancelled.find({ pattern: "b" })).status).toBe("cancelled");
  const walked = await searching(root, { PATH: paths.none }, AbortSignal.abort());
  expect((await walked.find({ pattern: "b" })).status).toBe("cancelled");
});

test("a link that is followed leads to nothing that the policy closes", async () => {
  const root = await workspace({ "open/a": "", "closed/b": "" });
  symlinkSync("../closed", join(root, "open/link"));
  const { find } = await searching(root, { PATH: paths.none }, undefined, (path) => path.startsWith("closed/"));
  expect((await find({ pattern: "*", path: "open", follow_symlinks: true })).text).toStartWith("open/a\n[files");
});
