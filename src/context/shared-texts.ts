/**
 * What of one delivery is sent as text (C6, A04): a text that several files have stands there once, and where all of it is too
 * much, the closest files keep theirs. Refuses: words for the person, claims.
 */
import { attribute } from "../base/own-elements.ts";
import { type Piece, TWIN } from "./format.ts";
import type { Entry } from "./ledger.ts";

export type Item = {
  readonly entry: Entry;
  readonly reason: string;
  readonly status?: Piece["status"];
  readonly body?: string;
  readonly truncated: boolean;
  readonly note?: string;
  /** The note says so: its text stands under this path. */
  readonly twinOf?: string;
  readonly gone?: boolean;
};

export function twinNote(path: string): string {
  return `${TWIN}${attribute(path)}, which stands above.`;
}

/** May the text of this file stand for that of others? What refers to it must not be left behind when it goes. */
export function isLasting({ origin }: Entry): boolean {
  return origin !== "link" && origin !== "pin";
}

/** Nested files whose very text comes before them in the same delivery are named. */
export function shareTexts(items: readonly Item[]): Item[] {
  const holders = new Map<string, Item>();
  return items.map((item) => {
    const { entry, body, reason, status } = item;
    if (body === undefined || !isLasting(entry)) return item;
    // A template takes in the files of its own directory: what it became decides, too.
    const key = `${entry.contentHash}\0${entry.parts}\0${body}`;
    const holder = holders.get(key);
    if (holder === undefined || entry.origin !== "nested") {
      holders.set(key, holder ?? item);
      return item;
    }
    const { path } = holder.entry;
    return { entry, reason, ...(status && { status }), truncated: holder.truncated, note: twinNote(path), twinOf: path };
  });
}

/** The user's own file, or what it links. */
function isOwn({ entry }: Item): boolean {
  return entry.origin === "global" || (entry.origin === "link" && entry.scope === "~");
}

/**
 * Which of the texts fit into `room` characters: over it, the broadest give way; the closest keep their text. The user's own
 * instructions (C13) give way to nothing that a repository holds, however much that is. Answers the places of those that do not
 * fit, and of the files that share their texts.
 */
export function leftOut(items: readonly Item[], room: number): ReadonlySet<number> {
  const out = new Set<number>();
  const judged = new Set<number>();
  const at = new Map(items.flatMap(({ entry, body }, index) => (body === undefined ? [] : [[entry.path, index] as const])));
  let left = room;
  for (const item of items) if (isOwn(item)) left -= item.body?.length ?? 0;
  for (let index = items.length - 1; index >= 0; index--) {
    const twin = items[index]?.twinOf;
    const holder = (twin === undefined ? index : at.get(twin)) ?? index;
    const item = items[holder];
    if (item?.body !== undefined && !isOwn(item) && !judged.has(holder)) {
      judged.add(holder);
      if (item.body.length <= left) left -= item.body.length;
      else out.add(holder);
    }
    if (out.has(holder)) out.add(index);
  }
  return out;
}
