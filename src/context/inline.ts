/**
 * Code spans and comments inside one stretch of prose (C7, C12). Where Markdown's dialects differ on how far a paragraph goes,
 * only spans that all of them see count as code. Refuses: finding the stretches (blocks.ts).
 */

import { once } from "../base/once.ts";
import { LinkEnds } from "./link-ends.ts";

/** Places are relative to the stretch. */
export type Inline = { readonly kind: "span" | "comment"; readonly start: number; readonly end: number };

/** A line that begins like a block of some dialect: list item, table row, heading, container. */
const BLOCK_LIKE = /^[ \t]*(?:[-+*|#<>:=~$%]|\d+[.)])/;
const DELIMITER_ROW = /^[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?$/;
/** What may hold a backtick and is no code: tags and automatic links. */
const tag = once(() => {
  const attribute = `[ \\t\\n]+[a-z_:][\\w.:-]*(?:[ \\t\\n]*=[ \\t\\n]*(?:[^ \\t\\n"'=<>\`]+|'[^']*'|"[^"]*"))?`;
  const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
  return new RegExp(
    `<(?:[a-z][a-z0-9-]*(?:${attribute})*[ \\t\\n]*/?>|/[a-z][a-z0-9-]*[ \\t\\n]*>|[a-z][a-z0-9+.-]{1,31}:[^\\u0000-\\u0020<>]*>|[a-z0-9.!#$%&'*+/=?^_\`{|}~-]+@${label}(?:\\.${label})*>)`,
    "iy",
  );
});
const MARK = /\\[\s\S]|`+|[<[\]]/g;
const DELIMITED = [
  [/<!--/y, "-->"],
  [/<\?/y, "?>"],
  [/<!\[CDATA\[/y, "]]>"],
  [/<![a-z]/iy, ">"],
] as const;

/** For each run of backticks that may open a span: where the next run of the same length ends. */
function runEnds(piece: string): Map<number, number> {
  const ends = new Map<number, number>();
  const open = new Map<number, number[]>();
  const wait = (length: number, at: number): void => {
    const waiting = open.get(length);
    if (waiting) waiting.push(at);
    else open.set(length, [at]);
  };
  for (const { 0: run, index } of piece.matchAll(/`+/g)) {
    for (const before of open.get(run.length) ?? []) ends.set(before, index + run.length);
    open.delete(run.length);
    wait(run.length, index);
    // A backslash takes the first backtick of a run that would open a span, not of one that closes it.
    if (run.length > 1) wait(run.length - 1, index + 1);
  }
  return ends;
}

/** `last`: the last place of each closing mark; a search past it would run to the end for every opening. */
function tagEnd(piece: string, last: ReadonlyMap<string, number>, at: number): number | undefined {
  for (const [open, close] of DELIMITED) {
    open.lastIndex = at;
    if (!open.test(piece)) continue;
    // `<!-->` is whole.
    const from = at + 2;
    return from <= (last.get(close) ?? -1) ? piece.indexOf(close, from) + close.length : undefined;
  }
  tag().lastIndex = at;
  const found = tag().exec(piece);
  return found ? at + found[0].length : undefined;
}

/** `links`: whether a link's destination is passed over. Whether there is a link may depend on definitions far away. */
function inlineOf(piece: string, start: number, links: boolean): Inline[] {
  const last = new Map(DELIMITED.map(([, close]) => [close as string, piece.lastIndexOf(close)]));
  const ends = runEnds(piece);
  const brackets = new LinkEnds(piece);
  const found: Inline[] = [];
  const endOf = (chars: string, at: number): number | undefined => {
    if (chars === "<") return tagEnd(piece, last, at);
    if (chars === "]") return links ? brackets.close(at) : undefined;
    return ends.get(at);
  };
  const marks = new RegExp(MARK);
  for (let mark = marks.exec(piece); mark; mark = marks.exec(piece)) {
    const { 0: chars, index } = mark;
    if (chars === "[") brackets.open(index);
    const to = endOf(chars, index);
    if (to === undefined) continue;
    marks.lastIndex = to;
    const kind = chars[0] === "`" ? "span" : piece.startsWith("<!--", index) ? "comment" : undefined;
    if (kind) found.push({ kind, start: start + index, end: start + to });
  }
  return found;
}

/** Pieces that no span crosses in any dialect: lines that begin like a block, and the cells of what may be a table. */
function strictPieces(prose: string): (readonly [number, number])[] {
  const lines = prose.split("\n");
  const table = lines.some((line) => line.includes("|") && DELIMITER_ROW.test(line));
  // The destination and title of a link's definition may stand on lines of their own.
  const defines = prose.includes("]:");
  const pieces: [number, number][] = [];
  let at = 0;
  let joins = false;
  for (const line of lines) {
    const row = table || /^[ \t]*\|/.test(line);
    const piece = pieces.at(-1);
    if (row) {
      let cell = at;
      for (const pipe of line.matchAll(/\\[\s\S]|\|/g)) {
        if (pipe[0] !== "|") continue;
        pieces.push([cell, at + pipe.index]);
        cell = at + pipe.index + 1;
      }
      pieces.push([cell, at + line.length]);
    } else if (joins && piece && !BLOCK_LIKE.test(line)) piece[1] = at + line.length;
    else pieces.push([at, at + line.length]);
    joins = !row && !defines && !/^[ \t]*#/.test(line);
    at += line.length + 1;
  }
  return pieces;
}

/** Spans and comments of a stretch of prose, in order, without overlap. Linear in the stretch. */
export function findInline(prose: string): Inline[] {
  const loose = inlineOf(prose, 0, false);
  if (!loose.some((found) => found.kind === "span") || !/[\n|]|\]\(/.test(prose)) return loose;
  const strict = new Set<string>();
  for (const [from, to] of strictPieces(prose))
    for (const found of inlineOf(prose.slice(from, to), from, true)) strict.add(`${found.start}:${found.end}`);
  return loose.filter((found) => found.kind === "comment" || strict.has(`${found.start}:${found.end}`));
}

/** Comments of HTML, where no backtick counts. One that never closes reaches to the end. */
export function findComments(html: string): Inline[] {
  const found: Inline[] = [];
  for (let open = html.indexOf("<!--"); open !== -1; open = html.indexOf("<!--", found.at(-1)?.end)) {
    const close = html.indexOf("-->", open + 2);
    found.push({ kind: "comment", start: open, end: close === -1 ? html.length : close + 3 });
  }
  return found;
}
