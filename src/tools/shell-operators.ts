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
  /^(?:test|\[|expr|find|awk|gawk|mawk|nawk|jq|yq|bc|dc|sh|bash|dash|zsh|fish|ksh|busybox|ssh|xargs|parallel|watch|tmux|screen|adb)$/;
/** Their first argument is text to look for. */
const SEEKERS = /^(?:e?grep|fgrep|rg|ag|ack|tr|sed|perl)$/;

/** A note for the model when a word of `argv` was meant for a shell, as likely as not. */
export function operatorNote(argv: readonly string[]): string | undefined {
  const [program = "", ...words] = argv;
  const name = basename(program);
  if (TAKERS.test(name)) return undefined;
  const isOption = (word: string | undefined): boolean => word !== undefined && /^-/.test(word);
  const first = words.findIndex((word) => !isOption(word));
  const at = words.findIndex((word, index) => {
    if (!OPERATOR.test(word)) return false;
    // `cut -d ;`
    if (SEPARATOR.test(word) && isOption(words[index - 1])) return false;
    return !(SEEKERS.test(name) && index === first);
  });
  if (at < 0) return undefined;
  return `argv[${at + 1}] ${JSON.stringify(words[at])} was passed on as a word: without a shell nothing is redirected, piped or chained. For that: ["sh","-c","…"].`;
}
