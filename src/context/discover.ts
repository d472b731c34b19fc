/**
 * The chain (C3): global, ancestors above the root, root, down to the working directory. Refuses: anything below or beside it.
 */
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import type { SourceOrigin } from "../types/event.ts";
import { type Found, findInDirectory } from "./load.ts";
import { scopeOf, upTo } from "./places.ts";

export type ChainPlace = {
  readonly directory: string;
  readonly origin: SourceOrigin;
  readonly scope: string;
  /** Where links of the file may lead. */
  readonly confine: string;
};

export type ChainPlaces = {
  readonly root: string;
  readonly cwd: string;
  readonly configHome?: string;
  readonly ancestors: boolean;
};

/** Directories of the chain, least specific first. A directory appears once, at its first place. */
export function chainPlaces(where: ChainPlaces): ChainPlace[] {
  const { root, cwd, configHome } = where;
  const places: ChainPlace[] = [];
  if (configHome !== undefined) places.push({ directory: configHome, origin: "global", scope: "~", confine: configHome });
  if (where.ancestors && dirname(root) !== root) {
    for (const directory of upTo("/", dirname(root)).reverse()) {
      places.push({ directory, origin: "ancestor", scope: directory, confine: root });
    }
  }
  places.push({ directory: root, origin: "root", scope: ".", confine: root });
  for (const directory of upTo(root, cwd).reverse()) {
    if (directory !== root) places.push({ directory, origin: "cwd", scope: scopeOf(root, directory), confine: root });
  }
  const seen = new Set<string>();
  return places.filter((place) => !seen.has(place.directory) && seen.add(place.directory));
}

/** C3: an ancestor's file counts only when it is the user's or root's and nobody else may write it: the next name is tried. */
function distrust(file: { readonly uid: number; readonly gid: number; readonly mode: number }): string | undefined {
  const user = process.getuid?.();
  if (user === undefined) return undefined;
  if (file.uid !== user && file.uid !== 0) return "it lies above the workspace and belongs to another user";
  if ((file.mode & 0o002) !== 0) return "it lies above the workspace and anybody may write it";
  // A group of one's own is the usual one, and the files of that umask are writable by it.
  const isShared = (file.mode & 0o020) !== 0 && file.gid !== process.getgid?.() && file.gid !== 0;
  return isShared ? "it lies above the workspace and a group may write it" : undefined;
}

export type ChainFound = Found & { readonly place: ChainPlace };

/** Names in a directory of the chain. At once: two or three directories, and a hop to another thread for each costs more. */
function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Reads the chain in parallel; answers in chain order. */
export async function readChain(where: ChainPlaces, filenames: readonly string[]): Promise<ChainFound[]> {
  return await Promise.all(
    chainPlaces(where).map(async (place): Promise<ChainFound> => {
      const check = place.origin === "ancestor" ? distrust : undefined;
      const found = await findInDirectory(place.directory, filenames, place.confine, namesIn(place.directory), check);
      return { ...found, place };
    }),
  );
}
