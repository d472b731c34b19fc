/** Commands that look and change nothing: /bg, /tokens, /status, /session. May run beside a turn. */
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

/** `/tokens`: what the session has used so far, as far as providers told. */
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

/** `/status`: what this run works with. */
export function status(repl: Repl): void {
  const { controls, runtime } = repl;
  repl.say([
    `model      ${visible(runtime.model)}${controls.reasoningEffort ? ` (reasoning ${controls.reasoningEffort})` : ""}`,
    `workspace  ${visible(runtime.workspace)}`,
    `directory  ${visible(controls.cwd)}`,
    `authority  ${controls.authority}, approval ${controls.approval}`,
    `tools      ${controls.tools.map(visible).join(" ")}`,
    `session    ${runtime.sessionPath === undefined ? "(not kept)" : visible(runtime.sessionId)}`,
    ...(runtime.logFailure === undefined ? [] : [`log        not being saved: ${visible(runtime.logFailure)}`]),
  ]);
}

/** `/session`: where it is kept. */
export function session(repl: Repl): void {
  const { sessionId, sessionPath } = repl.runtime;
  if (sessionPath === undefined) repl.say(["this session is not kept (--ephemeral)"]);
  else repl.say([`session  ${visible(sessionId)}`, `file     ${visible(sessionPath)}`]);
}
