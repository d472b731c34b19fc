/** The topic print-mode names every field, event, status and error class of machine output. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { RunEvent } from "../../src/types/event.ts";
import { eventLine } from "../../src/ui/events-json.ts";

const root = join(import.meta.dir, "../..");
const topic = await Bun.file(join(root, "src/docs/print-mode.md")).text();
const words = new Set(topic.match(/`[\w-]+`/g)?.map((word) => word.slice(1, -1)));

function named(source: string, pattern: RegExp): string[] {
  return [...source.matchAll(pattern)].map((match) => match[1] ?? "");
}

test("every field and every type that events-json.ts writes is documented", async () => {
  const source = await Bun.file(join(root, "src/ui/events-json.ts")).text();
  const fields = [
    ...named(source, /^\s+(?:readonly )?([a-z_]+)\??: /gm),
    ...named(source, /fields\.([a-z_]+) =/g),
    ...named(source, /type: "([a-z_]+)"/g),
  ];
  expect(fields.length).toBeGreaterThan(50);
  expect(fields.filter((field) => !words.has(field))).toEqual([]);
});

test("every status and error class is documented", async () => {
  const source = await Bun.file(join(root, "src/types/event.ts")).text();
  const union = (name: string) => new RegExp(`export type ${name} =([^;]+);`).exec(source)?.[1]?.match(/"[\w-]+"/g) ?? [];
  const names = [...union("FailureClass"), ...union("TurnStatus"), ...union("ToolStatus"), '"usage"', '"internal"'];
  expect(names.length).toBeGreaterThan(25);
  expect(names.map((name) => name.slice(1, -1)).filter((name) => !words.has(name))).toEqual([]);
});

test("what is documented of an event is what is written", () => {
  const event: RunEvent = { type: "tool_started", turnId: "turn-1", callId: "c", name: "read_file_range", arguments: {} };
  const row = topic.split("\n").find((line) => line.startsWith("| `tool_started` |")) ?? "";
  const documented = (row.match(/`[\w-]+`/g) ?? []).map((word) => word.slice(1, -1));
  const { version, type, ...fields } = JSON.parse(eventLine(event) ?? "{}");
  expect(version).toBe(1);
  expect([type, ...Object.keys(fields)]).toEqual(documented);
});
