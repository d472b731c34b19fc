/** The rows below the input: what is going on, how long, tokens, context left, cost; hints and menus. Pure. */
import type { QueueKind } from "../types/event.ts";
import type { Usage } from "../types/message.ts";
import { visible } from "./sanitize.ts";
import { fit, type Style, shortCount, shortTime } from "./style.ts";

export type StatusFacts = {
  readonly model: string;
  /** What runs, as one word; undefined when idle. */
  readonly activity: string | undefined;
  readonly elapsedMs: number;
  readonly usage: Usage;
  /** Tokens of input that still fit, as a share of what fits; undefined when unknown. */
  readonly contextLeft: number | undefined;
  /** What Enter does while something runs. */
  readonly target: QueueKind;
  readonly background: number;
  readonly hint: string | undefined;
};

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** The spinner's picture at a time. */
export function spinnerAt(ms: number): string {
  return FRAMES[Math.floor(ms / 100) % FRAMES.length] ?? "⠋";
}

/** Parts that fit, in order of importance; one line. */
export function statusLine(facts: StatusFacts, columns: number, style: Style): string {
  const { usage, activity } = facts;
  if (facts.hint !== undefined) return style.yellow(fit(facts.hint, columns));
  const parts: string[] = [];
  if (activity !== undefined) {
    // In whole seconds, none of them at first: only the spinner moves more often.
    const seconds = Math.floor(facts.elapsedMs / 1000);
    const since = seconds === 0 ? "" : ` ${shortTime(seconds * 1000)}`;
    parts.push(`${spinnerAt(facts.elapsedMs)} ${activity}${since}`);
    parts.push(`Enter: ${facts.target}`);
  } else parts.push(visible(facts.model));
  if (facts.contextLeft !== undefined) parts.push(`${Math.round(facts.contextLeft * 100)}% context left`);
  if (usage.inputTokens !== undefined || usage.outputTokens !== undefined) {
    parts.push(`${shortCount(usage.inputTokens ?? 0)} in ${shortCount(usage.outputTokens ?? 0)} out`);
  }
  if (usage.costUsd !== undefined) parts.push(`$${usage.costUsd.toFixed(usage.costUsd < 1 ? 4 : 2)}`);
  if (facts.background > 0) parts.push(`${facts.background} in background`);
  if (activity !== undefined) parts.push("Esc cancels");
  let line = parts[0] ?? "";
  for (const part of parts.slice(1)) {
    if (Bun.stringWidth(line) + Bun.stringWidth(part) + 3 > columns) continue;
    line += ` · ${part}`;
  }
  return style.dim(fit(line, columns));
}

/** Completion candidates in one row, the chosen one marked. */
export function menuLine(candidates: readonly string[], at: number, columns: number, style: Style): string {
  const from = Math.max(0, at - 2);
  const words = candidates.slice(from, from + 12).map((candidate, index) => {
    const word = visible(candidate);
    return from + index === at ? style.inverse(word) : style.dim(word);
  });
  const more = candidates.length > from + 12 ? style.dim(` … ${candidates.length}`) : "";
  return fit(words.join("  ") + more, columns);
}
