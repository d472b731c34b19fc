/**
 * Blocks that are nothing but words, and code without colours: the Markdown renderer would only wrap or frame them, and most
 * of an answer is that. Gives what the renderer gives, at a fraction of the cost. Pure. Refuses (undefined): whatever might
 * mean more, or be of a width that takes more than a look; the renderer is asked then.
 */
import type { Block } from "./markdown-blocks.ts";
import { brokenAtSpaces, brokenInWords } from "./quick-wrap.ts";
import type { RenderStyle } from "./render-markdown.ts";

/** Lines at most `columns` wide (code as long as it is), joined by "\n"; colours are off at its end. */
export function quickMarkdown({ text, fence }: Block, style: RenderStyle): string | undefined {
  if (fence) return framed(text, fence, style.color);
  const lines = paragraph(text, style.columns);
  return lines !== undefined && style.color ? lines + RESET : lines;
}

const RESET = "\x1b[0m";
const DIM = "\x1b[2m";

/** Each one column wide, the Latin, Greek and Cyrillic letters. */
const LETTER = "A-Za-z\\u00c0-\\u024f\\u0386-\\u03ce\\u0400-\\u0482\\u048a-\\u04ff";
/** Never part of Markdown inside a line, one column wide as well. */
const INSIDE = `${LETTER}0-9 ,.;:?!'"()/%+={}#>$^\\-\\u00a1-\\u00ac\\u00ae-\\u00bf\\u2013\\u2014\\u2018\\u2019\\u201c\\u201d\\u2026\\u2190-\\u2193`;
/** Two columns each: kana, ideographs, Hangul, their punctuation and full-width forms. */
const WIDE = "\\u3001-\\u3029\\u3041-\\u3096\\u309b-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uac00-\\ud7a3\\uff01-\\uff60";
/** Lines begin with a letter, a quote, a bracket or a number: no list, no heading, no rule. */
const NUMBER = "\\d+(?![\\d.)])";

/** Lines that begin with one of `letters` and have none but them, or `inside`; an underscore only inside of a word. */
function lines(letters: string): RegExp {
  const rest = `[${letters}${INSIDE}]*(?:(?<=[A-Za-z0-9_])_+(?=[A-Za-z0-9])[${letters}${INSIDE}]*)*`;
  const line = `(?:[${letters}"'(]|${NUMBER})${rest}`;
  return new RegExp(`^${line}(?:\\n${line})*$`);
}

/** Most of what is refused is refused by one of these: found at once, without going back. */
const OTHER = new RegExp(`[^${INSIDE}${WIDE}_\\n]`);
const WORDS = lines(LETTER);
const WIDE_WORDS = lines(LETTER + WIDE);

function paragraph(source: string, columns: number): string | undefined {
  const text = source.endsWith(" ") ? source.trimEnd() : source;
  if (OTHER.test(text)) return undefined;
  const isNarrow = WORDS.test(text);
  if ((!isNarrow && !WIDE_WORDS.test(text)) || text.includes("  ") || hasAddress(text)) return undefined;
  const flowing = text.includes("\n") ? oneLine(text) : text;
  if (flowing === undefined) return undefined;
  const broken = isNarrow ? brokenAtSpaces(flowing, columns) : undefined;
  // The renderer breaks long words behind an underscore.
  return broken ?? (flowing.includes("_") ? undefined : brokenInWords(flowing, columns, isNarrow));
}

/** Undefined where a space at the end of a line might be a break. */
function oneLine(text: string): string | undefined {
  return text.includes(" \n") ? undefined : text.replaceAll("\n", " ");
}

/** What becomes a link by itself. Of `www.` in any case the last letters are enough. */
function hasAddress(text: string): boolean {
  return (text.includes("/") && text.includes("://")) || /[wW]{2}\./.test(text);
}

/** Languages whose code the renderer colours. */
const COLOURED = /^(?:[jt]sx?|[cm][jt]s|javascript|typescript)$/i;
const INFO = /^[\w+#.-]*$/;

/** A part of a fence: its frame begins and ends where the fence does. */
function framed(code: string, { info, head, tail }: NonNullable<Block["fence"]>, color: boolean): string | undefined {
  if (!INFO.test(info) || (color && COLOURED.test(info))) return undefined;
  const bar = color ? `${DIM}│ ${RESET}` : "| ";
  const name = info === "" || !color ? info : `${RESET}${DIM}\x1b[3m${info}`;
  const top = `${color ? `${DIM}┌─` : "+-"}${name === "" ? "" : ` ${name}`}${color ? RESET : ""}`;
  const lines = `${bar}${code.replaceAll("\n", `\n${bar}`)}`;
  const end = color ? `${DIM}└─${RESET}` : "+-";
  // What ends where it was cut has no more lines, only the end of the frame.
  const rows = [head ? top : undefined, code === "" && tail && !head ? undefined : lines, tail ? end : undefined];
  const text = rows.filter((row) => row !== undefined).join("\n");
  return color && !text.endsWith(RESET) ? text + RESET : text;
}
