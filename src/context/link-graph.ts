/**
 * Which linked files are still linked (C7): a file may be linked by several, and is in force while one of them is. Refuses:
 * reading files; deciding what is sent.
 */
import type { Entry, Ledger } from "./ledger.ts";

/** Linked files of the conversation that no file in force leads to any more. The others are named after one that does. */
export function unlinked(ledger: Ledger): Entry[] {
  const reached = new Set<Entry>();
  const due = ledger.claimed().filter((entry) => entry.origin !== "link" && entry.links.length > 0);
  for (let from = due.shift(); from; from = due.shift()) {
    for (const { path } of from.links) {
      const entry = path === undefined ? undefined : ledger.get(path);
      if (entry?.origin !== "link" || reached.has(entry)) continue;
      reached.add(entry);
      if (!leads(ledger.get(entry.linkedFrom ?? ""), entry)) adopt(entry, from);
      due.push(entry);
    }
  }
  return ledger.claimed().filter((entry) => entry.origin === "link" && !reached.has(entry));
}

function leads(from: Entry | undefined, to: Entry): boolean {
  return from?.links.some(({ path }) => path === to.path) === true;
}

function adopt(entry: Entry, from: Entry): void {
  const { path, place, scope, confine } = from;
  Object.assign(entry, { linkedFrom: path, place, scope, confine, reason: `linked from ${path}` });
}

/** How many links lead to it from a file that is none. */
export function linkDepth(ledger: Ledger, entry: Entry): number {
  let depth = 0;
  let from: Entry | undefined = entry;
  while (from?.origin === "link" && depth < 16) {
    depth++;
    from = ledger.get(from.linkedFrom ?? "");
  }
  return depth;
}
