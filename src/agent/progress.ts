/**
 * Notices when a model repeats itself: the same call with the same arguments and the same result, in a row (loop spec), or a few
 * such calls in turn, over and over. Refuses: deciding what a result is without the time it took (the tool does).
 */
import { contentHash } from "../base/hash.ts";

export const REPEAT_NOTICE = 3;
export const REPEAT_FAILURE = 6;
/** The longest round of calls that is looked for; a round has to come twice as often as a single call: waiting looks like one. */
const LONGEST_ROUND = 4;
const ROUND_PATIENCE = 2;

export interface Progress {
  /** Counts one finished call; returns how often in a row exactly this has happened (1 for the first time). */
  note(name: string, argumentsText: string, result: string): number;
}

export function createProgress(): Progress {
  const recent: string[] = [];
  const longest = LONGEST_ROUND * ROUND_PATIENCE * REPEAT_FAILURE;
  /** How many calls at the end are the same as the one `round` calls before. */
  const matching = (round: number): number => {
    let at = recent.length - 1;
    while (at >= round && recent[at] === recent[at - round]) at--;
    return recent.length - 1 - at;
  };
  return {
    note(name, argumentsText, result) {
      recent.push(contentHash(`${name}\0${argumentsText.trim()}\0${result}`));
      if (recent.length > longest) recent.shift();
      let times = matching(1) + 1;
      for (let round = 2; round <= LONGEST_ROUND; round++) {
        times = Math.max(times, Math.floor((Math.floor(matching(round) / round) + 1) / ROUND_PATIENCE));
      }
      return times;
    },
  };
}
