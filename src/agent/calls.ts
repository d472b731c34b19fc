/**
 * Runs the tool calls of one message (tools.md, For all): reads together, everything else alone and in the model's order.
 * The last cap and the redaction sit here, so no tool can forget them. Refuses: knowing any tool.
 */
import { wellFormed } from "../base/json.ts";
import { cutChars } from "../base/text.ts";
import type { ToolContext, ToolResult } from "../tools/tool.ts";
import { failed } from "../tools/tool.ts";
import type { Emit } from "../types/event.ts";
import type { ToolCall, ToolMessage } from "../types/message.ts";
import { checkArguments, parseArguments, withoutNulls } from "./arguments.ts";
import type { Toolbox, ToolEntry } from "./toolbox.ts";

/** No result that leaves a tool is larger, whatever the tool did (bytes). */
const LAST_CAP_BYTES = 96 * 1024;

/** Of an internal error's text: it may hold a path of any length. */
const BUG_CHARS = 500;

export type Permit = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

export type CallsContext = {
  readonly turnId: string;
  readonly toolbox: Toolbox;
  readonly signal: AbortSignal;
  readonly emit: Emit;
  /** Everything of ToolContext that does not change from call to call. */
  readonly tool: Omit<ToolContext, "callId" | "signal" | "hides">;
  readonly permit: (
    name: string,
    input: Readonly<Record<string, unknown>>,
    entry: ToolEntry,
    signal: AbortSignal,
  ) => Permit | Promise<Permit>;
  /** Files that a tool which looks through directories leaves out (security.md 5). */
  readonly hides?: (name: string) => ((path: string) => boolean) | undefined;
  /** Notes that a tool was called which the policy leaves out; the reason, for the model. */
  readonly withhold: (name: string) => string;
  readonly redact: (text: string) => string;
  readonly redactArguments: (value: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** Project context that the touched paths call for (C9.4); "" when there is none. `batch`: what the calls beside it touched. */
  readonly touched: (paths: ToolResult["touched"], turnId: string, batch: ToolResult["touched"]) => Promise<string>;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
};

export type FinishedCall = { readonly call: ToolCall; readonly result: ToolResult; readonly message: ToolMessage };

/** Cuts at a character boundary and says so. */
function lastCap(result: ToolResult): ToolResult {
  if (result.text.length * 3 <= LAST_CAP_BYTES) return result;
  const bytes = Buffer.from(result.text);
  if (bytes.length <= LAST_CAP_BYTES) return result;
  let end = LAST_CAP_BYTES;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  const text = `${bytes.subarray(0, end).toString("utf8")}\n[result cut at ${LAST_CAP_BYTES} of ${bytes.length} bytes; ask for less at a time]`;
  return { ...result, text, truncated: true };
}

function noTool(name: string, { toolbox, withhold }: CallsContext): ToolResult {
  const names = toolbox.specs().map((spec) => spec.name);
  const why = toolbox.withheld(name) ? withhold(name) : `There is no tool "${name}".`;
  return failed(`${why} The tools are: ${names.join(", ")}.`);
}

/** A throw is a bug (rule 9): it is said to the person and costs the call, not the session. Answers with its text, for the model. */
function tellBug(error: unknown, where: string, { emit, redact }: CallsContext): string {
  const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  const said = redact(cutChars(first, BUG_CHARS));
  const frames = error instanceof Error ? (error.stack ?? "").split("\n").filter((line) => /^ +at .{1,300}$/.test(line)) : [];
  const [place] = frames.flatMap((frame) => /\bsrc\/[\w./-]+:\d+/.exec(frame)?.[0] ?? []);
  const at = place === undefined ? "" : `, at ${place}`;
  const message = `${where}: internal error: ${said} (this is a bug in thndrs${at})`;
  emit({ type: "diagnostic", diagnostic: { severity: "error", code: "tool_bug", message } });
  return said;
}

async function executeSafely(
  call: ToolCall,
  entry: ToolEntry | undefined,
  input: Readonly<Record<string, unknown>>,
  context: CallsContext,
): Promise<ToolResult> {
  try {
    return await execute(call, entry, input, context);
  } catch (error) {
    const said = tellBug(error, call.name, context);
    const half = entry?.effect === "read" ? "" : " A part of what it was to do may be done.";
    return failed(`${call.name} failed with an internal error of thndrs: ${said}.${half} Another way may work.`);
  }
}

async function execute(
  call: ToolCall,
  entry: ToolEntry | undefined,
  input: Readonly<Record<string, unknown>>,
  context: CallsContext,
): Promise<ToolResult> {
  if (!entry) return noTool(call.name, context);
  const given = withoutNulls(input, entry.spec.parameters);
  const permit = await context.permit(call.name, given, entry, context.signal);
  if (!permit.allowed) {
    // Who cancels the run at the question has not denied the call (L08).
    const cancelled = context.signal.aborted ? ({ status: "cancelled" } as const) : {};
    return { ...failed(permit.reason), ...cancelled };
  }
  const tool = await entry.load();
  const checked = checkArguments(call.name, tool.input, given);
  if (!checked.ok) return failed(checked.message);
  const hides = context.hides?.(call.name);
  return tool.run(checked.input, { ...context.tool, callId: call.id, signal: context.signal, ...(hides && { hides }) });
}

const HALF =
  "The arguments hold half a surrogate pair (like \\ud83d alone), which is not a character. The call was not run; send it again with " +
  "whole characters.";
const CUT = "This call was cut at the output limit and was not run. Send it again, in smaller pieces.";

async function runOne(call: ToolCall, context: CallsContext, cut: boolean): Promise<ToolResult> {
  const { emit, turnId } = context;
  const entry = context.toolbox.find(call.name);
  const parsed = parseArguments(call.arguments);
  const input = parsed.ok ? parsed.value : {};
  // Mended, the call would be about another text than the model meant (P20 mends what is sent and stored).
  const mended = wellFormed(input) as typeof input;
  emit({
    type: "tool_started",
    turnId,
    callId: call.id,
    name: call.name,
    arguments: parsed.ok ? context.redactArguments(mended) : { _unparsed: context.redact(call.arguments.slice(0, 2000)) },
    ...(entry?.mcp && { mcp: entry.mcp }),
  });
  const started = context.now();
  let result: ToolResult;
  if (context.signal.aborted) {
    result = { ...failed("Cancelled before it started."), status: "cancelled" };
  } else if (cut) {
    result = failed(CUT);
  } else if (!parsed.ok) {
    result = failed(parsed.message);
  } else if (mended !== input) {
    result = failed(HALF);
  } else {
    result = await executeSafely(call, entry, input, context);
  }
  result = lastCap(result);
  for (const effect of result.effects) emit({ type: "effect", turnId, callId: call.id, effect });
  emit({
    type: "tool_finished",
    turnId,
    callId: call.id,
    name: call.name,
    status: result.status,
    output: context.redact(result.text),
    truncated: result.truncated,
    elapsedMs: Math.round(context.now() - started),
  });
  return result;
}

/** Calls grouped so that neighbours which may run together do, and nothing else overlaps. */
function groups(calls: readonly ToolCall[], toolbox: Toolbox): ToolCall[][] {
  const grouped: ToolCall[][] = [];
  let open = false;
  for (const call of calls) {
    const parallel = toolbox.find(call.name)?.parallel ?? false;
    const last = grouped.at(-1);
    if (parallel && open && last) last.push(call);
    else grouped.push([call]);
    open = parallel;
  }
  return grouped;
}

/** Reads that run at one time: more would not be faster, and each needs memory. */
const MOST_TOGETHER = 4;

async function together(calls: readonly ToolCall[], run: (call: ToolCall) => Promise<ToolResult>): Promise<ToolResult[]> {
  const results: ToolResult[] = [];
  const waiting = calls.entries();
  const work = async (): Promise<void> => {
    for (const [index, call] of waiting) results[index] = await run(call);
  };
  await Promise.all(Array.from({ length: Math.min(MOST_TOGETHER, calls.length) }, work));
  return results;
}

async function contextOf(result: ToolResult, batch: ToolResult["touched"], context: CallsContext): Promise<string> {
  if (result.touched.length === 0 || context.signal.aborted) return "";
  try {
    return await context.touched(result.touched, context.turnId, batch);
  } catch (error) {
    tellBug(error, "project context", context);
    return "";
  }
}

/**
 * Runs a batch. Every call gets exactly one result, in the model's order, also after a cancel (status `cancelled`).
 * Text of instruction files met on the way is appended after the cap and is not part of the event.
 */
export async function runCalls(
  calls: readonly ToolCall[],
  context: CallsContext,
  /** Id of a call that the output limit cut: answered, never run. */
  cutCall?: string,
): Promise<readonly FinishedCall[]> {
  const finished: FinishedCall[] = [];
  for (const group of groups(calls, context.toolbox)) {
    const results = await together(group, (call) => runOne(call, context, call.id === cutCall));
    const batch = results.flatMap((result) => result.touched);
    for (const [index, call] of group.entries()) {
      const result = results[index];
      if (!result) continue;
      const extra = await contextOf(result, batch, context);
      const text = extra === "" ? result.text : `${result.text}\n\n${extra}`;
      finished.push({
        call,
        result,
        message: {
          role: "tool",
          callId: call.id,
          name: call.name,
          text: text === "" ? "(no output)" : text,
          failed: result.status !== "ok",
        },
      });
    }
  }
  return finished;
}
