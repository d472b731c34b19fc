/** What a tester did to searches and reads with paths and trees that nobody expects, each as it showed in the compiled program. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { symlinkSync, truncateSync } from "node:fs";
import { nobody } from "../support/launch.ts";
import { startModel, type TestModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { giveTo, tempDir } from "../support/temp.ts";

const call = (name: string, args: Record<string, unknown>) => ({ name, arguments: args });

/** What the model was told about the calls of its first answer. */
function results(model: TestModel): string[] {
  const messages: { role: string; content: string }[] = model.server.requests[1]?.body.messages ?? [];
  return messages.filter(({ role }) => role === "tool").map(({ content }) => content);
}

test("a search in a path below a file, or in one longer than any, ended the run with exit 70", async () => {
  await using dir = await tempDir({ "README.md": "x\n" });
  const calls = ["README.md/x", "x/".repeat(3000)].flatMap((path) => [
    call("search_text", { pattern: "x", path }),
    call("find_files", { pattern: "x", path }),
    call("list_searchable_files", { path }),
  ]);
  await using model = await startModel([{ calls }, { text: "done" }]);
  const result = await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  expect(results(model).map((text) => text.includes("does not exist"))).toEqual(calls.map(() => true));
});

test("a --skill-dir below a file, too", async () => {
  await using dir = await tempDir({ "README.md": "x\n" });
  await using model = await startModel([]);
  const args = ["-p", "x", "--skill-dir", "README.md/x"];
  const result = await runThndrs({ args, cwd: dir.path, env: model.env });
  expect(result.code).toBe(2);
  expect(result.stderr).toContain("--skill-dir README.md/x: there is no such directory");
});

test.skipIf(process.platform !== "linux")(
  "a directory without search permission, and links called .git, did so, too",
  async () => {
    await using dir = await tempDir({ "d/a": "needle\n", "e/a": "needle\n", "f/a": "needle\n" });
    giveTo(dir.path, nobody);
    symlinkSync(".git", dir.at("e/.git"));
    symlinkSync("a/b", dir.at("f/.git"));
    const calls = [
      call("run_shell", { argv: ["chmod", "444", "d"] }),
      call("find_files", { pattern: "a*" }),
      call("search_text", { pattern: "needle" }),
      call("list_searchable_files", {}),
      call("run_shell", { argv: ["chmod", "755", "d"] }),
    ];
    await using model = await startModel([{ calls }, { text: "done" }]);
    const result = await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env, user: "nobody" });
    expect(result).toMatchObject({ code: 0, stdout: "done\n" });
    for (const text of results(model).slice(1, 4)) expect(text).toContain("e/a");
  },
);

test.skipIf(process.platform !== "linux")(
  "a .gitignore that is a link to /dev/zero filled the memory and hid everything",
  async () => {
    await using dir = await tempDir({ "a/a.txt": "needle\n", "d/d.txt": "needle\n", ".git/HEAD": "" });
    symlinkSync("/dev/zero", dir.at("d/.gitignore"));
    const calls = [
      call("search_text", { pattern: "needle" }),
      call("find_files", { pattern: "*.txt" }),
      call("list_searchable_files", {}),
    ];
    await using model = await startModel([{ calls }, { text: "done" }]);
    const result = await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env, timeoutMs: 30_000 });
    expect(result).toMatchObject({ code: 0, leftovers: [] });
    const [found, ...listed] = results(model);
    expect(found).toStartWith("a/a.txt:1:needle\nd/d.txt:1:needle");
    expect(listed).toEqual(["a/a.txt\nd/d.txt", "a/a.txt\nd/d.txt"]);
  },
  40_000,
);

test("files in [slug] were not found by a glob; a glob that finds nothing says nothing", async () => {
  await using dir = await tempDir({ "app/[slug]/page.tsx": "needle\n" });
  const glob = "app/[slug]/*.tsx";
  const calls = [
    call("find_files", { pattern: glob }),
    call("list_searchable_files", { glob }),
    call("search_text", { pattern: "needle", glob }),
    call("find_files", { pattern: "*.ts,*.tsx" }),
  ];
  await using model = await startModel([{ calls }, { text: "done" }]);
  expect((await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env })).code).toBe(0);
  const [found, listed, matched, several] = results(model);
  expect([found, listed]).toEqual(["app/[slug]/page.tsx", "app/[slug]/page.tsx"]);
  expect(matched).toStartWith("app/[slug]/page.tsx:1:needle");
  expect(several).toContain("several are written {*.ts,*.tsx}");
});

test("five lines of a log waited for all of it to be counted", async () => {
  await using dir = await tempDir({ "big.log": "a line\n".repeat(5000) });
  truncateSync(dir.at("big.log"), 100_000_000_000);
  await using model = await startModel([
    { calls: [call("read_file_range", { path: "big.log", start_line: 1, end_line: 5 })] },
    { text: "done" },
  ]);
  expect((await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env })).code).toBe(0);
  expect(results(model)[0]).toStartWith("big.log (lines 1-5 of at least 5001, no hash");
  spawnSync("rm", [dir.at("big.log")]);
});
