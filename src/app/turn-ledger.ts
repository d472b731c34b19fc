/** When the `context_ledger` record of a turn is written. Refuses: what it says (ledger.ts). */
import type { Emit } from "../types/event.ts";
import type { ContextLedger } from "./ledger.ts";

export type TurnLedgerParts = {
  readonly turnId: string;
  readonly ledger: () => ContextLedger;
  /** Resolves when the background index is complete. */
  readonly indexed: () => Promise<void>;
  readonly emit: Emit;
};

/** At most this long after a turn the background index is waited for, so that the ledger is written. */
const INDEX_WAIT_MS = 2000;

/** What a ledger says, without the sizes, which every request changes. */
function shapeOf(ledger: ContextLedger): string {
  return ledger.items.map((item) => `${item.id} ${item.state} ${item.contentHash ?? ""}`).join("\n");
}

/**
 * Written as soon as the background index is complete, beside the turn: nothing waits for it before the answer is there. Once
 * more at the turn's end where the turn has changed what it says. `finish` is told whether the turn ended well: one that did
 * not has said its last word already.
 */
export function beginTurnLedger(parts: TurnLedgerParts): { readonly finish: (well: boolean) => Promise<void> } {
  let over = false;
  let last: string | undefined;
  const write = (): void => {
    if (over) return;
    const now = parts.ledger();
    const shape = shapeOf(now);
    if (shape !== last) parts.emit({ type: "context_ledger", turnId: parts.turnId, ...now });
    last = shape;
  };
  const written = parts.indexed().then(write);
  return {
    async finish(well) {
      if (well) await within(INDEX_WAIT_MS, written);
      if (well && last !== undefined) write();
      over = true;
    },
  };
}

/** Waits for `work`, at most `ms`; leaves no timer behind. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}
