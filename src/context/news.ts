/** What the index has found to be new or gone since (C10): named, not sent. Refuses: files that the conversation holds (changes.ts). */
import type { BackgroundIndex } from "./background.ts";
import type { ChangeFinder } from "./changes.ts";
import type { Piece } from "./format.ts";
import { type Entry, infoOf } from "./ledger.ts";

/** How long a later turn waits for news of nested files that nobody asked about. The first turn never waits. */
const INDEX_WAIT_MS = 150;
/** Nested files that came or went are listed up to here; then counted. */
const MAX_LISTED = 20;

type News = { readonly pieces: readonly Piece[]; readonly notes: readonly string[] };

export const NO_NEWS: News = { pieces: [], notes: [] };

export class NestedNews {
  readonly #index: BackgroundIndex;
  readonly #changes: Pick<ChangeFinder, "tell">;

  constructor(index: BackgroundIndex, changes: Pick<ChangeFinder, "tell">) {
    this.#index = index;
    this.#changes = changes;
  }

  async look(cwd: string, isFirstTurn: boolean): Promise<News> {
    if (!isFirstTurn) {
      this.#index.begin(cwd);
      if (this.#index.isQuick(INDEX_WAIT_MS)) await this.#index.settled(INDEX_WAIT_MS);
    }
    const { added, removed } = this.#index.take();
    const fresh = added.filter((entry) => entry.claim === undefined);
    for (const entry of fresh) this.#changes.tell("added", entry);
    for (const entry of removed) this.#changes.tell("removed", entry);
    const pieces = [
      ...fresh.filter((entry) => entry.state === "candidate").map((entry) => piece(entry, "added")),
      ...removed.map((entry) => piece(entry, "removed")),
    ];
    const more = pieces.length - MAX_LISTED;
    return { pieces: pieces.slice(0, MAX_LISTED), notes: more > 0 ? [`… and ${more} more that are not in use.`] : [] };
  }
}

function piece(entry: Entry, status: "added" | "removed"): Piece {
  return { info: infoOf(entry), status };
}
