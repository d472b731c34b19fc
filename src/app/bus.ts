/** How a run's events reach those who record and those who show them. Refuses: knowing what an event means. */
import type { Diagnostic, Emit, RunEvent } from "../types/event.ts";
import type { Runtime } from "./runtime.ts";

export type Bus = {
  readonly emit: Emit;
  readonly subscribe: Runtime["subscribe"];
  /** Ours: the recorder first, then what counts; they are no listeners, so nothing that is kept for one is lost on them. */
  readonly taps: Emit[];
  readonly diagnostics: Diagnostic[];
};

/** Recorded first, shown second. What is said while nobody listens is kept for whoever listens next. */
export function createBus(): Bus {
  const listeners = new Set<(event: RunEvent) => void>();
  const early: RunEvent[] = [];
  const bus: Bus = {
    diagnostics: [],
    taps: [],
    emit(event) {
      if (event.type === "diagnostic") bus.diagnostics.push(event.diagnostic);
      for (const tap of bus.taps) tap(event);
      if (listeners.size === 0) early.push(event);
      for (const listener of listeners) listener(event);
    },
    subscribe(listener) {
      listeners.add(listener);
      for (const event of early.splice(0)) listener(event);
      return () => listeners.delete(listener);
    },
  };
  return bus;
}
