/**
 * Blocks of sanitised Markdown → text for the terminal, by `Bun.markdown.ansi`. Refuses: text that was not sanitised;
 * whatever the renderer decodes on its way (`&#27;`) is sanitised again, and only colours are let through.
 */
import { hasBareAddress, withAddresses, withoutBareLinks, withoutTargets, withStandIns } from "./markdown-addresses.ts";
import type { Block } from "./markdown-blocks.ts";
import { withWrappedHeadings } from "./markdown-headings.ts";
import { sourceOf, withoutEscapes } from "./markdown-source.ts";
import { quickMarkdown } from "./quick-markdown.ts";
import { sanitize } from "./sanitize.ts";

export type RenderStyle = { readonly color: boolean; readonly columns: number };

const COLOUR = /\x1b\[[0-9;]*m/g;
/** Anything but text and colours; a tab only comes of `&Tab;`. */
const FOREIGN = /[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f\u2028\u2029]|\x1b(?!\[[0-9;]*m)/;
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

/** Without the line ends and resets that close what the renderer writes; with one reset where there are colours (its own: no copy). */
function closed(text: string, style: RenderStyle): string {
  let end = text.length;
  for (;;) {
    if (text.charCodeAt(end - 1) === 10) end -= 1;
    else if (text.endsWith(RESET, end)) end -= RESET.length;
    else break;
  }
  if (!style.color) return text.slice(0, end);
  return text.startsWith(RESET, end) ? text.slice(0, end + RESET.length) : text.slice(0, end) + RESET;
}

/** The least the renderer makes sense of. */
function widthOf({ columns }: RenderStyle): number {
  return Math.max(8, columns);
}

/**
 * By the renderer with hyperlinks, without them; undefined where that would hide where a link leads. Without colours the renderer
 * knows no hyperlinks: bare addresses are kept from becoming links.
 */
function withAddressesOnce(markdown: string, theme: { readonly columns: number; readonly colors: boolean }): string | undefined {
  if (!theme.colors) {
    const text = withoutBareLinks(markdown);
    return text === undefined ? undefined : Bun.markdown.ansi(text, { ...theme, hyperlinks: false });
  }
  const { text, told } = withAddresses(markdown);
  return withoutTargets(Bun.markdown.ansi(text, { ...theme, hyperlinks: true }), told);
}

function ansi(markdown: string, style: RenderStyle, hasBare = false): string {
  const theme = { columns: widthOf(style), colors: style.color };
  const plainly = (text: string): string => Bun.markdown.ansi(text, { ...theme, hyperlinks: false });
  const addressed = (): string => {
    const { text, restored } = withStandIns(markdown);
    return restored(withAddressesOnce(text, theme) ?? plainly(text));
  };
  const rendered = hasBare ? addressed() : plainly(markdown);
  return FOREIGN.test(rendered) ? rendered.replaceAll("\t", " ").split("\n").map(onlyColours).join("\n") : rendered;
}

/** Addresses in it could stand once; left to itself the renderer writes each of them twice. */
function mayShowOnce({ text, fence }: Block): boolean {
  return !fence && hasBareAddress(text);
}

/** A block by itself. A part of a fence keeps its frame only where the fence really begins and ends. */
function renderAlone(block: Block, style: RenderStyle): string {
  const { fence } = block;
  const source = `${sourceOf(block, widthOf(style))}\n`;
  const rendered = withoutEscapes(block, closed(ansi(source, style, mayShowOnce(block)), style));
  if (!fence || (fence.head && fence.tail)) return rendered;
  // What ends where it was cut has no more lines, only the end of the frame.
  const from = fence.head ? 0 : block.text === "" && fence.tail ? 2 : 1;
  const lines = rendered.split("\n").slice(from, fence.tail ? undefined : -1);
  return closed(lines.join("\n"), style);
}

/** A paragraph of its own between two blocks: it ends whatever stands before it. */
const SEAM = "thndrs~seam";
/** Characters that are rendered at once. */
const MAX_TOGETHER = 64 * 1024;
/** Outside of a fence, what may reach into the blocks that follow: HTML, definitions of links and notes, an open fence. */
const REACHES_ON = /<|\]:|```|~~~/;

function staysAlone(block: Block): boolean {
  const { text, fence } = block;
  if (text.includes(SEAM)) return true;
  return fence ? !fence.head || !fence.tail : REACHES_ON.test(text) || mayShowOnce(block);
}

/** Each as `renderAlone` gives it, with one call of the renderer: a call costs as much as a short block. */
function renderTogether(blocks: readonly Block[], style: RenderStyle): readonly string[] {
  const [first] = blocks;
  if (first && blocks.length === 1) return [renderAlone(first, style)];
  const seam = style.color ? `\n${SEAM}${RESET}\n` : `\n${SEAM}\n`;
  const rendered = ansi(`${blocks.map((block) => sourceOf(block, widthOf(style))).join(`\n\n${SEAM}\n\n`)}\n`, style).split(seam);
  if (rendered.length !== blocks.length) return blocks.map((block) => renderAlone(block, style));
  // Behind the seam stands the blank line that a paragraph ends with, before everything but a list.
  return rendered.map((text, at) => closed(at > 0 && text.startsWith("\n") ? text.slice(1) : text, style));
}

/**
 * The text of each block, its lines joined by "\n" (colours may reach over several; the last line ends them), at most `columns`
 * wide but for code, which is left to the terminal to wrap.
 */
export function renderBlocks(blocks: readonly Block[], style: RenderStyle): string[] {
  const texts: string[] = new Array(blocks.length);
  const fitted = ({ text, fence }: Block, rendered: string): string =>
    fence ? rendered : withWrappedHeadings(text, rendered, widthOf(style));
  let places: number[] = [];
  let together: Block[] = [];
  let size = 0;
  const render = (): void => {
    const rendered = renderTogether(together, style);
    for (const [index, block] of together.entries()) {
      texts[places[index] ?? 0] = fitted(block, rendered[index] ?? "");
    }
    places = [];
    together = [];
    size = 0;
  };
  for (const [at, block] of blocks.entries()) {
    const quick = quickMarkdown(block, { columns: widthOf(style), color: style.color });
    if (quick !== undefined) texts[at] = quick;
    else if (staysAlone(block)) texts[at] = fitted(block, renderAlone(block, style));
    else {
      places.push(at);
      together.push(block);
      size += block.text.length;
      if (size > MAX_TOGETHER) render();
    }
  }
  if (together.length > 0) render();
  return texts;
}
