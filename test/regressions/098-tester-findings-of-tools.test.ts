/** What a tester found out about the tools, each as it showed in the compiled program. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { startModel, type TestModel } from "../support/model.ts";
import { runningWith } from "../support/processes.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

type Call = { readonly name: string; readonly arguments: Record<string, unknown> | string };

const call = (name: string, args: Call["arguments"]): Call => ({ name, arguments: args });

/** What the model was told about the calls of its `turn`th answer. */
function results(model: TestModel, turn = 1): string[] {
  const messages: { role: string; content: string }[] = model.server.requests[turn]?.body.messages ?? [];
  return messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1).map(({ content }) => content);
}

test("a blank in a word opened a directory called `git status` to every program; a search without a path was about its pattern", async () => {
  await using dir = await tempDir({ "src/a": "x\n", "private/b": "SECRET\n" });
  await using model = await startModel([
    {
      calls: [
        call("create_file", { path: "git status/x", content: "" }),
        call("run_shell", { argv: ["git status/../../../../../../../bin/sh", "-c", "touch HIT"] }),
        call("search_text", { pattern: "src/|SECRET" }),
        call("search_text", { pattern: "SECRET", path: "src" }),
      ],
    },
    { text: "done" },
  ]);
  const allowed = ["run_shell(git status*)", "create_file", "search_text(src/*)"].flatMap((pattern) => ["--allow-tool", pattern]);
  expect((await runThndrs({ args: ["-p", "x", ...allowed], cwd: dir.path, env: model.env })).code).toBe(0);
  const [, shell, everywhere, below] = results(model);
  expect(shell).toContain("Not allowed here");
  expect(everywhere).toContain("Not allowed here");
  expect(below).toContain("No matches");
  expect(existsSync(dir.at("HIT"))).toBe(false);
});

test("a search from above showed what --deny-tool closes", async () => {
  await using dir = await tempDir({ "src/a": "SECRET 1\n", "private/b": "SECRET 2\n" });
  await using model = await startModel([{ calls: [call("search_text", { pattern: "SECRET" })] }, { text: "done" }]);
  const args = ["-p", "x", "--deny-tool", "search_text(private*)"];
  expect((await runThndrs({ args, cwd: dir.path, env: model.env })).code).toBe(0);
  expect(results(model)[0]).toStartWith("src/a:1:SECRET 1\n[files that the allowed and denied tools");
});

test("half a surrogate pair was written, matched and looked up as U+FFFD", async () => {
  await using dir = await tempDir({ "a.txt": "genuine \ufffd here\n" });
  const calls = [
    call("create_file", '{"path":"half.txt","content":"half \\ud800"}'),
    call("replace_range", '{"path":"a.txt","old_string":"\\ud83d","new_string":"x"}'),
    call("create_file", '{"path":"a\\ud800","content":""}'),
    call("run_shell", '{"argv":["touch","b\\ud800"]}'),
    call("create_file", '{"path":"whole.txt","content":"\\ud83c\\udf32"}'),
  ];
  await using model = await startModel([{ calls }, { text: "done" }]);
  expect((await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env })).code).toBe(0);
  const said = results(model).map((text) => text.includes("half a surrogate pair"));
  expect(said).toEqual([true, true, true, true, false]);
  expect(await dir.read("a.txt")).toBe("genuine \ufffd here\n");
  expect(await dir.read("whole.txt")).toBe("🌲");
  expect([...new Bun.Glob("*").scanSync({ cwd: dir.path })].sort()).toEqual(["a.txt", "whole.txt"]);
});

test("a git directory was written piece by piece, HEAD last", async () => {
  await using dir = await tempDir();
  const create = (path: string) => call("create_file", { path, content: path.endsWith("HEAD") ? "ref: refs/heads/x\n" : "x\n" });
  const paths = ["r/config", "r/objects/x", "r/refs/heads/x", "r/HEAD"];
  await using model = await startModel([{ calls: paths.map(create) }, { text: "done" }]);
  expect((await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env })).code).toBe(0);
  const refused = results(model).map((text) => text.includes("are not written by file tools"));
  expect(refused).toEqual([false, false, false, true]);
  expect(existsSync(dir.at("r/HEAD"))).toBe(false);
});

test.each(["json", "stream-json"])("--output-format %s named a file by the key in its name", async (format) => {
  await using dir = await tempDir();
  const token = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
  const calls = [call("create_file", { path: token, content: "" }), call("create_file", { path: "plain.txt", content: "" })];
  await using model = await startModel([{ calls }, { text: "done" }]);
  const result = await runThndrs({ args: ["-p", "x", "-v", "--output-format", format], cwd: dir.path, env: model.env });
  expect(result.code).toBe(0);
  expect([result.stdout.includes(token), result.stderr.includes(token)]).toEqual([false, false]);
  const last = JSON.parse(result.stdout.trimEnd().split("\n").at(-1) ?? "");
  expect(last.changed_files).toEqual([expect.stringContaining("redacted"), "plain.txt"]);
  expect(existsSync(dir.at(token))).toBe(true);
});

test("a search from above printed .env, key files and .git/config", async () => {
  await using dir = await tempDir({
    ".env": "KEY=s3cret\n",
    "key.pem": "s3cret\n",
    ".git/config": "s3cret\n",
    "a.txt": "s3cret\n",
  });
  const inputs = [{ include_hidden: true }, { path: ".git" }, { path: ".env" }];
  const calls = inputs.map((input) => call("search_text", { pattern: "s3cret", ...input }));
  await using model = await startModel([{ calls }, { text: "done" }]);
  expect((await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env })).code).toBe(0);
  const [all, git, exact] = results(model);
  expect(all).toStartWith("a.txt:1:s3cret\n[2 files that may hold secrets match too and are not shown");
  expect(git).toContain("[1 file that may hold secrets matches too and is not shown");
  expect(exact).toStartWith(".env:1:");
});

test.skipIf(process.platform !== "linux")("a time-out claimed to have ended an orphan that still ran", async () => {
  const orphan = (nap: number, to: string) => `(env -i setsid sleep ${nap} ${to} &)`;
  const script = (nap: number, to = "") => ["sh", "-c", `${orphan(nap, to)}; sleep 560`];
  const held = 70_000_000 + process.pid;
  const look = `for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null | grep -c "^sleep ${held}"`;
  const shell = (argv: string[]) => call("run_shell", { argv, timeout_ms: 500 });
  const calls = [shell(script(held)), shell(["sh", "-c", look]), shell(script(held + 1, "</dev/null >/dev/null 2>&1"))];
  await using dir = await tempDir();
  await using model = await startModel([{ calls }, { text: "done" }]);
  expect((await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env })).leftovers).toEqual([]);
  const [timedOut, looked, hidden] = results(model);
  expect(timedOut).toContain("the command and everything it started were ended");
  expect(looked).toMatch(/^exit 1 .*\nstdout:\n0$/);
  expect(hidden).toContain("the command and what could be found of what it started were ended");
  expect(hidden).toContain("note: 1 process that gave up session and environment may be of this command and still run");
  expect(runningWith(`sleep ${held + 1}`)).toEqual([]);
});
