/** C10, C15: what a log says the conversation held at its end. */
import { expect, test } from "bun:test";
import { createClassifier } from "../../src/session/record-schemas.ts";
import type { ReadRecord } from "../../src/session/records.ts";
import { rebuildConversation } from "../../src/session/replay.ts";
import { line, SAMPLES } from "./samples.ts";

const delivered = (...names: string[]) => ({
  type: "context",
  turn_id: "turn-1",
  sources: names.map((name) => ({
    path: `/w/${name}/AGENTS.md`,
    scope: name,
    origin: "nested",
    content_hash: `xxh64:${name}`,
    truncated: false,
    byte_count: 1,
  })),
});
const counted = (states: Readonly<Record<string, string>>) => ({
  ...SAMPLES.context_ledger,
  items: Object.entries(states).map(([name, state]) => ({
    id: `ctx_${name}`,
    kind: name === "skill" ? "skill" : "project_instruction",
    path: `/w/${name}/AGENTS.md`,
    scope: name,
    content_hash: `xxh64:${name}`,
    byte_count: 1,
    token_estimate: 1,
    state,
    reason: "",
  })),
});
const compaction = { ...SAMPLES.compaction, covered_start_seq: 0, covered_end_seq: 0 };

function held(...records: readonly object[]): string[] {
  const classify = createClassifier();
  const read = records
    .map((one, seq) => classify(JSON.parse(line(seq, one))))
    .filter((one): one is ReadRecord => one !== undefined);
  expect(read).toHaveLength(records.length);
  return rebuildConversation(read).sources.map(({ path }) => path.slice(3, -"/AGENTS.md".length));
}

test("delivered last stands last, and a second delivery counts", () => {
  expect(held(delivered("a", "b"), delivered("c"), delivered("a"))).toEqual(["b", "c", "a"]);
});

test("a ledger is the last word: what it does not call held is gone, what was read whole is there", () => {
  expect(held(delivered("a", "b", "c"), counted({ a: "visible", b: "candidate", d: "visible", skill: "visible" }))).toEqual([
    "a",
    "d",
  ]);
  expect(held(delivered("a"), counted({ a: "path_only", x: "blocked", y: "removed" }), delivered("z"))).toEqual(["a", "z"]);
});

test("a summary in force clears what came before it, one that waits does not", () => {
  expect(held(delivered("a"), { ...compaction, review: "not_required" }, delivered("b"))).toEqual(["b"]);
  expect(held(delivered("a"), { ...compaction, review: "pending" }, delivered("b"))).toEqual(["a", "b"]);
  // Killed before anything was delivered again.
  expect(held(delivered("a"), { ...compaction, review: "not_required" })).toEqual(["a"]);
});

test("used last stands last, whatever way a tool names the place", () => {
  const call = (args: object) => ({ type: "tool_started", turn_id: "turn-1", call_id: "c", name: "x", arguments: args });
  const all = [delivered("a", "b", "c", "d")];
  expect(held(...all, call({ path: "a/x.ts" }), call({ patches: [{ path: "./b/y/z" }] }), call({ cwd: "/w/c" }))).toEqual([
    "d",
    "a",
    "b",
    "c",
  ]);
  expect(held(...all, call({ path: "ab/x" }), call({ argv: ["a/x"] }), call({ patches: [null, 3] }))).toEqual([
    "a",
    "b",
    "c",
    "d",
  ]);
});

test("what is withheld is looked at again at the next resume", () => {
  expect(held(delivered("a", "b"), counted({ a: "blocked", b: "skipped", c: "blocked" }))).toEqual(["a", "b"]);
});
