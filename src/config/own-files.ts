/**
 * Files in which thndrs keeps what is between it and the user: keys, what was approved and trusted, what was typed. No tool reads or
 * writes them, whatever the workspace is (security.md 4): with the home directory as the workspace they lie inside. Refuses: reading them.
 */
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Homes } from "./homes.ts";

const CONFIG_NAMES = ["credentials.json", "approvals.json", "trust.json", "context-allow.json"];
const STATE_NAMES = ["history", "trust-asked"];

/** Where a path leads, whether or not something is there yet. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(realOf(above), basename(path));
  }
}

/** The result tells of a real path whether it is one of them, as the disk is now. Without case: on some disks it means nothing. */
export function ownFiles({ config, state }: Homes): () => (path: string) => boolean {
  const places = [
    ...(config === undefined ? [] : CONFIG_NAMES.map((name) => join(config, name))),
    ...(state === undefined ? [] : STATE_NAMES.map((name) => join(state, name))),
  ];
  return () => {
    // Both: who keeps a link there to a file elsewhere could have it replaced, and the file read.
    const closed = new Set(
      places.flatMap((path) => [realOf(path), join(realOf(dirname(path)), basename(path))]).map((path) => path.toLowerCase()),
    );
    return (path) => closed.has(path.toLowerCase());
  };
}
