import { expect, test } from "bun:test";
import { createPolicy, parsePattern, wildcard } from "../../src/agent/policy.ts";
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
