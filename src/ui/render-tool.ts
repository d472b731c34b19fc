/** A finished or running tool call as lines: status, name, subject, time, a few lines of its output, diffs in colour. */
import type { ToolStatus } from "../types/event.ts";
import { sanitize, visible } from "./sanitize.ts";
import { fit, type Style, shortTime } from "./style.ts";
import { callSummary } from "./tool-summary.ts";

export type ToolView = {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
};

export type FinishedTool = ToolView & {
  readonly status: ToolStatus;
  readonly output: string;
  readonly truncated: boolean;
  readonly elapsedMs: number;
};

const MAX_OUTPUT_LINES = 5;
const MAX_DIFF_LINES = 60;
const HUNK = /^@@ /m;
/** Output that is looked at for its lines; the rest is counted by the bytes. */
const LOOKED_AT = 64 * 1024;

function isDiff(output: string): boolean {
  return HUNK.test(output.slice(0, LOOKED_AT)) && /^(?:---|\+\+\+) /m.test(output.slice(0, LOOKED_AT));
}

function paintDiff(line: string, style: Style): string {
  if (line.startsWith("+++") || line.startsWith("---")) return style.bold(line);
  if (line.startsWith("@@")) return style.cyan(line);
  if (line.startsWith("+")) return style.green(line);
  if (line.startsWith("-")) return style.red(line);
  return style.dim(line);
}

/** Every line of tool output is one row here: control, bidirectional and invisible characters are made visible (T03). */
function safeLine(line: string): string {
  return line.includes("\t") ? line.split("\t").map(visible).join("    ") : visible(line);
}

function outputLines(call: FinishedTool, columns: number, style: Style): string[] {
  const text = sanitize(call.output.trimEnd());
  if (text === "") return [];
  const lines = text.slice(0, LOOKED_AT).split("\n");
  const diff = isDiff(text);
  const limit = diff ? MAX_DIFF_LINES : MAX_OUTPUT_LINES;
  const bar = style.dim("  │ ");
  const shown = lines.slice(0, limit).map((line) => {
    const row = fit(safeLine(line), columns - 5);
    return `${bar}${diff ? paintDiff(row, style) : style.dim(row)}`;
  });
  const left = text.length > LOOKED_AT ? Math.max(1, text.split("\n").length - limit) : lines.length - limit;
  if (left > 0) shown.push(style.dim(`  └ … ${left} more line${left === 1 ? "" : "s"}`));
  return shown;
}

const MARKS: Readonly<Record<ToolStatus, readonly [string, "green" | "red" | "yellow"]>> = {
  ok: ["✓", "green"],
  failed: ["✗", "red"],
  cancelled: ["■", "yellow"],
};

/** Narrower terminals get the facts on a row of their own. */
const NARROW = 40;

/** The settled form. */
export function renderTool(call: FinishedTool, columns: number, style: Style): string[] {
  const [mark, colour] = MARKS[call.status];
  const facts = [
    ...(call.status === "ok" ? [] : [call.status]),
    shortTime(call.elapsedMs),
    ...(call.truncated ? ["truncated"] : []),
  ].join(", ");
  const narrow = columns < NARROW;
  const summary = fit(callSummary(call.name, call.arguments), narrow ? columns - 2 : Math.max(8, columns - facts.length - 5));
  const [name = "", ...rest] = summary.split(" ");
  const subject = rest.length > 0 ? ` ${rest.join(" ")}` : "";
  const head = `${style[colour](mark)} ${style.bold(name)}${subject}`;
  const heads = narrow ? [head, style.dim(`  (${facts})`)] : [`${head} ${style.dim(`(${facts})`)}`];
  return [...heads.map((line) => fit(line, columns)), ...outputLines(call, columns, style)];
}

/** The live form. */
export function renderRunningTool(call: ToolView, elapsedMs: number, spinner: string, columns: number, style: Style): string {
  const time = shortTime(elapsedMs);
  const room = columns < NARROW ? columns - 2 : columns - time.length - 3;
  const summary = fit(callSummary(call.name, call.arguments), room);
  return `${style.cyan(spinner)} ${summary}${columns < NARROW ? "" : ` ${style.dim(time)}`}`;
}
