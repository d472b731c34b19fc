import { expect, test } from "bun:test";
import { posix } from "node:path";
import { createPolicy, parsePattern, wildcard } from "../../src/agent/policy.ts";
import { commandsOf } from "../../src/agent/script-commands.ts";
import type { ToolEntry } from "../../src/agent/toolbox.ts";
import type { EffectKind } from "../../src/tools/tool.ts";

function entry(name: string, effect: EffectKind): ToolEntry {
  return {
    spec: { name, description: name, parameters: {} },
    effect,
    parallel: effect === "read",
    load: () => Promise.reject(new Error("unused")),
  };
}

const READ = entry("read_file_range", "read");
const SHELL = entry("run_shell", "shell");
const PATCH = entry("write_patch", "write");

test("wildcards match the whole text, in linear time", () => {
  expect(wildcard("git status*", "git status --short")).toBe(true);
  expect(wildcard("git status*", "xgit status")).toBe(false);
  expect(wildcard("a?c", "abc")).toBe(true);
  expect(wildcard("a?c", "ac")).toBe(false);
  expect(wildcard("", "")).toBe(true);
  expect(wildcard("*", "")).toBe(true);
  expect(wildcard(`${"*a".repeat(40)}b`, "a".repeat(20_000))).toBe(false);
});

test("a pattern that is no pattern is a usage error", () => {
  expect(() => parsePattern("run shell")).toThrow('"run shell" is not a tool pattern');
  expect(() => parsePattern("run_shell(")).toThrow("is not a tool pattern");
});

test("read-only offers reading tools only", () => {
  const policy = createPolicy("read-only", [], []);
  expect([READ, SHELL, PATCH, entry("mcp__x__y", "net")].map((one) => policy.offers(one))).toEqual([true, false, false, false]);
});

test("allow narrows, deny wins", () => {
  const policy = createPolicy("workspace-write", ["run_shell(git *)", "read_*"], ["run_shell(git push*)"]);
  expect([READ, SHELL, PATCH].map((one) => policy.offers(one))).toEqual([true, true, false]);
  expect(policy.refuses("run_shell", { argv: ["git", "status"] })).toBeUndefined();
  expect(policy.refuses("run_shell", { argv: ["git", "push", "-f"] })).toContain("--deny-tool run_shell(git push*)");
  expect(policy.refuses("run_shell", { argv: ["rm", "-rf", "."] })).toContain("only these calls are: run_shell(git *), read_*");
});

test("a denied name is not offered; a denied path refuses a patch that holds it anywhere", () => {
  const named = createPolicy("workspace-write", [], ["run_shell"]);
  expect(named.offers(SHELL)).toBe(false);
  const path = createPolicy("workspace-write", [], ["write_patch(.github/*)"]);
  expect(path.offers(PATCH)).toBe(true);
  expect(path.refuses("write_patch", { patches: [{ path: "a.ts" }, { path: ".github/workflows/ci.yml" }] })).toBeDefined();
  const allowed = createPolicy("workspace-write", ["write_patch(src/*)"], []);
  expect(allowed.refuses("write_patch", { patches: [{ path: "src/a.ts" }, { path: "b.ts" }] })).toBeDefined();
  expect(allowed.refuses("write_patch", { patches: [{ path: "src/a.ts" }, { path: "src/b.ts" }] })).toBeUndefined();
});

const allowing =
  (pattern: string) =>
  (...argv: string[]): boolean =>
    createPolicy("workspace-write", [pattern], []).refuses("run_shell", { argv }) === undefined;

test("a blank in a word is no border between words for a pattern that allows", () => {
  const git = allowing("run_shell(git status*)");
  expect([git("git", "status"), git("git", "status", "a b"), git("git", "status", "--", "it's")]).toEqual([true, true, true]);
  expect([git("git status/../../../bin/sh", "-c", "id"), git("git status"), git("git", "status; x", "y")]).toEqual([
    false,
    false,
    false,
  ]);
  expect(allowing("run_shell(git commit -m *)")("git", "commit", "-m", "two words")).toBe(true);
  expect(allowing("run_shell(*)")("git status/../x", "a b")).toBe(true);
});

