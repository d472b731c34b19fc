/**
 * How far a password reaches that stands without quotes: to the first blank, unless what is around it says that it is a setting
 * of its own line (YAML, INI) or of a connection string; and the places where no sign stands before it (`.netrc`, XML).
 * Whatever is looked at is bounded or remembered. Refuses: judging single words (redact-assignments.ts does).
 */

/** The ends of a run of characters, by what ends it; never walks the same run twice. */
export type RunEnd = (kind: "line" | "pair", from: number) => number;

type Setting = { readonly text: string; readonly nameStart: number; readonly sign: "=" | ":"; readonly from: number };

/**
 * Where the value of a setting ends that may hold blanks, and whether it can be nothing else; undefined where nothing says that
 * it is one.
 */
export function settingEnd(setting: Setting, runEnd: RunEnd): { readonly to: number; readonly sure: boolean } | undefined {
  const { text, from, sign } = setting;
  if (sign === "=") {
    const pair = pairEnd(setting, runEnd);
    if (pair !== undefined) return { to: pair, sure: true };
  }
  const start = lineStart(text, setting.nameStart);
  if (start === undefined) return undefined;
  const end = runEnd("line", from);
  if (!isSetting(text, start - 1, sign, "before") && !isSetting(text, end, sign, "after")) return undefined;
  const value = text.slice(from, Math.min(end, from + VALUE_LIMIT));
  const comment = value.search(sign === "=" ? /\s[#;]/ : /\s#/);
  return { to: trimmedEnd(text, from, from + (comment === -1 ? value.length : comment)), sure: false };
}

const VALUE_LIMIT = 256;
/** Two spaces of a list item and its indentation are as far as a name stands from the start of its line. */
const INDENT_LIMIT = 80;
const NEIGHBOUR_LIMIT = 256;

/** `Server=db;Password=some words;Database=x`: where the pairs are parted by semicolons, the value ends at one. */
function pairEnd({ text, nameStart, from }: Setting, runEnd: RunEnd): number | undefined {
  let before = nameStart - 1;
  while (nameStart - before < 5 && isBlank(text[before])) before -= 1;
  const end = runEnd("pair", from);
  if (end - from > VALUE_LIMIT) return undefined;
  const another = () => text[end] === ";" && /^;[ \t]{0,4}[A-Za-z][\w .-]{0,40}=/.test(text.slice(end, end + 50));
  return text[before] === ";" || another() ? trimmedEnd(text, from, end) : undefined;
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}

function trimmedEnd(text: string, from: number, end: number): number {
  let to = end;
  while (to > from && isBlank(text[to - 1])) to -= 1;
  return to;
}

/** The start of the line, when nothing but indentation, a dash, `export` or a quote stands before the name. */
function lineStart(text: string, nameStart: number): number | undefined {
  let at = nameStart;
  if (text[at - 1] === '"' || text[at - 1] === "'") at -= 1;
  const lead = at;
  while (lead - at < INDENT_LIMIT && isBlank(text[at - 1])) at -= 1;
  if (lead > at && text[at - 1] === "-") at -= 1;
  else if (lead > at && text.startsWith("export", at - 6)) at -= 6;
  while (lead - at < INDENT_LIMIT && isBlank(text[at - 1])) at -= 1;
  return at === 0 || text[at - 1] === "\n" || text[at - 1] === "\r" ? at : undefined;
}

/** Is the line that ends (or begins) at a line break a setting of the same kind? */
function isSetting(text: string, at: number, sign: "=" | ":", side: "before" | "after"): boolean {
  if (at < 0 || at >= text.length) return false;
  const line = side === "before" ? lineBefore(text, at) : lineAfter(text, at);
  return (sign === ":" ? YAML_LINE : INI_LINE).test(line) && !/[,;{[(]$/.test(line);
}

const YAML_LINE = /^(?:- +)?["']?[\w.-]{1,64}["']?:(?:\s|$)/;
const INI_LINE = /^(?:export +)?[\w.-]{1,64}[ \t]*=[^=]/;

/** Without its indentation; empty when it is too long to be seen whole. */
function lineBefore(text: string, at: number): string {
  const from = Math.max(0, at - NEIGHBOUR_LIMIT);
  const near = text.slice(from, at).trimEnd();
  const start = Math.max(near.lastIndexOf("\n"), near.lastIndexOf("\r")) + 1;
  return start === 0 && from > 0 ? "" : near.slice(start).trimStart();
}

function lineAfter(text: string, at: number): string {
  const near = text.slice(at, at + NEIGHBOUR_LIMIT).trimStart();
  const end = near.search(/[\r\n]/);
  return (end === -1 ? near : near.slice(0, end)).trimEnd();
}

/** `machine HOST login NAME password VALUE`, on one line or on several: the value's extent. */
export function netrcValue(text: string, nameStart: number, nameEnd: number): { from: number; to: number } | undefined {
  if (text.slice(nameStart, nameEnd) !== "password") return undefined;
  const gap = /^\s{1,32}/.exec(text.slice(nameEnd, nameEnd + 33))?.[0];
  if (gap === undefined) return undefined;
  const before = text.slice(Math.max(0, nameStart - NEIGHBOUR_LIMIT), nameStart);
  if (!before.includes("machine") && !before.includes("default")) return undefined;
  if (!/(?:^|\s)(?:machine\s+\S+|default(?=\s+login\s))(?:\s+(?:login|account)\s+\S+){0,2}\s+$/.test(before)) return undefined;
  const from = nameEnd + gap.length;
  const value = text.slice(from, from + VALUE_LIMIT);
  const quoted = /^"[^"\r\n]+(?=")/.exec(value)?.[0];
  if (quoted !== undefined) return { from: from + 1, to: from + quoted.length };
  return { from, to: from + (/^\S*/.exec(value)?.[0].length ?? 0) };
}

/** `<password>VALUE</password>`: the value's extent. */
export function elementValue(text: string, nameStart: number, nameEnd: number): { from: number; to: number } | undefined {
  if (text[nameStart - 1] !== "<" || text[nameEnd] !== ">") return undefined;
  const from = nameEnd + 1;
  const to = text.slice(from, from + VALUE_LIMIT).indexOf("<");
  if (to <= 0) return undefined;
  return text.startsWith(`</${text.slice(nameStart, nameEnd)}>`, from + to) ? { from, to: from + to } : undefined;
}
