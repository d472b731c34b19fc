/**
 * A terminal that only knows lines (TERM=dumb): what is typed is echoed, everything else starts on a line of its own. No
 * control sequence is ever written. Refuses: a live region.
 */
import { LAST_STALL_MS, type LiveTerminal } from "./live.ts";
import type { LiveView } from "./live-view.ts";
import type { OutputStream } from "./output.ts";
import { visible } from "./sanitize.ts";

const FRAME_MS = 34;

/** `view` is asked for the input only. */
export function createPlainTerminal(stream: OutputStream, view: () => LiveView): LiveTerminal {
  /** The input as it stands on the terminal's last line; undefined when that line is not the input. */
  let shown: string | undefined;
  let held = false;
  /** Texts that came while somebody else had the terminal. */
  const waiting: string[] = [];
  let over = false;
  let planned: ReturnType<typeof setTimeout> | undefined;
  const lineOf = ({ input }: LiveView): string => `${input.prompt}${visible(input.text.replaceAll("\n", "↵"))}`;
  const draw = (): void => {
    planned = undefined;
    const current = view();
    const { input } = current;
    const line = lineOf(current);
    if (line === "") leaveLine();
    if (line === (shown ?? "")) return;
    const grows = shown !== undefined && line.startsWith(shown) && input.cursor === input.text.length;
    const start = shown === undefined ? "" : "\n";
    stream.write(grows ? line.slice(shown?.length ?? 0) : `${start}${line}`);
    shown = line;
  };
  const leaveLine = (): void => {
    if (shown !== undefined) stream.write("\n");
    shown = undefined;
  };
  const refresh = (): void => {
    if (!held && !over) planned ??= setTimeout(draw, FRAME_MS);
  };
  const put = (text: string): void => {
    leaveLine();
    stream.line(text);
    refresh();
  };
  return {
    get columns() {
      return stream.columns;
    },
    get rows() {
      return stream.rows;
    },
    settle(text) {
      if (held) waiting.push(text);
      else put(text);
    },
    refresh,
    async hold() {
      held = true;
      clearTimeout(planned);
      planned = undefined;
      leaveLine();
      await stream.flush();
    },
    release() {
      held = false;
      for (const text of waiting.splice(0)) put(text);
      refresh();
    },
    // Questions are lines here, answered by number.
    host() {},
    restart() {
      shown = undefined;
      refresh();
    },
    clear() {
      leaveLine();
      refresh();
    },
    async finish() {
      if (over) return;
      over = true;
      clearTimeout(planned);
      leaveLine();
      stream.hurry(LAST_STALL_MS);
      await stream.flush();
    },
  };
}
