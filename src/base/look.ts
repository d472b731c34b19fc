/**
 * One look at a path, for those who only ask what is there: `throwIfNoEntry: false` still throws where a part of the path is a
 * file, a circle of links, too long or closed to us. Refuses: saying why.
 */
import { type Stats, statSync } from "node:fs";

/** Links are followed. Undefined for whatever cannot be looked at. */
export function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
