/** Parsing of commands, completion, approvals, the status line: the pure parts of the REPL's words. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as approvals from "../../src/ui/approvals.ts";
import { completionTarget, matching, sharedPrefix, workspacePaths } from "../../src/ui/completion.ts";
import type { Repl } from "../../src/ui/repl.ts";
import { candidatesFor } from "../../src/ui/repl-completion.ts";
import { helpLines, parseInput, SLASH_COMMANDS, typedFor } from "../../src/ui/slash.ts";
import { menuLine, statusLine } from "../../src/ui/status.ts";
import { createStyle, fit, shortCount, shortTime, wrap } from "../../src/ui/style.ts";
import { reflowsLines, spacesMarks } from "../../src/ui/terminal-kind.ts";
import { tempDir } from "../support/temp.ts";

function say(typed: string): string {
  const parsed = parseInput(typed);
  if (parsed.kind === "text") return `text ${JSON.stringify(parsed.text)}`;
  if (parsed.kind === "unknown") return `unknown ${parsed.name} ${parsed.near ?? "-"}`;
  return `${parsed.command.name} ${JSON.stringify(parsed.words)}`;
}

const inputs: readonly (readonly [string, string])[] = [
  ["/help", "help []"],
  [":bg cancel 1", 'bg ["cancel","1"]'],
  ["/BG", "bg []"],
  ["/quit ", "quit []"],
  ["//clear now", 'text "/clear now"'],
  ["/usr/bin/env is odd", 'text "/usr/bin/env is odd"'],
  ["/tmp/x", 'text "/tmp/x"'],
  [":)", 'text ":)"'],
  ["/", 'text "/"'],
  ["/clear\nand more", 'text "/clear\\nand more"'],
  ["/modle x", "unknown modle model"],
  ["/zzzzzzzz", "unknown zzzzzzzz -"],
  ["say /help", 'text "say /help"'],
];
for (const [typed, meaning] of inputs) test(`${JSON.stringify(typed)} is ${meaning}`, () => expect(say(typed)).toBe(meaning));

test("every command is in the help, no name twice, and idle ones are marked", () => {
  const names = SLASH_COMMANDS.map((command) => command.name);
  expect(new Set(names).size).toBe(names.length);
  const help = helpLines().join("\n");
  for (const { name, when } of SLASH_COMMANDS) {
    const line = help.split("\n").find((text) => text.startsWith(`  /${name}`)) ?? "";
    expect(line.endsWith(" *")).toBe(when === "idle");
  }
  for (const name of ["help", "bg", "quit", "exit", "context", "tokens", "status", "session"])
    expect(SLASH_COMMANDS.find((command) => command.name === name)?.when).toBe("any");
});

test("the help topic names every command", () => {
  const topic = readFileSync(join(import.meta.dir, "..", "..", "src", "docs", "repl.md"), "utf8");
  expect(SLASH_COMMANDS.map(({ name }) => `/${name}`).filter((name) => !topic.includes(`\`${name}`))).toEqual([]);
});

test("completion: what stands at the cursor", () => {
  const at = (marked: string): string => {
    const cursor = marked.indexOf("|");
    const target = completionTarget(marked.replace("|", ""), cursor);
    return target ? `${target.kind} ${target.word} ${target.before.join(" ")}`.trim() : "-";
  };
  expect(at("/he|")).toBe("command he");
  expect(at(":|")).toBe("command");
  expect(at("/model open|")).toBe("argument open model");
  expect(at("/bg cancel |")).toBe("argument  bg cancel");
  expect(at("look at @src/u|i")).toBe("path src/u");
  expect(at("@|")).toBe("path");
  expect(at("mail me@home|")).toBe("-");
  expect(at("plain|")).toBe("-");
  expect(at("text /he|")).toBe("-");
  // More than one line is no command.
  expect(at("/model \nopen|")).toBe("-");
});

test("completion: behind a command's one value there is nothing to complete", async () => {
  const repl = {
    knownModels: () => ["a/b"],
    controls: {
      background: { list: () => [{ id: "bg1" }] },
      skills: { byName: () => [{ name: "tidy" }] },
      sessionDir: undefined,
      context: { pins: () => [], drops: () => [], ledger: () => ({ items: [] }) },
    },
  } as unknown as Repl;
  const offered = async (line: string): Promise<readonly string[]> => {
    const target = completionTarget(line, line.length);
    return target ? candidatesFor(repl, target, AbortSignal.abort()) : [];
  };
  expect(await offered("/model ")).toEqual(["a/b"]);
  expect(await offered("/reasoning ")).toContain("high");
  expect(await offered("/skills ")).toEqual(["tidy"]);
  expect(await offered("/bg ")).toEqual(["cancel"]);
  expect(await offered("/bg cancel ")).toEqual(["bg1"]);
  for (const { name } of SLASH_COMMANDS) {
    expect([name, await offered(`:${name} value `)]).toEqual([name, []]);
    expect([name, await offered(`:${name} value more `)]).toEqual([name, []]);
  }
  expect(await offered("/bg cancel bg1 ")).toEqual([]);
});

test("completion: beginnings before the rest, the longest shared beginning", () => {
  expect(matching(["src/", "src/ui/", "lib/src/", "src/main.ts"], "src/", 10)).toEqual(["src/ui/", "src/main.ts", "lib/src/"]);
  expect(matching(["beta", "alphabet", "Bear"], "be", 10)).toEqual(["beta", "Bear", "alphabet"]);
  expect(matching(["a", "b", "c"], "", 2)).toEqual(["a", "b"]);
  expect(sharedPrefix(["src/keyboard.ts", "src/keys.ts"], "src/k")).toBe("src/key");
  expect(sharedPrefix(["one", "two"], "x")).toBe("x");
});

test("completion: files below the directory, ignored and hidden ones left out, directories first", async () => {
  await using place = await tempDir({
    "a.ts": "",
    "src/b.ts": "",
    "src/deep/c.ts": "",
    "out/d.ts": "",
    ".hidden/e.ts": "",
    ".gitignore": "out\n",
  });
  const paths = await workspacePaths(place.path, "", new AbortController().signal);
  expect(paths).toEqual(["a.ts", "src/", "src/b.ts", "src/deep/", "src/deep/c.ts"]);
});

const shell = (...argv: string[]) => ({ argv });
const { openApprovals } = approvals;
type Allowance = approvals.Allowance;
type Input = Readonly<Record<string, unknown>>;
/** In the workspace `/here`, where the person stands, too. */
const allowanceFor = (tool: string, input: Input) => approvals.allowanceFor(tool, input, "/here");
const covers = (allowance: Allowance, tool: string, input: Input) => approvals.covers(allowance, tool, input, "/here");
const describeAllowance = (allowance: Allowance, cwd = "/here") => approvals.describeAllowance(allowance, { root: "/here", cwd });

