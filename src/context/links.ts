/** Links from instruction files to others (C7): which words are links, and where they may lead. Refuses: reading the target. */

import { dirname, isAbsolute, resolve } from "node:path";
import { realpath } from "../base/async-fs.ts";
import { isInside } from "./places.ts";
import { blankRegions, findRegions } from "./regions.ts";
import { isSecretFile, TEXT_FILE } from "./secret-files.ts";

const LINK = /(^|[\s(])@((?:\\ |[^\s()<>"'`*|,;\u0000])+)/gm;
/** More links than this in one file is a mistake or an attack. */
const MAX_LINKS = 200;
const MAX_TARGET = 1024;

export type Link = { readonly target: string /** 1-based. */; readonly line: number };

export type LinkTarget =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "missing" }
  | { readonly kind: "refused"; readonly message: string }
  /** Not meant as a link after all (`@/components`, an alias). */
  | { readonly kind: "none" };

function trimmed(target: string): string {
  return target.replace(/\\ /g, " ").replace(/[.,;:!?\]}>_~]+$/, "");
}

function looksLikeLink(target: string): boolean {
  if (target.startsWith("/") || target.startsWith("~") || target.startsWith("..")) return target.length > 2;
  return TEXT_FILE.test(target) && !target.includes("://");
}

/** Links of a text in order, outside code and comments. */
export function findLinks(text: string): Link[] {
  if (!text.includes("@")) return [];
  const plain = blankRegions(text, findRegions(text));
  const links: Link[] = [];
  let line = 1;
  let counted = 0;
  for (const found of plain.matchAll(LINK)) {
    if ((found[2]?.length ?? 0) > MAX_TARGET) continue;
    const target = trimmed(found[2] ?? "");
    if (!looksLikeLink(target)) continue;
    const at = found.index + (found[1]?.length ?? 0);
    for (let next = plain.indexOf("\n", counted); next !== -1 && next < at; next = plain.indexOf("\n", counted)) {
      line++;
      counted = next + 1;
    }
    links.push({ target, line });
    if (links.length >= MAX_LINKS) break;
  }
  return links;
}

/**
 * Resolves one link. `from` is the linking file, `confine` the directory its target's real path must be in.
 * Absolute and home paths are refused without a look at what they name, unless they are plainly no file names.
 */
export async function resolveLink(target: string, from: string, confine: string): Promise<LinkTarget> {
  if (target.startsWith("~")) return { kind: "refused", message: "links to the home directory are not followed" };
  if (isAbsolute(target)) {
    const exists = TEXT_FILE.test(target) || (await realpath(target).catch(() => undefined)) !== undefined;
    return exists ? { kind: "refused", message: "absolute links are not followed" } : { kind: "none" };
  }
  const path = resolve(dirname(from), target);
  if (!isInside(confine, path)) return { kind: "refused", message: "it leads outside the project" };
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return TEXT_FILE.test(target) ? { kind: "missing" } : { kind: "none" };
  if (!isInside(confine, real)) return { kind: "refused", message: "its real path lies outside the project" };
  if (TEXT_FILE.test(target) && isSecretFile(confine, real)) return { kind: "refused", message: "it may hold secrets" };
  if (!TEXT_FILE.test(real))
    return TEXT_FILE.test(target) ? { kind: "refused", message: "it is not a Markdown or text file" } : { kind: "none" };
  return { kind: "file", path: real };
}