test("a program of the workspace is no program of PATH for a pattern that allows, and takes no detours", () => {
  const git = allowing("run_shell(git*)");
  expect([git("git", "log"), git("./git", "log"), git("git-x/run"), git("sub/git")]).toEqual([true, false, false, false]);
  const scripts = allowing("run_shell(scripts/*)");
  expect([scripts("scripts/a", "b c"), scripts("./scripts/a")]).toEqual([true, true]);
  for (const program of ["scripts/../../../bin/sh", "scripts/x/../../b", "scripts//a", "scripts/./a", "/scripts/a"])
    expect([program, scripts(program)]).toEqual([program, false]);
  expect([allowing("run_shell(./go *)")("./go", "x"), allowing("run_shell(.venv/bin/*)")(".venv/bin/py")]).toEqual([true, true]);
  const absolute = allowing("run_shell(/usr/bin/*)");
  expect([absolute("/usr/bin/env"), absolute("/usr/bin/../../tmp/x"), absolute("usr/bin/env")]).toEqual([true, false, false]);
  expect([allowing("run_shell(../tool *)")("../tool", "x"), allowing("run_shell(../*)")("../a/../../b")]).toEqual([true, false]);
});

test("another directory is part of the command for a pattern that allows", () => {
  const may = (pattern: string, input: object): boolean =>
    createPolicy("workspace-write", [pattern], []).refuses("run_shell", { ...input }) === undefined;
  const argv = ["npm", "test"];
  expect(may("run_shell(npm test*)", { argv, cwd: "." })).toBe(true);
  expect(may("run_shell(npm test*)", { argv, cwd: "packages/a" })).toBe(false);
  expect(may("run_shell(cd packages/* && npm test*)", { argv, cwd: "packages/a" })).toBe(true);
  expect(may("run_shell(cd packages/* && npm test*)", { argv: ["rm", "x", "&&", ...argv], cwd: "packages/a" })).toBe(false);
  expect(may("run_shell(cd packages/* && npm test*)", { argv, cwd: "packages/a && rm x" })).toBe(false);
  expect(may("run_shell(cd a && tools/*)", { argv: ["tools/x"], cwd: "a" })).toBe(true);
  expect(may("run_shell(cd a && tool*)", { argv: ["tools/x"], cwd: "a" })).toBe(false);
  const places = (path: string) => (path === "link" ? ["link", "real"] : [path]);
  const linked = createPolicy("workspace-write", ["run_shell(cd link && npm test)"], [], places);
  expect(linked.refuses("run_shell", { argv, cwd: "link" })).toBeDefined();
});

test("a command is allowed as it is written; a program with a blank in its path has its quotes", () => {
  const may = (pattern: string, ...argv: string[]): boolean =>
    createPolicy("workspace-write", [`run_shell(${pattern})`], []).refuses("run_shell", { argv }) === undefined;
  expect(may("echo https://x/?a=1&b=2", "echo", "https://x/?a=1&b=2")).toBe(true);
  expect(may("grep foo\\.bar a.txt", "grep", "foo\\.bar", "a.txt")).toBe(true);
  expect(may('grep -c "1" a.txt', "grep", "-c", '"1"', "a.txt")).toBe(true);
  for (const pattern of ["'my dir/x'*", "'./my dir/x'*", "'my dir/*"])
    expect({ pattern, may: may(pattern, "./my dir/x", "y") }).toEqual({ pattern, may: true });
  expect(may("echo a && b", "echo", "a", "&&", "b")).toBe(false);
});

test("a pattern that forbids a program of the workspace meets it however it is spelled, and wherever it is run from", () => {
  const places = (path: string): string[] => [posix.normalize(path.replace("/w/", ""))];
  const deny = createPolicy("workspace-write", [], ["run_shell(scripts/deploy*)"], places);
  for (const program of ["scripts/deploy", "./scripts/deploy", "scripts//deploy", "scripts/./deploy", "/w/scripts/deploy"])
    expect({ program, no: deny.refuses("run_shell", { argv: [program, "now"] }) !== undefined }).toEqual({ program, no: true });
  expect(deny.refuses("run_shell", { argv: ["./deploy"], cwd: "scripts" })).toBeDefined();
  expect(deny.refuses("run_shell", { argv: ["deploy"], cwd: "scripts" })).toBeUndefined();
});

test("a pattern that forbids a command meets it quoted or not, wherever it runs", () => {
  const deny = createPolicy("workspace-write", [], ["run_shell(rm *)", "run_shell(sh -c curl *)"]);
  for (const argv of [
    ["rm", "a b"],
    ["/bin/rm", "a b"],
    ["sh", "-c", "curl x | sh"],
    ["/bin/bash", "-c", " rm x && echo y"],
  ])
    for (const cwd of [undefined, "sub"]) expect(deny.refuses("run_shell", { argv, cwd })).toBeDefined();
});

const script = (text: string): string[] => ["sh", "-c", text];

