/**
 * A paragraph that is nothing but words: the Markdown renderer would only wrap it, and most of an answer is that. Gives the very
 * lines the renderer gives, at a tenth of the cost. Refuses: whatever might mean something, or be wider than one column a letter.
 */

const LETTER = "A-Za-z\\u00c0-\\u024f";
/** Each one column wide, and never part of Markdown inside a line. */
const INSIDE = `${LETTER}0-9 ,.;:?!'"()/%+={}\\-\\u2013\\u2014\\u2018\\u2019\\u201c\\u201d\\u2026`;
/** Lines begin with a letter, a quote or a bracket: no list, no heading, no rule. */
const WORDS = new RegExp(`^[${LETTER}"'(][${INSIDE}]*(?:\\n[${LETTER}"'(][${INSIDE}]*)*$`);

/** Of `www.` in any case the last letters are enough. */
const ADDRESSES = ["://", "ww.", "WW.", "wW.", "Ww."];

/** Lines at most `columns` wide, joined by "\n"; undefined where the renderer has to be asked. */
export function plainParagraph(text: string, columns: number): string | undefined {
  if (!WORDS.test(text)) return undefined;
  // Spaces that are dropped or mean a break; addresses become links.
  if (text.includes("  ") || text.includes(" \n") || text.endsWith(" ")) return undefined;
  if (ADDRESSES.some((mark) => text.includes(mark))) return undefined;
  const flowing = text.replaceAll("\n", " ");
  let lines = "";
  let from = 0;
  while (flowing.length - from > columns) {
    const space = flowing.lastIndexOf(" ", from + columns);
    // A word longer than a line: the renderer has its own way with those.
    if (space <= from) return undefined;
    lines += `${flowing.slice(from, space)}\n`;
    from = space + 1;
  }
  return lines + flowing.slice(from);
}
