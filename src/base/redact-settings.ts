/**
 * Passwords whose ends something else tells than a blank or a quote: pairs of a connection string, and the places where no sign
 * stands before them (`.netrc`, XML). Whatever is looked at is bounded or remembered. Refuses: judging what they say
 * (redact-assignments.ts does).
 */

/** The end of the pair that goes on at `from`; never walks the same run twice. */
export type PairEnd = (from: number) => number;

const VALUE_LIMIT = 256;
const NEIGHBOUR_LIMIT = 256;

/** `Server=db;Password=some words;Database=x`: where the pairs are parted by semicolons, the value ends at one. */
export function pairValueEnd(text: string, nameStart: number, from: number, pairEnd: PairEnd): number | undefined {
  let before = nameStart - 1;
  while (nameStart - before < 5 && isBlank(text[before])) before -= 1;
  const end = pairEnd(from);
  if (end - from > VALUE_LIMIT) return undefined;
  const another = () => text[end] === ";" && /^;[ \t]{0,4}[A-Za-z][\w .-]{0,40}=[^=\s]/.test(text.slice(end, end + 52));
  const isPair =
    (text[before] === ";" && /[A-Za-z0-9_]=[^=;\n]{1,80}$/.test(text.slice(Math.max(0, before - 84), before))) || another();
  if (!isPair) return undefined;
  let to = end;
  while (to > from && isBlank(text[to - 1])) to -= 1;
  return to;
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}

/** `machine HOST login NAME password VALUE`, on one line or on several: the value's extent. */
export function netrcValue(text: string, nameStart: number, nameEnd: number): { from: number; to: number } | undefined {
  if (text.slice(nameStart, nameEnd) !== "password") return undefined;
  const gap = /^\s{1,32}/.exec(text.slice(nameEnd, nameEnd + 33))?.[0];
  if (gap === undefined) return undefined;
  const before = text.slice(Math.max(0, nameStart - NEIGHBOUR_LIMIT), nameStart);
  if (!before.includes("machine") && !before.includes("default")) return undefined;
  // Lines of it begin with these words, and tell who before what: in a sentence they stand otherwise.
  const whole = nameStart <= NEIGHBOUR_LIMIT ? `\n${before}` : before;
  if (!/\n[ \t]*(?:machine\s+\S+|default)(?:\s+(?:login|account)\s+\S+){1,2}\s+$/.test(whole)) return undefined;
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
