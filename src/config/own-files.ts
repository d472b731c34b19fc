/**
 * Files in which thndrs keeps what is between it and the user: keys, what was approved and trusted, what was typed. No tool reads or
 * writes them, whatever the workspace is (security.md 4): with the home directory as the workspace they lie inside. Refuses: reading them.
 */
import { lstatSync, realpathSync } from "node:fs";
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
  const names = new Set(places.map((path) => basename(path)));
  return () => {
    // Who keeps a link there to a file elsewhere could have it replaced, and the file read.
    const linked = places.filter(isLink).map((path) => realOf(path).toLowerCase());
    let closed: ReadonlySet<string> | undefined;
    return (path) => {
      const wanted = path.toLowerCase();
      if (linked.includes(wanted)) return true;
      // Most paths have another name: where ours really are is asked for the others only.
      if (!names.has(basename(wanted))) return false;
      closed ??= new Set(places.map((own) => join(realOf(dirname(own)), basename(own)).toLowerCase()));
      return closed.has(wanted);
    };
  };
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  } catch {
    // In a directory that may not be entered.
    return false;
  }
}
