/** What is sent again after compaction (C11): which nested files, and the list of all others. Refuses: sending. */
import { attribute } from "../base/own-elements.ts";
import type { Entry, Ledger } from "./ledger.ts";
import type { Resolved } from "./resolve.ts";

/** Nested files whose text a new context begins with. */
export const MAX_NESTED = 5;
/** Known files listed as paths; then they are counted. */
const MAX_LISTED = 200;

/** Up to five nested files of those the conversation held, the most recently used, broad to close. */
export function recentNested(held: readonly Entry[], chain: readonly Resolved[]): Entry[] {
  const inChain = new Set(chain.map(({ entry }) => entry));
  return held
    .filter((entry) => entry.origin === "nested" && !inChain.has(entry))
    .sort((a, b) => b.lastUsed - a.lastUsed)
    .slice(0, MAX_NESTED)
    .sort((a, b) => a.place.split("/").length - b.place.split("/").length || (a.path < b.path ? -1 : 1));
}

/** All other known files as a list of paths; the ledger says of each that the model has its path. "" when there is none. */
export function redeliveryText(ledger: Ledger): string {
  const others = ledger
    .entries()
    .filter(
      (entry) =>
        entry.claim === undefined && entry.origin !== "pin" && (entry.state === "candidate" || entry.state === "path_only"),
    )
    .sort((a, b) => b.lastUsed - a.lastUsed || (a.path < b.path ? -1 : 1));
  if (others.length === 0) return "";
  const listed = others.slice(0, MAX_LISTED);
  for (const entry of listed) {
    entry.state = "path_only";
    entry.reason = "listed by path after compaction";
  }
  const lines = listed.map((entry) => `- ${attribute(entry.path)} (scope ${attribute(entry.scope)})`);
  const more = others.length - listed.length;
  if (more > 0) lines.push(`- … and ${more} more`);
  return ["Other instruction files, not included; read one before you work under its scope:", ...lines].join("\n");
}