test("approvals: what 'always' covers is what it says", () => {
  const git = allowanceFor("run_shell", shell("git", "status", "-s"));
  expect(describeAllowance(git)).toBe("git status …, only here");
  expect(covers(git, "run_shell", shell("git", "status"))).toBe(true);
  expect(covers(git, "run_shell", shell("git", "push"))).toBe(false);
  expect(covers(git, "background_process", shell("git", "status"))).toBe(false);
  // A word is a word: `git statusx` is another command.
  expect(covers(git, "run_shell", shell("git", "statusx"))).toBe(false);
  expect(covers(git, "run_shell", { argv: [] })).toBe(false);
});

test("approvals: what can run anything is allowed word for word only", () => {
  for (const argv of [
    ["sh", "-c", "echo a"],
    ["/bin/bash", "-c", "x"],
    ["python3.12", "x.py"],
    ["npm", "run", "build"],
    ["env", "A=1", "x"],
    ["sudo", "ls"],
    ["git", "-c", "core.pager=x", "log"],
    ["xargs", "rm"],
    ["rm", "a"],
    ["busybox", "sh", "-c", "x"],
    ["stdbuf", "-o0", "x"],
    ["flock", "l", "x"],
    ["unshare", "x"],
    ["strace", "-f", "x"],
    ["/usr/bin/ionice", "x"],
    ["node_modules/.bin/tsx", "x.ts"],
    ["just", "x"],
    ["systemd-run", "x"],
    ["php8.3", "x.php"],
    ["gmake-4", "x"],
    ["/lib64/ld-linux-x86-64.so.2", "/bin/sh"],
    ["rg", "--pre", "sh", "x"],
    ["uv", "run", "x"],
    ["uv", "tool", "run", "x"],
    ["npm", "t"],
    ["git", "rebase", "-x", "sh"],
    ["git", "submodule", "foreach", "x"],
  ]) {
    const allowance = allowanceFor("run_shell", shell(...argv));
    expect(allowance.exact).toBe(true);
    expect(covers(allowance, "run_shell", shell(...argv))).toBe(true);
    expect(covers(allowance, "run_shell", shell(...argv, "more"))).toBe(false);
    expect(covers(allowance, "run_shell", shell(...argv.slice(0, -1)))).toBe(false);
  }
});

