/**
 * What the Markdown renderer is given of a block: its source, without what the renderer would turn into controls or swallow.
 * Pure. Refuses: rendering.
 */
import type { Block } from "./markdown-blocks.ts";
import { withFittingTables } from "./markdown-tables.ts";
import { sanitize } from "./sanitize.ts";

/** Numeric character references: the renderer would turn `&#27;` into a real ESC. */
const REFERENCE = /&#(?:[xX]([0-9a-fA-F]{1,8})|([0-9]{1,8}));?/g;
/** The definition of a link up to its end or address, wherever a paragraph may begin. Its label may have several lines. */
const DEFINITION = /^((?:[ >]|[-*+] |\d{1,9}[.)] )*\[(?:[^[\]\\]|\\[\s\S])+\])(:[^\n]*?(?=:\/\/)|:)/gm;
const BEGINS_WITH_ONE = /^ {0,3}\[(?:[^[\]\\\n]|\\.)+\]:/;
const TEXT = /^ {0,3}[[A-Za-z]/;
const COLOURED_ESCAPE = /\\((?:\x1b\[[0-9;]*m)*:)/g;

function isControl(code: number): boolean {
  return (code < 0x20 && code !== 9 && code !== 10) || (code >= 0x7f && code < 0xa0) || code === 0x2028 || code === 0x2029;
}

function withoutReferences(text: string): string {
  if (!text.includes("&#")) return text;
  return text.replace(REFERENCE, (whole, hex: string | undefined, decimal: string | undefined) => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return isControl(code) ? sanitize(String.fromCharCode(code)) : whole;
  });
}

function mayDefine({ text, fence }: Block): boolean {
  return !fence && text.includes("]:");
}

/** Definitions that a block begins with, each on a line of its own. */
function separated(text: string): string {
  const lines = text.split("\n");
  for (const [at, line] of lines.entries()) {
    if (!BEGINS_WITH_ONE.test(line) || line.includes("|") || !TEXT.test(lines[at + 1] ?? "")) break;
    lines[at] = `${line.trimEnd()}\\`;
  }
  return lines.join("\n");
}

/** The links of a definition stand in blocks that are rendered without it, and it shows nothing itself: it stays as text. */
function withoutDefinitions(block: Block): string {
  if (!mayDefine(block)) return block.text;
  const text = BEGINS_WITH_ONE.test(block.text) ? separated(block.text) : block.text;
  return text.replace(DEFINITION, (_whole, label: string, rest: string) => `${label}\\${rest}${rest === ":" ? "" : "\\"}`);
}

/** `rendered` as if nothing had been escaped: in code the escapes would be seen, and cannot be told from a block's own. */
export function withoutEscapes(block: Block, rendered: string): string {
  const taken = mayDefine(block) && rendered.includes("\\") && !block.text.includes("\\:");
  return taken ? rendered.replace(COLOURED_ESCAPE, "$1") : rendered;
}

/** The source of a block for a terminal of so many columns. */
export function sourceOf(block: Block, columns: number): string {
  const { text, fence } = block;
  if (!fence) return withoutReferences(withFittingTables(withoutDefinitions(block), columns));
  // Longer than any run of backticks inside.
  const runs = text.includes("```") ? [...text.matchAll(/`+/g)] : [];
  const mark = "`".repeat(runs.reduce((length, run) => Math.max(length, run[0].length), 2) + 1);
  return `${mark}${withoutReferences(fence.info).replaceAll("`", "")}\n${text}\n${mark}`;
}
