/**
 * One block of sanitised Markdown → lines for the terminal, by `Bun.markdown.ansi`. Refuses: text that was not sanitised;
 * whatever the renderer decodes on its way (`&#27;`) is sanitised again, and only colours are let through.
 */
import type { Block } from "./markdown-blocks.ts";
import { sanitize } from "./sanitize.ts";

export type RenderStyle = { readonly color: boolean; readonly columns: number };

const COLOUR = /\x1b\[[0-9;]*m/g;
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

function ansi(markdown: string, style: RenderStyle): string[] {
  const rendered = Bun.markdown.ansi(withoutReferences(markdown), {
    columns: Math.max(8, style.columns),
    colors: style.color,
    hyperlinks: false,
  });
  const lines = rendered.replace(/(?:\n|\x1b\[0m)+$/, "").split("\n");
  return lines.map((line) => (line.includes("\x1b[") ? `${onlyColours(line)}\x1b[0m` : sanitize(line)));
}

/** A part of a fence keeps its frame only where the fence really begins and ends. */
function fenceLines(block: Block, style: RenderStyle): string[] {
  const fence = block.fence;
  if (!fence) return [];
  // Longer than any run of backticks inside.
  const longest = Math.max(2, ...[...block.text.matchAll(/`+/g)].map((run) => run[0].length));
  const mark = "`".repeat(longest + 1);
  const lines = ansi(`${mark}${fence.info.replaceAll("`", "")}\n${block.text}\n${mark}\n`, style);
  return lines.slice(fence.head ? 0 : 1, fence.tail ? undefined : -1);
}

/** Lines of one block, at most `columns` wide but for code, which is left to the terminal to wrap. */
export function renderBlock(block: Block, style: RenderStyle): string[] {
  return block.fence ? fenceLines(block, style) : ansi(`${block.text}\n`, style);
}
