/**
 * The ledger of everything in the context: one function for the `context_ledger` record, `/context`, `/tokens` and the status
 * line. What is in the conversation has the state `visible`; those items add up to `used`. Refuses: choosing.
 */
import { type Budget, BYTES_PER_TOKEN, type Window } from "../agent/budget.ts";
import { formerSummary } from "../agent/summary.ts";
import type { LedgerItem, RunEvent, SourceInfo } from "../types/event.ts";
import type { Message } from "../types/message.ts";

/** Assumed when nothing is known of a model. */
export const FALLBACK_WINDOW: Window = { contextWindow: 128_000, maxOutput: 8_192, source: "fallback" };

/** Tokens a text of `bytes` takes where no usage was reported, rounded up. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

type LedgerEvent = Extract<RunEvent, { readonly type: "context_ledger" }>;

export type ContextLedger = Omit<LedgerEvent, "type" | "turnId">;

export type LedgerSkill = {
  readonly name: string;
  readonly path: string;
  readonly contentHash: string;
  readonly byteCount: number;
  /** Bytes of it in the conversation; 0 when it was not activated. */
  readonly heldBytes: number;
};

export type LedgerInput = {
  readonly budget: Pick<Budget, "available" | "target" | "threshold" | "tokens" | "bytes">;
  readonly limitSource: string;
  /** UTF-8 sizes of the system prompt and the tool catalog. */
  readonly harness: { readonly prompt: number; readonly tools: number };
  readonly sources: readonly SourceInfo[];
  readonly skills: readonly LedgerSkill[];
  readonly messages: readonly Message[];
  /** A summary that waits for a review. */
  readonly pending?: { readonly handle: string; readonly summary: string } | undefined;
};

/** More of one kind than this are one item: the record of a turn must not grow with the tree or with the run. */
const MAX_CANDIDATES = 64;
const MAX_ARCHIVED = 50;

/** `ctx_<kind>_<16 hex digits>`, stable for what it names. */
export function itemId(kind: string, what: string): string {
  return `ctx_${kind}_${Bun.hash.xxHash64(what).toString(16).padStart(16, "0")}`;
}

type Weigh = (bytes: number) => number;

function sourceItem(source: SourceInfo, tokens: Weigh): LedgerItem {
  const kind = source.origin === "pin" ? "pinned_file" : "project_instruction";
  return {
    id: itemId(kind, source.path),
    kind,
    path: source.path,
    scope: source.scope,
    ...(source.contentHash !== "" && { contentHash: source.contentHash }),
    byteCount: source.byteCount,
    tokenEstimate: tokens(source.state === "visible" ? (source.heldBytes ?? 0) : source.byteCount),
    state: source.state,
    reason: source.reason,
  };
}

function sourceItems(sources: readonly SourceInfo[], tokens: Weigh): LedgerItem[] {
  const candidates = sources.filter((source) => source.state === "candidate");
  const more = candidates.slice(MAX_CANDIDATES);
  const left = new Set(more);
  const items = sources.filter((source) => !left.has(source)).map((source) => sourceItem(source, tokens));
  if (more.length === 0) return items;
  const byteCount = more.reduce((sum, source) => sum + source.byteCount, 0);
  const reason = `${more.length} more nested files, not named, pinned or touched so far ("thndrs context" lists them)`;
  const id = "ctx_project_instruction_more";
  items.push({ id, kind: "project_instruction", byteCount, tokenEstimate: tokens(byteCount), state: "candidate", reason });
  return items;
}

function skillItem(skill: LedgerSkill, tokens: Weigh): LedgerItem {
  const held = skill.heldBytes > 0;
  return {
    id: itemId("skill", skill.path),
    kind: "skill",
    path: skill.path,
    contentHash: skill.contentHash,
    byteCount: skill.byteCount,
    tokenEstimate: tokens(held ? skill.heldBytes : skill.byteCount),
    state: held ? "visible" : "candidate",
    reason: `${held ? "skill_loaded" : "skill_metadata_only"}: ${skill.name}`,
  };
}

const ARCHIVED = /^\[older result of (\S{1,200}), (\d{1,12}) bytes, left out to save room \(([^)\n]{1,60})\)/;

