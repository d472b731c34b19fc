/** Running totals of a conversation. Unknown stays unknown: a field is absent until something reported it. */
import type { RunEvent } from "../types/event.ts";
import type { Usage } from "../types/message.ts";
import type { RunTotals } from "./runtime.ts";

type Mutable = { -readonly [Key in keyof Usage]: number | undefined };

const FIELDS = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens", "costUsd"] as const;

/** Collects totals from a run's events. */
export function createTotals(): { event: (event: RunEvent) => void; read: () => RunTotals } {
  const usage: Mutable = {};
  const changed = new Set<string>();
  let requests = 0;
  return {
    event(event) {
      if (event.type === "request_started") requests += 1;
      else if (event.type === "usage") {
        for (const field of FIELDS) if (event.usage[field] !== undefined) usage[field] = (usage[field] ?? 0) + event.usage[field];
      } else if (event.type === "effect" && event.effect.kind === "file_write" && event.effect.status === "ok") {
        changed.add(event.effect.path);
      }
    },
    read() {
      const known: Record<string, number> = {};
      for (const field of FIELDS) if (usage[field] !== undefined) known[field] = usage[field];
      return { requests, usage: known, changedFiles: [...changed].sort() };
    },
  };
}
