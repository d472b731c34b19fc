import { expect, test } from "bun:test";
import { createRecorder, sessionMeta, toRecord } from "../../src/app/recorder.ts";
import { redact } from "../../src/base/redact.ts";
import type { SessionLog } from "../../src/session/log.ts";
import { glance } from "../../src/session/quick-check.ts";
import type { SessionRecord } from "../../src/session/records.ts";
import type { RunEvent } from "../../src/types/event.ts";

const KEY = "sk-test-9f8e7d6c5b4a3928";
const clean = (text: string): string => redact(text);

/** A log in memory that notes every sync between the records. */
function memoryLog(): SessionLog & { readonly written: (SessionRecord | "sync")[] } {
  const written: (SessionRecord | "sync")[] = [];
  return {
    written,
    id: "s",
    path: "/s",
    lastSeq: -1,
    healthy: true,
    append: (record) => written.push(record) > 0,
    sync: () => void written.push("sync"),
    close: () => undefined,
  };
}

const t = { turnId: "turn-1" };
const EVENTS: { readonly [T in RunEvent["type"]]: Extract<RunEvent, { readonly type: T }> } = {
  turn_started: { type: "turn_started", ...t, text: `use ${KEY}` },
  context: {
    type: "context",
    ...t,
    sources: [
      {
        path: "/a",
        scope: ".",
        origin: "root",
        contentHash: "xxh64:1",
        byteCount: 2,
        truncated: false,
        state: "visible",
        reason: "chain",
      },
    ],
  },
  context_ledger: {
    type: "context_ledger",
    ...t,
    items: [
      {
        id: "i",
        kind: "skill",
        path: "p",
        scope: ".",
        contentHash: "h",
        byteCount: 1,
        tokenEstimate: 1,
        state: "visible",
        reason: "r",
      },
    ],
    availableInput: 5,
    target: 4,
    autoCompactionThreshold: 3,
    used: 2,
    limitSource: "model",
  },
  context_item: { type: "context_item", action: "pin", item: { id: "i", kind: "pinned_file", path: "p" }, reason: "asked" },
  prompt_metadata: {
    type: "prompt_metadata",
    ...t,
    model: "m",
    provider: "p",
    date: "2026-01-01",
    cwd: "/",
    promptFragments: ["a"],
    toolNames: ["b"],
    skillNames: [],
    contextSources: [],
    systemPromptHash: "h",
    toolCatalogHash: "h",
    diagnostics: [`failed with ${KEY}`],
  },
  request_started: { type: "request_started", ...t, request: 3 },
  text_delta: { type: "text_delta", ...t, text: "x" },
  reasoning_delta: { type: "reasoning_delta", ...t, text: "x" },
  assistant_finished: { type: "assistant_finished", ...t, text: `it is ${KEY}`, calls: [], final: true, partial: true },
  reasoning_finished: { type: "reasoning_finished", ...t, text: `hm ${KEY}` },
  usage: { type: "usage", ...t, usage: { inputTokens: 4, outputTokens: Number.NaN } },
  tool_started: { type: "tool_started", ...t, callId: "c", name: "n", arguments: { argv: ["curl", KEY], token: "abc123" } },
  tool_finished: {
    type: "tool_finished",
    ...t,
    callId: "c",
    name: "n",
    status: "ok",
    output: KEY,
    truncated: false,
    elapsedMs: 1.6,
  },
  effect: {
    type: "effect",
    ...t,
    callId: "c",
    effect: {
      kind: "shell_exec",
      command: ["curl", "-H", `Authorization: Bearer ${KEY}`],
      cwd: ".",
      processStatus: "ok",
      exitCode: 0,
      elapsedMs: 1,
      processKind: "one-shot",
    },
  },
  retrying: { type: "retrying", ...t, attempt: 1, maxAttempts: 8, delayMs: 1, failure: "network", message: "m" },
  diagnostic: { type: "diagnostic", diagnostic: { severity: "info", code: "c", message: "m" } },
  queued: { type: "queued", queueId: "q", kind: "steering", action: "add", text: KEY },
  compaction: {
    type: "compaction",
    summary: KEY,
    coveredStartSeq: 0,
    coveredEndSeq: 4,
    sourceHashes: [],
    trigger: "manual",
    review: "pending",
    recoveryHandle: "r",
    model: "m",
    usage: { inputTokens: 1 },
    beforeTokens: 2,
    afterTokens: 1,
  },
  compaction_review: { type: "compaction_review", recoveryHandle: "r", review: "approved" },
  mcp_config_changed: { type: "mcp_config_changed", ...t, previous: [], current: [{ path: "p", hash: "h" }], diagnostics: [KEY] },
  acp_session: {
    type: "acp_session",
    localSessionId: "l",
    agentName: "a",
    acpSessionId: "x",
    command: `agent --token ${KEY}`,
    protocolVersion: 1,
    agentInfo: { name: "n", version: "1" },
  },
  acp_permission_request: {
    type: "acp_permission_request",
    ...t,
    toolCallId: "c",
    title: KEY,
    options: [{ id: "1", name: "n", kind: "k" }],
  },
  acp_permission_outcome: { type: "acp_permission_outcome", ...t, toolCallId: "c", outcome: "selected", optionId: "1" },
  session_renamed: { type: "session_renamed", title: `my ${KEY}` },
  cancelled: { type: "cancelled", ...t, reason: "user" },
  failed: { type: "failed", ...t, error: `401 for ${KEY}`, failure: "auth" },
  turn_finished: { type: "turn_finished", ...t },
};

