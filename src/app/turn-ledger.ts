/** When the `context_ledger` record of a turn is written. Refuses: what it says (ledger.ts). */
import { atMost } from "../base/at-most.ts";
import type { Emit } from "../types/event.ts";
import type { ContextLedger } from "./ledger.ts";

export type TurnLedgerParts = {
  readonly turnId: string;
  readonly ledger: () => ContextLedger;
  /** Resolves when the background index is complete. */
  readonly indexed: () => Promise<void>;
  readonly emit: Emit;
};

/** At most this long the end of a turn waits for the background index: the answer is shown after it. */
const TURN_WAIT_MS = 50;

/** At most this long the end of the program does; it is to end within a second of its last byte. */
const CLOSE_WAIT_MS = 700;

/** What a ledger says, without the sizes, which every request changes; those of prompt and tools change only with these. */
function shapeOf({ items }: ContextLedger): string {
  return items
    .map(({ id, kind, state, contentHash = "", byteCount }) => `${id} ${state} ${kind === "harness" ? byteCount : contentHash}`)
    .join("\n");
}

export type TurnLedger = {
  /** The turn is over. One that did not end well has said its last word already: nothing more is written. */
  finish(well: boolean): Promise<void>;
  /** The program ends: what waits for the index gets its last chance. */
  settle(): Promise<void>;
  /** Another turn begins, with a ledger of its own. */
  drop(): void;
};

/**
 * Written as soon as the background index is complete, beside the turn: no answer waits for it. Once more at the turn's end
 * where the turn has changed what it says.
 */
export function beginTurnLedger(parts: TurnLedgerParts): TurnLedger {
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
      if (well) await atMost(TURN_WAIT_MS, written);
      if (well && last !== undefined) write();
      // In a large tree the index may still be made: then its ledger comes when it comes.
      over = !well || last !== undefined;
    },
    async settle() {
      if (!over) await atMost(CLOSE_WAIT_MS, written);
      over = true;
    },
    drop() {
      over = true;
    },
  };
}