test("approvals: an allowance is for the directory it was given in", () => {
  for (const argv of [["make"], ["./build.sh"], ["git", "status"], ["sh", "-c", "x"]]) {
    const inApp = allowanceFor("run_shell", { argv, cwd: "app" });
    expect(describeAllowance(inApp)).toEndWith(", only in app");
    for (const cwd of ["app", "./app/", "vendor/../app"]) expect(covers(inApp, "run_shell", { argv, cwd })).toBe(true);
    for (const cwd of ["vendor/evil", "app/deeper", "App", "."]) expect(covers(inApp, "run_shell", { argv, cwd })).toBe(false);
    expect(covers(inApp, "run_shell", { argv })).toBe(false);
    const atRoot = allowanceFor("run_shell", { argv });
    expect(describeAllowance(atRoot)).toEndWith(", only here");
    expect(covers(atRoot, "run_shell", { argv, cwd: "." })).toBe(true);
    expect(covers(atRoot, "run_shell", { argv, cwd: "app" })).toBe(false);
  }
  expect(describeAllowance(allowanceFor("run_shell", { argv: ["ls"], cwd: "a b" }))).toBe('ls …, only in "a b"');
});

test("approvals: one directory is asked about once, whatever it is called", () => {
  const argv = ["ls"];
  const names = {
    ".": [undefined, ".", "./", "/here", "/here/", "/here/./sub/..", "sub/.."],
    sub: ["sub", "sub/", "./sub", ".//sub", "/here/sub", "/here/sub/", "../here/sub"],
    "/here-too": ["/here-too", "../here-too"],
    "/": ["/", "..", "../.."],
  };
  const all = Object.entries(names).flatMap(([place, cwds]) => cwds.map((cwd) => ({ place, cwd })));
  for (const one of all)
    for (const other of all) {
      const allowance = allowanceFor("run_shell", { argv, cwd: one.cwd });
      expect(allowance.directory).toBe(one.place);
      expect([one, other, covers(allowance, "run_shell", { argv, cwd: other.cwd })]).toEqual([
        one,
        other,
        one.place === other.place,
      ]);
    }
  // What an outside tool takes for its directory is not ours to say.
  const outside = allowanceFor("mcp__x__run", { argv });
  expect(covers(outside, "mcp__x__run", { argv, cwd: "/here" })).toBe(false);
});

test("approvals: 'here' is where the person stands; elsewhere the root is named", () => {
  const atRoot = allowanceFor("run_shell", { argv: ["ls"], cwd: "/here" });
  expect(describeAllowance(atRoot)).toBe("ls …, only here");
  expect(describeAllowance(atRoot, "/here/sub")).toBe("ls …, only in the workspace root");
  expect(describeAllowance(allowanceFor("run_shell", { argv: ["ls"], cwd: "/here/sub" }), "/here/sub")).toBe("ls …, only in sub");
});

