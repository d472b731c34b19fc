/** One line of words broken into lines as the Markdown renderer breaks it. Pure. */

/** Characters that are all one column wide, broken at spaces; undefined where a word is longer than a line. */
export function brokenAtSpaces(text: string, columns: number): string | undefined {
  let lines = "";
  let from = 0;
  while (text.length - from > columns) {
    const space = text.lastIndexOf(" ", from + columns);
    if (space <= from) return undefined;
    lines += `${text.slice(from, space)}\n`;
    from = space + 1;
  }
  return from === 0 ? text : lines + text.slice(from);
}

/** Words longer than a line begin where they stand and are cut at its end. Characters are one column wide (`isNarrow`), or two. */
export function brokenInWords(text: string, columns: number, isNarrow: boolean): string {
  let lines = "";
  let column = 0;
  for (const word of text.split(" ")) {
    let width = isNarrow ? word.length : Bun.stringWidth(word);
    if (column > 0 && column + 1 + width <= columns) {
      lines += ` ${word}`;
      column += 1 + width;
      continue;
    }
    let room = columns;
    let from = 0;
    if (column > 0) {
      const left = columns - column - 1;
      const begins = width > columns && fitting(word, 0, left, isNarrow) > 0;
      lines += begins ? " " : "\n";
      if (begins) room = left;
    }
    while (width > room) {
      const to = from + fitting(word, from, room, isNarrow);
      const part = word.slice(from, to);
      lines += `${part}\n`;
      width -= isNarrow ? part.length : Bun.stringWidth(part);
      from = to;
      room = columns;
    }
    lines += from === 0 ? word : word.slice(from);
    column = columns - room + width;
  }
  return lines;
}

/** How many characters from a place on fit into `room` columns, which are fewer than they take. */
function fitting(text: string, from: number, room: number, isNarrow: boolean): number {
  if (isNarrow) return room;
  let to = from;
  let left = room;
  // So many fit surely.
  for (let more = left >> 1; more > 0; more = left >> 1) {
    left -= Bun.stringWidth(text.slice(to, to + more));
    to += more;
  }
  const isLastNarrow = left === 1 && Bun.stringWidth(text.charAt(to)) === 1;
  return to - from + (isLastNarrow ? 1 : 0);
}
