/** A live region without a terminal: a clock that is told the time, and a screen as the output stream. */
import type { createLiveTerminal } from "../../src/ui/live.ts";
import type { OutputStream } from "../../src/ui/output.ts";
import type { Screen } from "../support/screen.ts";

export type Ticking = {
  readonly now: () => number;
  readonly run: (ms: number) => Promise<void>;
  readonly clock: Parameters<typeof createLiveTerminal>[0]["clock"];
};

/** A clock that goes on only when told. */
export function manualClock(): Ticking {
  let time = 0;
  let timers: { readonly at: number; readonly action: () => void }[] = [];
  return {
    now: () => time,
    async run(ms) {
      const end = time + ms;
      for (;;) {
        const [next] = timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at);
        if (!next) break;
        timers = timers.filter((timer) => timer !== next);
        time = Math.max(time, next.at);
        next.action();
        await Promise.resolve();
        await Promise.resolve();
      }
      time = end;
    },
    clock: {
      now: () => time,
      after(ms, action) {
        const timer = { at: time + ms, action };
        timers.push(timer);
        return () => {
          timers = timers.filter((other) => other !== timer);
        };
      },
      sleep: async () => undefined,
    },
  };
}

/** The screen as an output stream of its size; the terminal makes CR LF of a line feed, as it does for every program. */
export function streamOf(
  screen: Screen,
  onWrite: (text: string) => void = () => undefined,
  resizes = new Set<() => void>(),
): OutputStream {
  return {
    isTerminal: true,
    color: true,
    get columns() {
      return screen.columns;
    },
    get rows() {
      return screen.rows;
    },
    broken: undefined,
    lost: false,
    write(part) {
      onWrite(String(part));
      screen.write(String(part).replaceAll(/\r?\n/g, "\r\n"));
    },
    line: () => undefined,
    flush: async () => undefined,
    onBroken: () => undefined,
    onResize: (listener) => {
      resizes.add(listener);
      return () => void resizes.delete(listener);
    },
    writeNow: () => undefined,
    prepare: () => undefined,
    hurry: () => undefined,
    busy: false,
  };
}
