/**
 * What a person decided about the context, folded from `context_pin` and `context_drop` records (sessions.md, Records). The
 * record's `reason` says which way it went. Refuses: touching files.
 */
import type { ContextItemRecord } from "./records.ts";

export const PINNED = "user_pin";
export const UNPINNED = "user_unpin";
export const DROPPED = "explicit_drop";
/** With a path: that drop; without one: all of them. */
export const DROP_RESET = "drop_reset";

export type Decisions = {
  /** As recorded: relative to the workspace root, or absolute. */
  readonly pins: readonly string[];
  readonly drops: readonly { readonly path: string; readonly contentHash: string }[];
};

export class DecisionFold {
  readonly #pins = new Set<string>();
  readonly #drops = new Map<string, string>();

  add({ type, item, reason }: ContextItemRecord): void {
    const { path, content_hash } = item;
    if (type === "context_pin" && path !== undefined) {
      if (reason === UNPINNED) this.#pins.delete(path);
      else this.#pins.add(path);
    }
    if (type !== "context_drop") return;
    if (reason !== DROP_RESET) {
      if (path !== undefined && content_hash !== undefined) this.#drops.set(path, content_hash);
    } else if (path === undefined) this.#drops.clear();
    else this.#drops.delete(path);
  }

  finish(): Decisions {
    return {
      pins: [...this.#pins],
      drops: [...this.#drops].map(([path, contentHash]) => ({ path, contentHash })),
    };
  }
}
