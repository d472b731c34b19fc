/**
 * One block of sanitised Markdown → lines for the terminal, by `Bun.markdown.ansi`. Refuses: text that was not sanitised;
 * whatever the renderer decodes on its way (`&#27;`) is sanitised again, and only colours are let through.
 */
import type { Block } from "./markdown-blocks.ts";
import { plainParagraph } from "./plain-paragraph.ts";
import { sanitize } from "./sanitize.ts";

export type RenderStyle = { readonly color: boolean; readonly columns: number };

const COLOUR = /\x1b\[[0-9;]*m/g;
/** Anything but text and colours. */
const FOREIGN = /[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u2028\u2029]|\x1b(?!\[[0-9;]*m)/;
/** Numeric character references: the renderer would turn `&#27;` into a real ESC. */
const REFERENCE = /&#(?:[xX]([0-9a-fA-F]{1,8})|([0-9]{1,8}));?/g;

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

/** Everything but colours made harmless, line by line. */
function onlyColours(line: string): string {
  let clean = "";
  let from = 0;
  for (const match of line.matchAll(COLOUR)) {
    clean += sanitize(line.slice(from, match.index)) + match[0];
    from = match.index + match[0].length;
  }
  return from === 0 ? sanitize(line) : clean + sanitize(line.slice(from));
}

const RESET = "\x1b[0m";

/** Without the line ends and resets that close what the renderer writes. */
function trimEnd(text: string): string {
  let end = text.length;
  for (;;) {
    if (text.charCodeAt(end - 1) === 10) end -= 1;
    else if (text.endsWith(RESET, end)) end -= RESET.length;
    else return text.slice(0, end);
  }
}

function ansi(markdown: string, style: RenderStyle): string[] {
  const rendered = Bun.markdown.ansi(withoutReferences(markdown), {
    columns: Math.max(8, style.columns),
    colors: style.color,
    hyperlinks: false,
  });
  const safe = FOREIGN.test(rendered) ? rendered.split("\n").map(onlyColours).join("\n") : rendered;
  const lines = trimEnd(safe).split("\n");
  if (style.color) lines.push(`${lines.pop() ?? ""}${RESET}`);
  return lines;
}

/** A part of a fence keeps its frame only where the fence really begins and ends. */
function fenceLines(block: Block, style: RenderStyle): string[] {
  const fence = block.fence;
  if (!fence) return [];
  // Longer than any run of backticks inside.
  const runs = block.text.includes("```") ? [...block.text.matchAll(/`+/g)] : [];
  const longest = runs.reduce((length, run) => Math.max(length, run[0].length), 2);
  const mark = "`".repeat(longest + 1);
  const lines = ansi(`${mark}${fence.info.replaceAll("`", "")}\n${block.text}\n${mark}\n`, style);
  const own = lines.slice(fence.head ? 0 : 1, fence.tail ? undefined : -1);
  if (style.color && !fence.tail && own.length > 0) own.push(`${own.pop() ?? ""}${RESET}`);
  return own;
}

/** Lines of one block (colours may reach over several; the last one ends them), at most `columns` wide but for code, which is left to the terminal to wrap. */
export function renderBlock(block: Block, style: RenderStyle): string[] {
  if (block.fence) return fenceLines(block, style);
  const plain = plainParagraph(block.text, Math.max(8, style.columns));
  if (plain === undefined) return ansi(`${block.text}\n`, style);
  if (style.color) plain.push(`${plain.pop() ?? ""}${RESET}`);
  return plain;
}
