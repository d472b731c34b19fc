/** Which editor a user wants: `$VISUAL`, `$EDITOR` with its arguments, or what the system has. Refuses: starting it. */
import { isAbsolute } from "node:path";
import { findExecutable, isExecutableFile } from "./spawn-failure.ts";

/** One word after the other: quoted, bare, a blank between two. */
const PART = /"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|\\([\s\S])|([^\s"'\\]+)|(\s+)/gy;
const ESCAPED = /\\(["\\$`])/g;

/**
 * The words of a command line, with the quotes and backslashes of a POSIX shell and nothing else of it. A quote that does not end
 * is a character like any other.
 */
export function commandWords(text: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  const add = (part: string): void => {
    word = (word ?? "") + part;
  };
  for (let at = 0; at < text.length; ) {
    PART.lastIndex = at;
    const match = PART.exec(text);
    if (match === null) {
      add(text.charAt(at));
      at += 1;
      continue;
    }
    const [whole, double, single, escaped, bare] = match;
    at += whole.length;
    if (double !== undefined) add(double.replace(ESCAPED, "$1"));
    else if (single !== undefined || escaped !== undefined || bare !== undefined) add(single ?? escaped ?? bare ?? "");
    else {
      if (word !== undefined) words.push(word);
      word = undefined;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}

type Env = Readonly<Record<string, string | undefined>>;

/** The argv that `$VISUAL` or `$EDITOR` name; a path with blanks that is a program by itself needs no quotes. */
export function chosenEditor(env: Env): readonly string[] | undefined {
  const chosen = (env.VISUAL || env.EDITOR)?.trim();
  if (!chosen) return undefined;
  if (isAbsolute(chosen) && isExecutableFile(chosen)) return [chosen];
  // Backslashes of Windows are parts of paths.
  const words = process.platform === "win32" ? commandWords(chosen.replaceAll("\\", "\\\\")) : commandWords(chosen);
  return words.length > 0 ? words : undefined;
}

/** An editor that is there. */
export function foundEditor(env: Env): readonly string[] | undefined {
  if (process.platform === "win32") return ["notepad"];
  const found = ["editor", "nano", "vi"].find((name) => findExecutable(name, env.PATH));
  return found === undefined ? undefined : [found];
}