const DISPLAY_ONLY = ["request_started", "text_delta", "reasoning_delta", "retrying", "diagnostic", "turn_finished"];

for (const event of Object.values(EVENTS)) {
  test(`J10 ${event.type} becomes a valid record without the key, or none`, () => {
    const record = toRecord(event, clean, 3);
    if (DISPLAY_ONLY.includes(event.type)) {
      expect(record).toBeUndefined();
      return;
    }
    const stored = JSON.parse(JSON.stringify({ schema_version: 1, seq: 0, time: "2026-01-01T00:00:00.000Z", ...record }));
    // Known without its schema: a resume does not load them for what this program wrote.
    expect(glance(stored)).toEqual({ known: true, record: stored });
    expect(JSON.stringify(stored)).not.toContain(KEY);
    expect(JSON.stringify(stored)).not.toContain("abc123");
  });
}

test("skill and file effects become their records; failed numbers are left out", () => {
  const skill = { kind: "skill_activated", name: "s", path: "/s", contentHash: "h", byteCount: 1, references: [] } as const;
  expect(toRecord({ type: "effect", ...t, callId: "c", effect: skill }, clean, undefined)).toMatchObject({
    type: "skill_activated",
    content_hash: "h",
  });
  const write = {
    kind: "file_write",
    op: "edit",
    path: "a",
    beforeHash: "x",
    beforeBytes: 1,
    afterHash: "y",
    afterBytes: 2,
    status: "ok",
  } as const;
  expect(toRecord({ type: "effect", ...t, callId: "c", effect: write }, clean, undefined)).toEqual({
    type: "file_write",
    turn_id: "turn-1",
    call_id: "c",
    op: "edit",
    path: "a",
    before_hash: "x",
    before_bytes: 1,
    after_hash: "y",
    after_bytes: 2,
    status: "ok",
  });
  expect(toRecord(EVENTS.usage, clean, 1)).toEqual({ type: "usage", turn_id: "turn-1", input_tokens: 4, request: 1 });
});

test("P18 a response without text leaves no empty record", () => {
  expect(toRecord({ ...EVENTS.assistant_finished, text: " \n" }, clean, 1)).toBeUndefined();
});

test("records carry the request they belong to, and are synced before an effect is reported and at the end of a turn", () => {
  const log = memoryLog();
  const record = createRecorder({ log, redact: clean });
  for (const type of [
    "turn_started",
    "request_started",
    "tool_started",
    "effect",
    "tool_finished",
    "assistant_finished",
    "turn_finished",
  ] as const) {
    expect(record(EVENTS[type])).toBe(true);
  }
  const names = log.written.map((one) => (one === "sync" ? one : one.type));
  expect(names).toEqual(["user", "tool_started", "shell_exec", "sync", "tool_finished", "assistant_finished", "sync"]);
  expect(log.written[1]).toMatchObject({ request: 3 });
  expect(log.written[5]).toMatchObject({ request: 3, partial: true });
});

test("a record that could not be written is reported; an ephemeral run records nothing and is fine", () => {
  const broken: SessionLog = { ...memoryLog(), healthy: false, append: () => false };
  expect(createRecorder({ log: broken, redact: clean })(EVENTS.queued)).toBe(false);
  expect(createRecorder({ log: broken, redact: clean })(EVENTS.text_delta)).toBe(true);
  expect(createRecorder({ log: undefined, redact: clean })(EVENTS.queued)).toBe(true);
});

test("sessionMeta: the title is the first line of the prompt, cleaned, redacted, 80 characters", () => {
  const facts = {
    sessionId: "s",
    cwd: "/",
    workspace: "/",
    prompt: `\n\u202e Fix\u0007 it with ${KEY} ${"😀".repeat(100)}\nsecond`,
    provider: "p",
    model: "m",
    websearch: "none",
    appVersion: "0",
    files: [],
    origins: {},
    redact: clean,
  };
  const { title } = sessionMeta(facts);
  expect(title).toStartWith("Fix it with [redacted:provider_key] 😀");
  expect([...title]).toHaveLength(80);
});
