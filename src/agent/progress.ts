/** Notices when a model repeats itself: the same call with the same arguments and the same result, in a row (loop spec). */
import { contentHash } from "../base/hash.ts";

export const REPEAT_NOTICE = 3;
export const REPEAT_FAILURE = 6;

export interface Progress {
  /** Counts one finished call; returns how often in a row exactly this has happened (1 for the first time). */
  note(name: string, argumentsText: string, result: string): number;
}

export function createProgress(): Progress {
  let last = "";
  let count = 0;
  return {
    note(name, argumentsText, result) {
      const signature = contentHash(`${name}\0${argumentsText.trim()}\0${result}`);
      count = signature === last ? count + 1 : 1;
      last = signature;
      return count;
    },
  };
}
