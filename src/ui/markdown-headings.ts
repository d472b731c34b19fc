/** Headings as wide as the terminal: the Markdown renderer wraps everything but them. Pure. Refuses: code, tables. */
import { wrap } from "./style.ts";

const HEADING = /(?:^|\n)(?:[ >]|[-*+] |\d{1,9}[.)] )*#/;
const UNDERLINED = /\n[ >]*(?:=+|-+) *(?:\n|$)/;
/** Begin and end of a frame around code. */
const FRAME = /^[\s│|]*(?:[┌└]─|\+-)(?: \S.*)?$/;
const CONTAINER = /^(?:\x1b\[[0-9;]*m|[\s│|])*/;
const SPACE_AT_END = / +((?:\x1b\[[0-9;]*m)*)$/;

/** Surely no wider than that: every character two cells, or an address that is shown with what makes a link of it. */
function isShort(source: string, columns: number): boolean {
  return source.length * 2 + 12 <= columns;
}

function hasHeading(source: string): boolean {
  return (source.includes("#") && HEADING.test(source)) || (source.includes("\n") && UNDERLINED.test(source));
}

/** `rendered`, made of `source`, with its headings in rows of at most `columns` cells. */
export function withWrappedHeadings(source: string, rendered: string, columns: number): string {
  const alone = source.startsWith("#");
  if (alone ? isShort(source, columns) : !hasHeading(source)) return rendered;
  let inFrame = false;
  const rows = rendered.split("\n").flatMap((line) => {
    if (!alone && FRAME.test(Bun.stripANSI(line))) inFrame = !inFrame;
    if (inFrame || Bun.stringWidth(line) <= columns) return line;
    const [container = ""] = alone ? [] : (CONTAINER.exec(line) ?? []);
    const room = Math.max(4, columns - Bun.stringWidth(container));
    return wrap(line.slice(container.length), room).map((row) => container + row.replace(SPACE_AT_END, "$1"));
  });
  return rows.join("\n");
}
