import { expect, test } from "bun:test";
import type { ContextControls } from "../../src/app/context-controls.ts";
import type { LedgerItem } from "../../src/types/event.ts";
import { type ContextRepl, context, contextWords } from "../../src/ui/slash-context.ts";

const item = (path: string, more: Partial<LedgerItem> = {}): LedgerItem => ({
  id: `ctx_project_instruction_${path.length}`,
  kind: "project_instruction",
  path,
  scope: ".",
  byteCount: 10,
  tokenEstimate: 3,
  state: "visible",
  reason: "the workspace root",
  ...more,
});

function fake(items: readonly LedgerItem[] = [item("/w/AGENTS.md")]) {
  const said: string[] = [];
  const asked: string[] = [];
  const did = (what: string) => {
    asked.push(what);
    return { ok: !what.includes("bad"), message: `did ${what}` };
  };
  const controls: ContextControls = {
    ledger: () => ({ items, availableInput: 100, target: 80, autoCompactionThreshold: 92, used: 25, limitSource: "static" }),
    pins: () => ["a b.md"],
    drops: () => ["/home/\x1b[2Jx"],
    pin: async (path) => did(`pin ${path}`),
    unpin: (path) => did(`unpin ${path}`),
    drop: async (path) => did(`drop ${path}`),
    resetDrops: async (path) => did(`reset ${path ?? "all"}`),
    recover: async (handle) => {
      did(`recover ${handle}`);
      return { handle, start: 0, end: 1, records: 2, truncated: false, text: "#0 user\n\x1b[2Jhello" };
    },
  };
  const windowUse = () => ({ used: 25, available: 100, contextWindow: 128_000, source: "static" });
  const repl: ContextRepl = {
    say: (lines) => said.push(...lines),
    error: (message) => said.push(`error: ${message}`),
    controls: { context: controls, windowUse },
    runtime: { pendingCompaction: undefined },
  };
  return { repl, said, asked };
}

test("/context shows the ledger, pins and drops; many items are shortened until /context all", async () => {
  const { repl, said } = fake();
  await context(repl, "");
  expect(said[0]).toBe("context: about 25 of 100 tokens used (25%), compacted from 92 on; window 128k (static)");
  expect(said[1]).toMatch(/^ {2}project_instruction visible +3 {2}\/w\/AGENTS\.md: the workspace root$/);
  expect(said.slice(2)).toEqual(["pinned: a b.md", expect.not.stringContaining("\x1b")]);
  const many = fake(Array.from({ length: 70 }, (_, n) => item(`/w/${n}`)));
  await context(many.repl, "");
  expect(many.said).toContain("  … and 6 more: /context all");
  await context(many.repl, " all ");
  expect(many.said.some((line) => line.includes("/w/69"))).toBe(true);
});

test("/context verbs take the rest of the line as it was typed, and say what is wrong", async () => {
  const { repl, said, asked } = fake();
  for (const rest of [
    "pin a b.md",
    "unpin x",
    "drop  y z ",
    "drop --reset",
    "drop --reset q r",
    "pin bad",
    "recover records 3-9",
  ])
    await context(repl, rest);
  expect(asked).toEqual(["pin a b.md", "unpin x", "drop y z", "reset all", "reset q r", "pin bad", "recover records 3-9"]);
  expect(said).toContain("error: did pin bad");
  expect(said.join("\n")).not.toContain("\x1b");
  expect(said.at(-1)).toContain("hello");
  said.length = 0;
  for (const rest of ["pin", "drop", "all x", "nonsense", "nonsense x", "item"]) await context(repl, rest);
  expect(said).toHaveLength(6);
  expect(said.every((line) => line.startsWith("error: usage: /context"))).toBe(true);
});

test("/context item finds by id, path or the end of a path", async () => {
  const { repl, said } = fake([item("/w/AGENTS.md"), item("/w/api/AGENTS.md", { contentHash: "xxh64:00" })]);
  for (const name of ["/w/AGENTS.md", "ctx_project_instruction_12", "api/AGENTS.md"]) await context(repl, `item ${name}`);
  expect(said.filter((line) => line.startsWith("/w/"))).toEqual(["/w/AGENTS.md", "/w/AGENTS.md", "/w/api/AGENTS.md"]);
  expect(said).toContain("  content  xxh64:00");
  await context(repl, "item nowhere");
  expect(said.at(-1)).toStartWith("error: nothing in the context is called nowhere");
});

test("completion names verbs, pinned paths, sources", () => {
  const { repl } = fake();
  expect(contextWords(repl, [])).toContain("recover");
  expect(contextWords(repl, ["unpin"])).toEqual(["a b.md"]);
  expect(contextWords(repl, ["drop"])).toEqual(["--reset", "/w/AGENTS.md"]);
  expect(contextWords(repl, ["review"])).toEqual(["approve", "reject"]);
  expect(contextWords(repl, ["recover"])).toEqual([]);
  // One word each; what is dropped for --reset.
  expect(contextWords(repl, ["drop", "--reset"])).toEqual(repl.controls.context.drops());
  for (const words of [
    ["unpin", "a"],
    ["drop", "/w/AGENTS.md"],
    ["drop", "--reset", "x"],
    ["review", "approve"],
  ])
    expect(contextWords(repl, words)).toEqual([]);
});
