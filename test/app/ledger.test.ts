import { expect, test } from "bun:test";
import { createBudget } from "../../src/agent/budget.ts";
import { buildLedger, itemId, type LedgerInput } from "../../src/app/ledger.ts";
import type { SourceInfo } from "../../src/types/event.ts";
import type { Message } from "../../src/types/message.ts";

const budget = createBudget({ contextWindow: 100_000, maxOutput: 10_000, source: "static" }, 0.92);

const source = (path: string, more: Partial<SourceInfo> = {}): SourceInfo => ({
  path,
  scope: ".",
  origin: "nested",
  contentHash: "xxh64:0000000000000001",
  byteCount: 700,
  truncated: false,
  state: "candidate",
  reason: "not named",
  ...more,
});

function ledgerOf(more: Partial<LedgerInput>) {
  return buildLedger({
    budget,
    limitSource: "static",
    harness: { prompt: 3500, tools: 7000 },
    sources: [],
    skills: [],
    messages: [],
    ...more,
  });
}

const tool = (n: number, text: string): Message => ({
  role: "tool",
  callId: `c${n}`,
  name: "read_file_range",
  text,
  failed: false,
});
const trimmed = (n: number): Message =>
  tool(
    n,
    `[older result of read_file_range, 7000 bytes, left out to save room (records 3-${n}); call the tool again if you need it]`,
  );
const summary =
  "<conversation_summary>\nThe conversation before this point was summarised to save room (records 0-41).\n</conversation_summary>";

test("skills, summaries, archived results and the transcript are told apart; visible items add up", () => {
  const messages: Message[] = [
    { role: "user", text: `${"i".repeat(700)}\n\n${summary}` },
    { role: "assistant", text: "a".repeat(1400), calls: [] },
    trimmed(9),
    tool(10, "s".repeat(2000)),
  ];
  const skill = { name: "s", contentHash: "xxh64:0000000000000002", byteCount: 1500 };
  const ledger = ledgerOf({
    sources: [
      source("/w/a", { state: "visible", heldBytes: 700 }),
      source("/w/b", { state: "skipped", contentHash: "", byteCount: 0 }),
    ],
    skills: [
      { ...skill, path: "/s/1", heldBytes: 1500 },
      { ...skill, path: "/s/2", heldBytes: 0 },
    ],
    messages,
    pending: { handle: "records 0-50", summary: "next" },
  });
  const by = (kind: string) => ledger.items.filter((item) => item.kind === kind);
  expect(by("skill").map(({ state, reason }) => [state, reason])).toEqual([
    ["visible", "skill_loaded: s"],
    ["candidate", "skill_metadata_only: s"],
  ]);
  expect(by("summary")).toMatchObject([
    { state: "visible", byteCount: summary.length, reason: 'latest_compaction_summary: recover "records 0-41"' },
    { state: "candidate", reason: "waits for a review: records 0-50" },
  ]);
  expect(by("tool_archive")).toMatchObject([
    { state: "archived", byteCount: 7000, reason: 'result of read_file_range left out to save room; recover "records 3-9"' },
  ]);
  const total = budget.bytes(messages);
  expect(by("transcript")).toMatchObject([{ byteCount: total - 700 - 1500 - summary.length, state: "visible" }]);
  expect(ledger.used).toBe(budget.tokens(10_500 + total));
  const visible = ledger.items.filter((item) => item.state === "visible");
  expect(Math.abs(visible.reduce((sum, item) => sum + item.tokenEstimate, 0) - ledger.used)).toBeLessThanOrEqual(visible.length);
  expect(ledger).toMatchObject({
    availableInput: 90_000,
    target: 72_000,
    autoCompactionThreshold: 82_800,
    limitSource: "static",
  });
  expect(by("project_instruction")[1]).not.toHaveProperty("contentHash");
  expect(new Set(ledger.items.map((item) => item.id)).size).toBe(ledger.items.length);
});

test("reported usage corrects every estimate", () => {
  const learned = createBudget({ contextWindow: 100_000, maxOutput: 10_000, source: "static" }, 0.92);
  learned.learn(5000, { inputTokens: 2500 });
  const ledger = ledgerOf({ budget: learned });
  expect(ledger.items.slice(0, 2).map((item) => item.tokenEstimate)).toEqual([1750, 3500]);
  expect(ledger.used).toBe(5250);
});

test("a large tree or a long run does not make the record grow: the rest is one item", () => {
  const sources = Array.from({ length: 2000 }, (_, n) => source(`/w/${n}/AGENTS.md`));
  const messages = Array.from({ length: 500 }, (_, n) => trimmed(n));
  const { items } = ledgerOf({ sources: [...sources, source("/w/bad", { state: "blocked" })], messages });
  expect(items.length).toBeLessThan(130);
  expect(items.find((item) => item.path === "/w/bad")?.state).toBe("blocked");
  expect(items.find((item) => item.id === "ctx_project_instruction_more")).toMatchObject({
    byteCount: 1936 * 700,
    state: "candidate",
    reason: expect.stringContaining("1936 more nested files"),
  });
  expect(items.find((item) => item.id === "ctx_tool_archive_more")).toMatchObject({ byteCount: 450 * 7000, state: "archived" });
});

test("ids are stable and name their kind", () => {
  expect(itemId("pinned_file", "/w/a")).toMatch(/^ctx_pinned_file_[0-9a-f]{16}$/);
  expect(itemId("pinned_file", "/w/a")).toBe(itemId("pinned_file", "/w/a"));
  expect(itemId("pinned_file", "/w/a")).not.toBe(itemId("pinned_file", "/w/b"));
});
