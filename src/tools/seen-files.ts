/**
 * Which bytes of a file the model of this conversation knows: as it last read or wrote it. A whole file is not replaced over what
 * somebody else put there since. Refuses: knowing why a file changed, edits (they match what is there).
 */
import { pathText } from "../base/path-quote.ts";

/** A file by its real path; `relative` to the workspace root, as results name it. */
type Place = { readonly path: string; readonly relative: string };

export type SeenFiles = {
  /** Read. `hash` as read_file_range shows it; undefined where it showed none. */
  note(place: Place, hash: string | undefined): void;
  /**
   * Changed by us; `before` is undefined for a file that was not there. What somebody else changed before stays unseen: then the answer
   * is the note for the result, which a later process recognises.
   */
  changed(place: Place, before: string | undefined, after: string): string | undefined;
  /** Undefined when this conversation never saw it. */
  hashOf(place: Place): string | undefined;
};

/** Of read_file_range and of the writing tools; read.ts and change.ts make them. */
const READ_HEADER = / \((?:lines \d+-\d+ of \d+|empty, 0 lines), (xxh64:[0-9a-f]{16})\)/y;
const WRITE_HEADER = /: (?:\d+ edits, )?\+\d+ -\d+ lines, now \d+ bytes \((xxh64:[0-9a-f]{16})\)/y;
const UNSEEN =
  "The file had changed since you last saw it: the edit was made in what is there now. Read it before you replace it whole.";
const WRITE_WORDS = ["created", "replaced", "edited"] as const;

/** What the result of a call said of the file at `path`: its hash, or "" when it gave none. Undefined: it is not about this file. */
function saidOf(text: string, path: string): string | undefined {
  if (text.startsWith(`${path} (`)) return hashAt(READ_HEADER, text, path.length);
  const word = WRITE_WORDS.find((one) => text.startsWith(`${one} ${path}: `));
  // The note stands right behind the header.
  if (word !== undefined && text.split("\n", 8).includes(UNSEEN)) return undefined;
  return word === undefined ? undefined : hashAt(WRITE_HEADER, text, word.length + 1 + path.length);
}

function hashAt(header: RegExp, text: string, at: number): string {
  const pattern = new RegExp(header);
  pattern.lastIndex = at;
  return pattern.exec(text)?.[1] ?? "";
}

/** `earlier`: results of calls before this process took the conversation up, the oldest first. */
export function createSeenFiles(earlier: () => readonly string[] = () => []): SeenFiles {
  const hashes = new Map<string, string>();
  const recall = (relative: string): string => {
    const path = pathText(relative);
    const texts = earlier();
    for (let at = texts.length - 1; at >= 0; at--) {
      const said = saidOf(texts[at] ?? "", path);
      if (said !== undefined) return said;
    }
    return "";
  };
  const known = ({ path, relative }: Place): string => {
    const hash = hashes.get(path) ?? recall(relative);
    hashes.set(path, hash);
    return hash;
  };
  return {
    note: ({ path }, hash) => void hashes.set(path, hash ?? ""),
    changed(place, before, after) {
      const hash = known(place);
      if (hash !== "" && before !== undefined && hash !== before) return UNSEEN;
      hashes.set(place.path, after);
      return undefined;
    },
    hashOf: (place) => known(place) || undefined,
  };
}
