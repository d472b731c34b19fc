/** Every kind of secret in every place of every record, and ordinary text that must come out of the log as it went in. */
import { expect, test } from "bun:test";
import { sessionMeta, toRecord } from "../../src/app/recorder.ts";
import { redact } from "../../src/base/redact.ts";
import { encodeLine } from "../../src/session/log.ts";
import { glance } from "../../src/session/quick-check.ts";
import type { SessionRecord } from "../../src/session/records.ts";
import type { RunEvent } from "../../src/types/event.ts";
import { REMOVED, SURVIVORS } from "../base/redact-corpus.ts";

const turnId = "turn-1";

/** The events that carry words from outside, with `text` in each place that can hold it. */
function planted(text: string): readonly RunEvent[] {
  const call = { turnId, callId: "c" } as const;
  const source = { path: text, scope: text, origin: "root", contentHash: "h", byteCount: 1, truncated: false } as const;
  const shell = { kind: "shell_exec", cwd: text, processStatus: "failed", exitCode: 1, elapsedMs: 1 } as const;
  const skill = { kind: "skill_activated", contentHash: "h", byteCount: 1 } as const;
  return [
    { type: "turn_started", turnId, text },
    { type: "assistant_finished", turnId, text, calls: [], final: true },
    { type: "reasoning_finished", turnId, text },
    { type: "tool_started", ...call, name: "run_shell", arguments: { argv: ["sh", "-c", text], deep: [{ [text]: text }] } },
    { type: "tool_started", ...call, name: "mcp", arguments: { query: text }, mcp: { server: text, tool: "t" } },
    { type: "tool_finished", ...call, name: "n", status: "ok", output: text, truncated: false, elapsedMs: 1 },
    { type: "effect", ...call, effect: { kind: "file_write", op: "create", path: text, status: "ok" } },
    { type: "effect", ...call, effect: { ...shell, command: ["sh", "-c", text], processKind: "one-shot" } },
    { type: "effect", ...call, effect: { ...skill, name: "s", path: text, references: [] } },
    { type: "queued", queueId: "q", kind: "steering", action: "add", text },
    { type: "queued", queueId: "q", kind: "follow-up", action: "sent", text },
    { type: "cancelled", turnId, reason: text },
    { type: "failed", turnId, error: text, failure: "auth" },
    { type: "context", turnId, sources: [{ ...source, state: "visible", reason: text }] },
    { type: "context_item", action: "pin", item: { id: "i", kind: "pinned_file", path: text }, reason: text },
    {
      type: "compaction",
      summary: text,
      coveredStartSeq: 0,
      coveredEndSeq: 1,
      sourceHashes: [],
      trigger: "manual",
      review: "pending",
      recoveryHandle: "r",
      model: "m",
      beforeTokens: 2,
      afterTokens: 1,
    },
    { type: "mcp_config_changed", turnId, previous: [], current: [{ path: text, hash: "h" }], diagnostics: [text] },
    {
      type: "acp_session",
      localSessionId: "l",
      agentName: "a",
      acpSessionId: "x",
      command: text,
      protocolVersion: 1,
      agentInfo: { name: text, version: "1" },
    },
    { type: "acp_permission_request", turnId, toolCallId: "c", title: text, options: [{ id: "1", name: text, kind: "k" }] },
  ];
}

function linesOf(text: string): { readonly type: string; readonly line: string }[] {
  const records = planted(text).flatMap((event): SessionRecord[] => {
    const record = toRecord(event, redact, 1);
    return record === undefined ? [] : [record];
  });
  return records.map((record, seq) => ({ type: record.type, line: encodeLine(record, seq, new Date(0)) }));
}

/** Every string in a JSON value, keys too. */
function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...stringsIn(inner)]);
}

for (const [kind, text, secret] of REMOVED) {
  test(`J09 J10 ${kind} in no record: ${text.slice(0, 30).replaceAll(/\s/g, " ")}`, () => {
    for (const { type, line } of linesOf(text)) {
      const stored = JSON.parse(line);
      expect([type, stringsIn(stored).filter((one) => one.includes(secret))]).toEqual([type, []]);
      expect([type, glance(stored)]).toEqual([type, { known: true, record: stored }]);
      expect([type, line.includes("[redacted:")]).toEqual([type, true]);
    }
  });
}

test("J11 ordinary text is in every record as it was said", () => {
  for (const text of SURVIVORS) {
    for (const { type, line } of linesOf(text)) expect([type, stringsIn(JSON.parse(line)).includes(text)]).toEqual([type, true]);
  }
});

test("J10 a secret in the first prompt, or in the workspace's path, is not in session_meta", () => {
  for (const [, text, secret] of REMOVED) {
    const words = { sessionId: "s", provider: "p", model: "p/m", websearch: "none", appVersion: "0" };
    const places = { cwd: text, workspace: text, prompt: text, files: [{ path: text, source: "user", hash: "h" }] };
    const meta = sessionMeta({ ...words, ...places, origins: {}, redact });
    expect(stringsIn(meta).filter((one) => one.includes(secret))).toEqual([]);
    expect(meta).toMatchObject({ provider: "p", model: "m" });
  }
});
