/**
 * Shell operators in an argv: no shell reads it, so `echo hi > f.txt` prints `hi > f.txt` and exits 0. Says so. Refuses: stopping the
 * command, words that merely hold an operator.
 */
import { basename } from "node:path";

/** Whole words only; `>/dev/null` and its like mean nothing else either. */
const OPERATOR = /^(?:\|\|?|\|&|&&?|;|<{1,3}|(?:[12]|&)?>>?(?:&[12-]|\/dev\/null)?)$/;
/** What often separates fields. */
const SEPARATOR = /^[|;&]$/;

/** They take such words, or hand them to a shell. */
const TAKERS =
  /^(?:test|\[|expr|find|fd|fdfind|awk|gawk|mawk|nawk|jq|yq|bc|dc|sh|bash|dash|zsh|fish|ksh|busybox|ssh|xargs|parallel|watch|tmux|screen|adb)$/;
/** The same behind another program: `sudo find . -exec …`, `timeout 5 sh -c …`, `docker exec c sh -c …`. */
const RUN_BY_OTHERS = /^(?:find|fd|fdfind|g?awk|sh|bash|dash|zsh|busybox|ssh|xargs)$/;
/** One of their first arguments is text to look for. */
const SEEKERS = /^(?:e?grep|fgrep|rg|ag|ack|tr|sed|perl)$/;
/** What stands behind these is text to look for. */
const TEXT_OPTION = /^(?:-[eSG]|--(?:regexp|grep))$/;

/** A note for the model when a word of `argv` was meant for a shell, as likely as not. */
export function operatorNote(argv: readonly string[]): string | undefined {
  const [program = "", ...words] = argv;
  const name = basename(program);
  if (TAKERS.test(name)) return undefined;
  const isOption = (word: string | undefined): boolean => word !== undefined && /^-/.test(word);
  const isSeeker = SEEKERS.test(name) || name === "git";
  const at = words.findIndex((word, index) => {
    if (!OPERATOR.test(word)) return false;
    const before = words[index - 1];
    // `cut -d ;`
    if (SEPARATOR.test(word) && isOption(before)) return false;
    if (isSeeker && before !== undefined && TEXT_OPTION.test(before)) return false;
    // The value of an option may stand before it: `rg -t ts && src`.
    return !SEEKERS.test(name) || words.slice(0, index).filter((other) => !isOption(other)).length > 1;
  });
  if (at < 0 || words.slice(0, at).some((word) => RUN_BY_OTHERS.test(basename(word)))) return undefined;
  return `argv[${at + 1}] ${JSON.stringify(words[at])} was passed on as a word: without a shell nothing is redirected, piped or chained. For that: ["sh","-c","…"].`;
}
