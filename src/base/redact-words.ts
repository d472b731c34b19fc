/**
 * What a value says about itself: a secret, a placeholder, an expression, a label, words of a sentence.
 * Refuses: where values begin and end.
 */
import { once } from "./once.ts";

/** Letters and digits mixed, or mixed case with symbols, eight or more: no word of prose, no identifier of one case. */
export function looksRandom(content: string): boolean {
  if (content.length < 6 || !/^[\x21-\x7e]+$/.test(content)) return false;
  const digit = /\d/.test(content);
  const letter = /[A-Za-z]/.test(content);
  return (digit && letter) || (content.length >= 8 && /[^A-Za-z0-9_.:/()[\]{}-]/.test(content) && (digit || letter));
}

export function isPlaceholder(content: string): boolean {
  return (
    /^(?:[$%<{(]|\\?\$|your[_-]|my[_-]|\*{2,}|x{3,}|\.{2,}|…|#\{|@\{|process\.env|os\.environ|env\.|import\.meta|null$|none$|nil$|true$|false$|undefined$|string$|str$|changeme$|example$|placeholder$|redacted|required$|optional$|bearer$|basic$)/i.test(
      content,
    ) || /^(.)\1*$/.test(content)
  );
}

/** A quoted name that names a thing instead of being one: `"token": "access_token"`, `secret: "db-password"`. */
function isWordyLabel(content: string): boolean {
  return (
    /^[A-Za-z_]+(?:[ .:/-][A-Za-z_]+)*$/.test(content) &&
    (/token|password|secret|key|credential|auth/i.test(content) || content.length < 6)
  );
}

/** An expression rather than a value: calls, member access, indexing, lower-case identifiers that end a statement. */
export function looksLikeCode(content: string, after: string): boolean {
  if (/[([{]/.test(content)) return true;
  if (/^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+$/.test(content)) return true;
  return /^[A-Za-z_$]+$/.test(content) && /[;,)\]}]/.test(after);
}

const PASSWORD = /passw(?:or)?d|passphrase|pwd|secret|_pass$/i;

/** Words that labels, hints and sentences about passwords are made of, and passphrases hardly ever. */
const prose = once(
  (): ReadonlySet<string> =>
    new Set(
      `a an the this that these it its is are was be been has have had do does did done not no never and or but if when then than as
  at by for from in into of on to too with without via per your you my our we i he she they their will would can cannot could may
  must should please enter type choose confirm repeat forgot forgotten change changed reset show hide set use used using create
  save copy paste ask see new old current previous default again invalid valid wrong incorrect missing empty required optional
  short long weak strong minimum maximum min max least most character characters chars letter letters digit digits number numbers
  length string text value input field hidden here below above user username account login admin pwd key keys store stored
  manager name example none null`.split(/\s+/),
    ),
);
const ABOUT_SECRETS = /^(?:passw|passphrase|secret|token|credential|auth|hash|encrypt)/;

function isProse(word: string): boolean {
  if (word.length > 64) return false;
  const bare = word.toLowerCase().replace(/[^\w]+$/, "");
  return prose().has(bare) || ABOUT_SECRETS.test(bare);
}

/** A quoted or lonely value of several words that is a passphrase: no word of a sentence in it, or one that only chance makes. */
export function isPhrase(content: string, name: string): boolean {
  if (!PASSWORD.test(name)) return false;
  const words = content.split(/\s+/);
  return words.some(looksRandom) || !words.some(isProse);
}

/** What stands between two ends that leave no doubt where it begins and ends. */
export function isSecretContent(content: string, name: string): boolean {
  if (content.length < 4) return false;
  if (/^[\w-]*\s[\w\s-]*$/.test(content)) return isPhrase(content, name);
  return looksRandom(content) || !isWordyLabel(content);
}