const REMOVES: readonly (readonly string[])[] = [
  ...["/bin/rm a.txt", "'rm' a.txt", "\\rm a.txt", 'r"m" a.txt', "command rm a.txt", "exec rm a.txt", "builtin rm a.txt"].map(
    script,
  ),
  ...["echo q; rm a.txt", "true && rm a.txt", "true||rm a.txt", "yes | rm a.txt", "sleep 1 & rm a.txt", "ls\nrm a.txt"].map(
    script,
  ),
  ...["A=1 B='x y' rm a.txt", "sudo -u root rm a.txt", "env -i A=1 rm a.txt", "nohup rm a.txt", "timeout 5 rm a.txt"].map(script),
  ...["(rm a.txt)", "echo $(rm a.txt)", 'echo "$(rm a.txt)"', "echo `rm a.txt`", "if true; then rm a.txt; fi"].map(script),
  ...["2>/dev/null rm a.txt", ">out rm a.txt", "echo a >&2; rm a.txt", "# don't\nrm a.txt", "r\\\nm a.txt"].map(script),
  ...["sh -c 'rm a.txt'", "eval 'rm a.txt'", "eval rm a.txt", "cat <<X\ndon't\nX\nrm a.txt", "echo 'open; rm a.txt"].map(script),
  ["sh", "-ec", "rm a.txt"],
  ["bash", "-lc", "rm a.txt"],
  ["bash", "-o", "pipefail", "-c", "rm a.txt"],
  ["bash", "-c", "--", "rm a.txt"],
  ["/usr/bin/env", "sh", "-c", "rm a.txt"],
  ["sudo", "rm", "a.txt"],
  ["busybox", "rm", "a.txt"],
];

test.each(REMOVES.map((argv) => [argv.join(" "), argv] as const))(
  "a pattern that forbids meets every command of %j",
  (_line, argv) => {
    const deny = createPolicy("workspace-write", [], ["run_shell(rm *)"]);
    expect(deny.refuses("run_shell", { argv })).toContain("--deny-tool run_shell(rm *)");
  },
);

test("a word that is no command is none for a pattern that forbids", () => {
  const deny = createPolicy("workspace-write", [], ["run_shell(rm *)"]);
  for (const argv of [
    script("echo 'a; rm b'"),
    script('git commit -m "drop; rm of old"'),
    script("echo rm b"),
    script("rmdir a"),
    script("echo a \\; rm b"),
    ["sh", "rm", "-c", "rm x"],
    ["echo", "a; rm b"],
    script(""),
  ])
    expect({ argv, refused: deny.refuses("run_shell", { argv }) }).toEqual({ argv, refused: undefined });
});

test("long scripts and many prefixes cost what they are long", () => {
  const many = commandsOf(script("a;".repeat(100_000)));
  expect(many.commands).toHaveLength(100_001);
  expect(commandsOf(script("$(".repeat(100_000))).scripts).toHaveLength(1);
  expect(commandsOf(Array.from({ length: 10_000 }, (_, n) => (n % 2 ? "-a" : "sudo"))).commands.length).toBeLessThan(20);
});

test("a search without a path is about the whole workspace", () => {
  const allow = createPolicy("workspace-write", ["*(src/*)"], []);
  for (const name of ["search_text", "find_files", "list_searchable_files"]) {
    for (const path of [undefined, "", "."])
      expect([name, path, allow.refuses(name, { pattern: "src/|SECRET", path })]).toEqual([
        name,
        path,
        expect.stringContaining("only these calls"),
      ]);
    expect(allow.refuses(name, { pattern: "SECRET", path: "src" })).toBeUndefined();
  }
  expect(createPolicy("workspace-write", ["search_text(.)"], []).refuses("search_text", { pattern: "x" })).toBeUndefined();
});

test("a search from above passes over what patterns close", () => {
  const deny = createPolicy("workspace-write", [], ["search_text(private*)", "*(a/b)", "run_shell(x)"]).hides("search_text");
  const closed = (path: string) => deny?.(path);
  expect(["private/x", "private.txt", "a/b/c/d", "a/b"].map(closed)).toEqual([true, true, true, true]);
  expect(["src/private", "a/bc", "a/x", "b"].map(closed)).toEqual([false, false, false, false]);
  expect(createPolicy("workspace-write", [], ["run_shell(x)"]).hides("search_text")).toBeUndefined();
  expect(createPolicy("workspace-write", ["search_text"], []).hides("search_text")).toBeUndefined();
  const open = createPolicy("workspace-write", ["find_files(src/)", "find_files(docs/*.md)"], []).hides("find_files");
  expect(["src/a/b", "docs/a.md"].map((path) => open?.(path))).toEqual([false, false]);
  expect(["docs/a.txt", "other/src/a", "src.ts"].map((path) => open?.(path))).toEqual([true, true, true]);
  expect(createPolicy("workspace-write", ["find_files(.)"], []).hides("find_files")?.("any/where")).toBe(false);
});
