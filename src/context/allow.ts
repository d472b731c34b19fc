/** The allow-list of the security scan (C12): path + content hash, in the config home. Refuses: anything in the workspace. */

import { join } from "node:path";
import { readFile } from "../base/async-fs.ts";
import { writeOwnFile } from "../base/files.ts";

export type Allowed = { readonly path: string; readonly hash: string };

const MAX_ENTRIES = 1000;

export function allowListPath(configHome: string): string {
  return join(configHome, "context-allow.json");
}

/** Undefined for what is no list. */
function parse(text: string): Allowed[] | undefined {
  if (text === "") return [];
  try {
    const parsed: unknown = JSON.parse(text);
    const list: unknown = typeof parsed === "object" && parsed !== null && "allowed" in parsed ? parsed.allowed : undefined;
    if (!Array.isArray(list)) return undefined;
    return list.filter(
      (item): item is Allowed =>
        typeof item === "object" && item !== null && typeof item.path === "string" && typeof item.hash === "string",
    );
  } catch {
    return undefined;
  }
}

const textIn = (configHome: string): Promise<string> => readFile(allowListPath(configHome), "utf8").catch(() => "");

/** The list as it is on disk; empty where there is none or it cannot be read: then nothing is lifted. */
export async function readAllowed(configHome: string | undefined): Promise<readonly Allowed[]> {
  if (configHome === undefined) return [];
  return parse(await textIn(configHome)) ?? [];
}

export function isAllowed(list: readonly Allowed[], path: string, hash: string): boolean {
  return list.some((item) => item.path === path && item.hash === hash);
}

/** Records one content of one file; an older content of the same path is replaced. Mode 0600, whole or not at all. */
export async function allow(
  configHome: string,
  entry: Allowed,
): Promise<{ readonly ok: true } | { readonly ok: false; readonly message: string }> {
  const known = parse(await textIn(configHome));
  if (!known) return { ok: false, message: "it is damaged: repair it, or move it away" };
  const others = known.filter((item) => item.path !== entry.path);
  const allowed = [...others, entry].slice(-MAX_ENTRIES);
  const written = await writeOwnFile(allowListPath(configHome), `${JSON.stringify({ version: 1, allowed }, null, 2)}\n`, 0o600);
  return written.ok ? { ok: true } : { ok: false, message: written.message };
}
