/** What lies where, by path alone. Refuses: proving that nothing is swapped meanwhile (workspace.ts does). */
import { realpathSync } from "node:fs";
import { sep } from "node:path";

/** Is `path` `directory` itself or something below it? Both absolute and normalised. */
export function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

/** Links resolved; the path itself where there is nothing. */
export function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
