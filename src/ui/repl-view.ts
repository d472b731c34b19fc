/** The live region of the REPL, put together from what everybody knows. Pure. */
import type { OpenedRuntime } from "../app/open.ts";
import type { Input } from "./input.ts";
import type { LiveView } from "./live-view.ts";
import { visible } from "./sanitize.ts";
import { typedFor } from "./slash.ts";
import { menuLine, spinnerAt, statusLine } from "./status.ts";
import { fit, type Style } from "./style.ts";
import type { Transcript } from "./transcript.ts";
import type { Turns } from "./turns.ts";

export type ViewParts = {
  readonly opened: OpenedRuntime | undefined;
  readonly input: Pick<Input, "text" | "cursor" | "menu" | "search">;
  readonly transcript: Pick<Transcript, "moving">;
  readonly turns: Pick<Turns, "activity" | "target">;
  readonly style: Style;
  readonly columns: number;
  readonly rows: number;
  readonly prompt: string;
  readonly closing: boolean;
  readonly contextLeft: number | undefined;
  readonly hint: string | undefined;
};

/** Rows of text that still moves: a third of the terminal, at most eight. */
function movingRows(rows: number): number {
  return Math.max(1, Math.min(8, Math.floor(rows / 3)));
}

function statusOf(parts: ViewParts, { runtime, controls }: OpenedRuntime): string {
  const { activity, target } = parts.turns;
  return statusLine(
    {
      model: runtime.model,
      activity: parts.closing ? "closing" : activity?.label,
      elapsedMs: activity?.elapsedMs ?? 0,
      usage: runtime.totals().usage,
      contextLeft: parts.contextLeft,
      target,
      background: controls.background.list().filter((process) => process.status === "running").length,
      hint: parts.hint,
    },
    parts.columns,
    parts.style,
  );
}

/** Composes the view. */
export function composeView(parts: ViewParts): LiveView {
  const { style, columns, opened } = parts;
  const { search, menu, text, cursor } = parts.input;
  const queued = (opened?.controls.queue.pending() ?? []).map((input) =>
    style.dim(fit(`↳ ${input.kind}: ${visible(typedFor(input.text))}`, columns)),
  );
  const moving = parts.transcript.moving(spinnerAt(parts.turns.activity?.elapsedMs ?? 0), movingRows(parts.rows));
  const below: string[] = [];
  if (search) below.push(style.yellow(fit(`history: ${visible(search.query)}${search.found ? "" : " (not found)"}`, columns)));
  if (menu) below.push(menuLine(menu.candidates, menu.at, columns, style));
  if (opened) below.push(statusOf(parts, opened));
  return { above: [...moving, ...queued], input: { prompt: parts.prompt, text, cursor }, below };
}
