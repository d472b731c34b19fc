/** Commands that look and change nothing: /bg, /context, /tokens, /status, /session. May run beside a turn. */
import type { BackgroundProcess } from "../tools/background.ts";
import type { Repl } from "./repl.ts";
import { visible } from "./sanitize.ts";
import { fit, shortCount, shortTime } from "./style.ts";

function describeProcess(process: BackgroundProcess, columns: number): string {
  const { id, status, elapsedMs, exitCode, command } = process;
  const state =
    status === "running" ? `running ${shortTime(elapsedMs)}` : `${status}${exitCode === null ? "" : `, exit ${exitCode}`}`;
  return fit(`  ${visible(id)}  ${state}  ${visible(command.join(" "))}`, columns);
}

/** `:bg`, `:bg cancel ID` (`1` means `bg1`). */
export async function background(repl: Repl, words: readonly string[]): Promise<void> {
  const { background: processes } = repl.controls;
  const [verb, given] = words;
  if (verb === undefined) {
    const list = processes.list();
    repl.say(list.length === 0 ? ["no background processes"] : list.map((process) => describeProcess(process, repl.columns)));
    return;
  }
  if (verb !== "cancel" || given === undefined || words.length > 2) {
    repl.error("usage: /bg, or /bg cancel ID");
    return;
  }
  const id = /^\d+$/.test(given) ? `bg${given}` : given;
  const before = processes.list().find((process) => process.id === id);
  if (!before) {
    const known = processes.list().map((process) => process.id);
    const names = known.length === 0 ? "none was started" : `there is ${known.join(", ")}`;
    repl.error(`there is no background process "${visible(given)}": ${names}`);
    return;
  }
  const ended = await processes.cancel(id);
  repl.say([ended ? describeProcess(ended, repl.columns) : `${visible(id)} is gone`]);
}

/** Instruction files with their states, and the room in the context. */
export function context(repl: Repl, words: readonly string[]): void {
  if (words.length > 0) {
    repl.error("usage: /context, or /context review approve|reject");
    return;
  }
  const { used, available, contextWindow, source } = repl.controls.windowUse();
  const share = Math.min(100, Math.round((used / Math.max(1, available)) * 100));
  const sources = repl.controls.sources.map((file) => {
    const marks = [file.state, ...(file.truncated ? ["truncated"] : [])].join(", ");
    return `  ${visible(file.path)}  (${marks}; ${shortCount(file.byteCount)} bytes; ${visible(file.reason)})`;
  });
  repl.say([
    `context: about ${shortCount(used)} of ${shortCount(available)} tokens used (${share}%), window ${shortCount(contextWindow)} (${source})`,
    ...(sources.length === 0 ? ["  no instruction files"] : sources),
  ]);
  const pending = repl.runtime.pendingCompaction;
  if (pending) repl.say([`a summary waits for review (${visible(pending.handle)}): /context review approve, or reject`]);
}

export function tokens(repl: Repl): void {
  const { requests, usage } = repl.runtime.totals();
  const known = (label: string, count: number | undefined): string[] =>
    count === undefined ? [] : [`${label} ${shortCount(count)}`];
  const parts = [
    `${requests} request${requests === 1 ? "" : "s"}`,
    ...known("input", usage.inputTokens),
    ...known("from cache", usage.cacheReadTokens),
    ...known("output", usage.outputTokens),
    ...known("reasoning", usage.reasoningTokens),
    ...(usage.costUsd === undefined ? [] : [`$${usage.costUsd.toFixed(4)}`]),
  ];
  repl.say([parts.join(", ")]);
}

export function status(repl: Repl): void {
  const { controls, runtime } = repl;
  repl.say([
    `model      ${visible(runtime.model)}${controls.reasoningEffort ? ` (reasoning ${controls.reasoningEffort})` : ""}`,
    `workspace  ${visible(runtime.workspace)}`,
    `directory  ${visible(controls.cwd)}`,
    `authority  ${controls.authority}, approval ${controls.approval}`,
    `tools      ${controls.tools.map(visible).join(" ")}`,
    `session    ${runtime.sessionPath === undefined ? "(not kept)" : visible(runtime.sessionId)}`,
    ...(runtime.logFailure === undefined ? [] : [`log        ${visible(runtime.logFailure)}`]),
  ]);
}

export function session(repl: Repl): void {
  const { sessionId, sessionPath } = repl.runtime;
  if (sessionPath === undefined) repl.say(["this session is not kept (--ephemeral)"]);
  else repl.say([`session  ${visible(sessionId)}`, `file     ${visible(sessionPath)}`]);
}
