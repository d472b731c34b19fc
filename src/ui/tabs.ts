/**
 * Tabs as the spaces they stand for, with a stop every four columns (Markdown's own). A tab in a row that is redrawn would be
 * counted as nothing and shown as up to eight columns. Pure. Refuses: other controls, they are sanitize.ts's.
 */

const STOP = 4;

function expandLine(line: string, start: number): string {
  let column = start;
  let expanded = "";
  let from = 0;
  for (let at = line.indexOf("\t"); at !== -1; at = line.indexOf("\t", from)) {
    const part = line.slice(from, at);
    column += Bun.stringWidth(part);
    const spaces = STOP - (column % STOP);
    expanded += part + " ".repeat(spaces);
    column += spaces;
    from = at + 1;
  }
  return from === 0 ? line : expanded + line.slice(from);
}

/** Text without tabs, colours allowed; its first line begins at `column`. */
export function expandTabs(text: string, column = 0): string {
  if (!text.includes("\t")) return text;
  return text
    .split("\n")
    .map((line, index) => expandLine(line, index === 0 ? column : 0))
    .join("\n");
}