test("approvals: a directory stored as the model wrote it counts under its other names, and for no other directory", async () => {
  const entry = (directory: string) => ({ project: "/here", tool: "run_shell", prefix: ["ls"], directory });
  for (const [stored, same, others] of [
    ["/here", [undefined, ".", "/here/"], ["sub", "/"]],
    ["/here/sub/", ["sub", "./sub"], [undefined, "sub/deeper"]],
    ["sub", ["/here/sub"], ["/sub", "."]],
  ] as const) {
    await using place = await tempDir({ "approvals.json": JSON.stringify({ version: 1, allowed: [entry(stored)] }) });
    const here = openApprovals(place.at("approvals.json"), "/here");
    for (const cwd of same) expect([stored, cwd, here.allows("run_shell", { argv: ["ls"], cwd })]).toEqual([stored, cwd, true]);
    for (const cwd of others)
      expect([stored, cwd, here.allows("run_shell", { argv: ["ls"], cwd })]).toEqual([stored, cwd, false]);
  }
});

test("approvals: arguments that are no part of what was shown are asked about", () => {
  const git = allowanceFor("mcp__x__run", { argv: ["git", "status"], env: { GIT_SSH_COMMAND: "x" } });
  expect(covers(git, "mcp__x__run", { argv: ["git", "status"] })).toBe(true);
  expect(covers(git, "mcp__x__run", { argv: ["git", "status"], env: { GIT_SSH_COMMAND: "x" } })).toBe(false);
});

test("approvals: what was stored without a directory stays readable and becomes no wider", async () => {
  const entry = (prefix: readonly string[], more: object = {}) => ({ project: "/here", tool: "run_shell", prefix, ...more });
  const allowed = [
    entry(["git", "status"]),
    entry(["ls"]),
    entry(["make"], { exact: true }),
    entry(["./build.sh"]),
    entry(["busybox"]),
    entry(["cat"], { directory: 7 }),
    { project: "/here", tool: "write_patch" },
  ];
  await using place = await tempDir({ "approvals.json": JSON.stringify({ version: 1, allowed }) });
  const file = place.at("approvals.json");
  const here = openApprovals(file, "/here");
  for (const argv of [
    ["git", "status", "-s"],
    ["ls", "-l"],
  ]) {
    expect(here.allows("run_shell", { argv })).toBe(true);
    expect(here.allows("run_shell", { argv, cwd: "vendor/evil" })).toBe(false);
  }
  for (const argv of [["make"], ["./build.sh"], ["busybox", "sh"], ["cat", "a"]]) {
    for (const cwd of [undefined, "app"]) expect(here.allows("run_shell", { argv, cwd })).toBe(false);
  }
  expect(here.allows("write_patch", {})).toBe(true);
  await here.forProject(allowanceFor("run_shell", { argv: ["make"], cwd: "app" }));
  const again = openApprovals(file, "/here");
  expect(again.allows("run_shell", { argv: ["make"], cwd: "app" })).toBe(true);
  expect(again.allows("run_shell", { argv: ["make"], cwd: "vendor/evil" })).toBe(false);
  expect(again.allows("run_shell", { argv: ["ls"] })).toBe(true);
});

test("approvals: other tools by name; the file is bound to the project and survives nonsense", async () => {
  await using place = await tempDir();
  const file = place.at("approvals.json");
  const here = openApprovals(file, "/here");
  await here.forProject(allowanceFor("write_patch", { path: "a" }));
  here.forSession(allowanceFor("run_shell", shell("ls")));
  expect(here.allows("run_shell", shell("ls", "-l"))).toBe(true);
  expect(openApprovals(file, "/here").allows("write_patch", { path: "b" })).toBe(true);
  expect(openApprovals(file, "/here").allows("run_shell", shell("ls"))).toBe(false);
  expect(openApprovals(file, "/there").allows("write_patch", { path: "a" })).toBe(false);
  await place.write({
    "approvals.json": '{"allowed":[{"project":"/here","tool":"run_shell","prefix":[]},7,{"project":"/here"}]}',
  });
  expect(openApprovals(file, "/here").allows("run_shell", shell("ls"))).toBe(false);
  await place.write({ "approvals.json": "not json" });
  expect(openApprovals(file, "/here").allows("run_shell", shell("ls"))).toBe(false);
});