/** Tool results that were replaced by a line with a recovery handle. */
function archivedItems(messages: readonly Message[], tokens: Weigh): LedgerItem[] {
  const found = messages.flatMap((message): LedgerItem[] => {
    if (message.role !== "tool" || !message.text.startsWith("[older result of ")) return [];
    const [, name, size, handle] = ARCHIVED.exec(message.text) ?? [];
    if (name === undefined || handle === undefined) return [];
    const byteCount = Number(size);
    const reason = `result of ${name} left out to save room; recover "${handle}"`;
    const id = itemId("tool_archive", message.callId);
    return [{ id, kind: "tool_archive", byteCount, tokenEstimate: tokens(byteCount), state: "archived", reason }];
  });
  const older = found.slice(0, -MAX_ARCHIVED);
  if (older.length === 0) return found;
  const byteCount = older.reduce((sum, item) => sum + item.byteCount, 0);
  const reason = `${older.length} older results left out to save room`;
  const rest: LedgerItem = {
    id: "ctx_tool_archive_more",
    kind: "tool_archive",
    byteCount,
    tokenEstimate: tokens(byteCount),
    state: "archived",
    reason,
  };
  return [rest, ...found.slice(-MAX_ARCHIVED)];
}

function summaryItems({ messages, pending }: LedgerInput, tokens: Weigh): LedgerItem[] {
  const item = (summary: string, state: string, reason: string): LedgerItem => {
    const byteCount = Buffer.byteLength(summary);
    return { id: itemId("summary", summary), kind: "summary", byteCount, tokenEstimate: tokens(byteCount), state, reason };
  };
  const items = messages.flatMap((message) => {
    const summary = formerSummary(message);
    if (summary === undefined) return [];
    const [, handle] = /was summarised to save room \((records \d+-\d+)\)/.exec(summary) ?? [];
    return [item(summary, "visible", `latest_compaction_summary${handle === undefined ? "" : `: recover "${handle}"`}`)];
  });
  return pending ? [...items, item(pending.summary, "candidate", `waits for a review: ${pending.handle}`)] : items;
}

/** Estimated tokens of the next request, without a new prompt. */
export function usedTokens(budget: LedgerInput["budget"], harness: LedgerInput["harness"], messages: readonly Message[]): number {
  return budget.tokens(harness.prompt + harness.tools + budget.bytes(messages));
}

/** Everything in the context now, its size in tokens as far as reported usage has taught, its state and the reason. */
export function buildLedger(input: LedgerInput): ContextLedger {
  const { budget, harness, messages } = input;
  const tokens: Weigh = (bytes) => budget.tokens(bytes);
  const said = budget.bytes(messages);
  const skills = input.skills.map((skill) => skillItem(skill, tokens));
  const summaries = summaryItems(input, tokens);
  const elsewhere =
    input.sources.reduce((sum, source) => sum + (source.state === "visible" ? (source.heldBytes ?? 0) : 0), 0) +
    input.skills.reduce((sum, skill) => sum + skill.heldBytes, 0) +
    summaries.reduce((sum, item) => sum + (item.state === "visible" ? item.byteCount : 0), 0);
  const fixed = (id: string, bytes: number): LedgerItem => ({
    id,
    kind: "harness",
    byteCount: bytes,
    tokenEstimate: tokens(bytes),
    state: "visible",
    reason: "harness_always_loaded",
  });
  const transcript = Math.max(0, said - elsewhere);
  return {
    items: [
      fixed("ctx_harness_prompt", harness.prompt),
      fixed("ctx_harness_tools", harness.tools),
      ...sourceItems(input.sources, tokens),
      ...skills,
      ...summaries,
      {
        id: "ctx_transcript",
        kind: "transcript",
        byteCount: transcript,
        tokenEstimate: tokens(transcript),
        state: "visible",
        reason: "recent_transcript",
      },
      ...archivedItems(messages, tokens),
    ],
    availableInput: budget.available,
    target: budget.target,
    autoCompactionThreshold: budget.threshold,
    used: usedTokens(budget, harness, messages),
    limitSource: input.limitSource,
  };
}