test("status and menu fit any width", () => {
  const style = createStyle(false);
  const facts = {
    model: "provider/a-model-with-a-long-name",
    activity: "working",
    elapsedMs: 65_000,
    usage: { inputTokens: 123_456, outputTokens: 7890, costUsd: 0.0123 },
    contextLeft: 0.87,
    target: "steering" as const,
    background: 2,
    hint: undefined,
  };
  for (let columns = 1; columns < 140; columns++) {
    for (const line of [
      statusLine(facts, columns, style),
      statusLine({ ...facts, activity: undefined }, columns, style),
      statusLine({ ...facts, hint: "Ctrl+C again to quit" }, columns, style),
      menuLine(["one", "日本語", "three"], 1, columns, style),
    ])
      expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
  }
  expect(statusLine(facts, 139, style)).toBe(
    "⠋ working 1 min 5 s · Enter: steering · 87% context left · 123k in 7.9k out · $0.0123 · 2 in background · Esc cancels",
  );
});

test("the first second of a run has no number", () => {
  const facts = {
    model: "m",
    activity: "working",
    usage: {},
    contextLeft: undefined,
    target: "steering" as const,
    background: 0,
    hint: undefined,
  };
  const at = (elapsedMs: number) => statusLine({ ...facts, elapsedMs }, 80, createStyle(false)).split(" · ")[0];
  expect([at(0), at(999), at(12_300)]).toEqual(["⠋ working", "⠏ working", "⠸ working 12 s"]);
});

test("short forms", () => {
  expect([0, 999, 1500, 59_999, 61_000].map(shortTime)).toEqual(["0 ms", "999 ms", "1.5 s", "59 s", "1 min 1 s"]);
  expect([999, 1200, 34_000, 1_300_000].map(shortCount)).toEqual(["999", "1.2k", "34k", "1.3M"]);
  expect(fit("日本語日本語", 7)).toBe("日本語…");
  expect(fit("abc", 0)).toBe("");
  expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
});

test("which terminals wrap anew", () => {
  expect(reflowsLines({ TERM: "xterm-256color" })).toBe(false);
  expect(reflowsLines({ TERM: "xterm-256color", XTERM_VERSION: "XTerm(390)" })).toBe(false);
  expect(reflowsLines({ TERM: "tmux-256color" })).toBe(true);
  expect(reflowsLines({ TERM: "screen-256color", TMUX: "/tmp/x" })).toBe(true);
  expect(reflowsLines({ TERM: "xterm-256color", VTE_VERSION: "7600" })).toBe(true);
});

test("text that is given back means the same again, whatever it begins with", () => {
  for (const text of [
    "/clear after this",
    "/clear",
    "/nonsense",
    "/x",
    "//x",
    "///",
    "/",
    "",
    "plain",
    "/usr/bin",
    "::before",
    "/clear\nmore",
  ]) {
    expect(parseInput(typedFor(text))).toEqual({ kind: "text", text });
  }
  for (const text of ["plain", "/usr/bin", "/clear\nmore", "::before", ": x"]) expect(typedFor(text)).toBe(text);
  for (const text of [":quit", ":nonsense x"]) expect(parseInput(typedFor(text))).toEqual({ kind: "text", text: ` ${text}` });
});

test("which terminals give a vowel sign beside its letter a cell of its own", () => {
  for (const env of [
    { TERM: "xterm-256color" },
    { TERM: "tmux-256color", TMUX: "/tmp/x", KITTY_WINDOW_ID: "1" },
    { VTE_VERSION: "7600" },
  ])
    expect([env, spacesMarks(env)]).toEqual([env, true]);
  for (const env of [{ TERM: "xterm-kitty" }, { TERM_PROGRAM: "iTerm.app" }, { WT_SESSION: "1" }])
    expect([env, spacesMarks(env)]).toEqual([env, false]);
});
