/**
 * Tables in the source of a block: rows that would lose cells made whole, tables too wide for the terminal written as lists. Pure. Refuses: rendering, tables in code.
 */
import { closesFence, type Fence, openedFence, opensFence } from "./markdown-fences.ts";
import { FENCE, HEADING, isBlank, isList, RULE } from "./markdown-lines.ts";

type Table = {
  /** Lines of the block: from the header on, to behind the last row. */
  readonly from: number;
  readonly to: number;
  /** What stands before the header (of a list's item, a quote) and before every other row. */
  readonly first: string;
  readonly rest: string;
  readonly header: readonly string[];
};

/** Cells of the borders of a column, of a column at least, of one that is good to read. */
const BORDERS = 3;
const LEAST = 3;
const READABLE = 6;

const CONTAINER = /^(?:[ >]|[-*+] |\d{1,9}[.)] )*/;
const QUOTE_OR_INDENT = /^[ >]*/;
const DELIMITER = /^[|:\- ]+$/;
const PIPE = /(?<!\\)\|/g;
const CODE = /(`+)[^`]+\1/g;

function cellsOf(row: string): string[] {
  const body = row
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return body.split(PIPE).map((cell) => cell.trim());
}

/** No more cells than there are columns: bars in code are no borders, and what is too much belongs to the last cell. */
function wholeCells(row: string, columns: number): string[] {
  const cells = cellsOf(row);
  if (cells.length <= columns) return cells;
  const careful = cellsOf(row.replace(CODE, (code) => code.replace(PIPE, "\\|")));
  if (careful.length <= columns) return careful;
  return [...careful.slice(0, columns - 1), careful.slice(columns - 1).join(" \\| ")];
}

/** The number of columns a line below a header makes; 0 where it makes no table. */
function columnsOf(body: string): number {
  if (!body.includes("|") || !DELIMITER.test(body)) return 0;
  const cells = cellsOf(body);
  return cells.every((cell) => /^:?-+:?$/.test(cell)) ? cells.length : 0;
}

/** Whether it has more cells than there are columns; bars that are marked as text are counted too. */
function mayExceed(row: string, columns: number): boolean {
  let bars = 0;
  for (let at = row.indexOf("|"); at !== -1; at = row.indexOf("|", at + 1)) bars += 1;
  return bars - (row.startsWith("|") ? 1 : 0) - (row.endsWith("|") ? 1 : 0) >= columns;
}

/** What a row begins with at least: the space behind the mark of a quote may be missing. */
function insideOf(rest: string): string {
  return rest.endsWith("> ") ? rest.slice(0, -1) : rest;
}

function isRow(line: string, inside: string): boolean {
  // A line outside of the list or the quote is none.
  if (!line.startsWith(inside)) return false;
  const body = line.slice(inside.length).trimStart();
  return !(isBlank(body) || body.startsWith(">") || HEADING.test(body) || isList(body) || RULE.test(body) || FENCE.test(body));
}

function tableAt(lines: readonly string[], at: number): Table | undefined {
  const delimiter = lines[at + 1] ?? "";
  const [rest = ""] = QUOTE_OR_INDENT.exec(delimiter) ?? [];
  const columns = columnsOf(delimiter.slice(rest.length));
  if (columns === 0) return undefined;
  const line = lines[at] ?? "";
  const [first = ""] = CONTAINER.exec(line) ?? [];
  const header = cellsOf(line.slice(first.length));
  if (header.length !== columns) return undefined;
  let to = at + 2;
  while (to < lines.length && isRow(lines[to] ?? "", insideOf(rest))) to += 1;
  return { from: at, to, first, rest, header };
}

function tablesOf(lines: readonly string[]): Table[] {
  const tables: Table[] = [];
  let fence: Fence | undefined;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (fence) {
      if (closesFence(line, fence)) fence = undefined;
    } else if (opensFence(line)) fence = openedFence(line, undefined, true);
    else {
      const table = tableAt(lines, at);
      if (table) tables.push(table);
      if (table) at = table.to - 1;
    }
  }
  return tables;
}

/** The lines of a table instead of its own; undefined where it stays. */
type Replace = (table: Table, rows: readonly string[], heads: readonly string[]) => readonly string[] | undefined;

function replaceTables(text: string, replace: Replace): string {
  const lines = text.split("\n");
  let replaced = false;
  for (const table of tablesOf(lines).reverse()) {
    const { from, to, rest } = table;
    const rows = lines.slice(from + 2, to).map((line) => line.slice(insideOf(rest).length).trim());
    const others = replace(table, rows, lines.slice(from, from + 2));
    if (others) lines.splice(from, to - from, ...others);
    replaced ||= others !== undefined;
  }
  return replaced ? lines.join("\n") : text;
}

/** Columns that the lists and quotes around a table take, at most. */
function indentOf({ first }: Table): number {
  const quotes = first.split(">").length - 1;
  const inside = first.replaceAll(/> ?/g, "").length;
  return quotes * 2 + (inside > 0 ? inside * 2 + 2 : 0);
}

/** Whether the renderer, which gives every column three cells and breaks words where there is no more room, can show it. */
function fitsIn(table: Table, rows: readonly string[], columns: number): boolean {
  const { header } = table;
  const count = header.length;
  const room = columns - indentOf(table);
  const share = Math.floor((room - 1) / count) - BORDERS;
  if (share >= READABLE) return true;
  const cells = [header, ...rows.map((row) => wholeCells(row, count))];
  const widths = header.map((_, at) => Math.max(LEAST, ...cells.map((row) => Bun.stringWidth(row[at] ?? ""))));
  if (widths.reduce((sum, width) => sum + width + BORDERS, 1) <= room) return true;
  const words = cells.flat().flatMap((cell) => cell.split(" "));
  return share >= LEAST && words.every((word) => Bun.stringWidth(word) <= share);
}

/**
 * Tables that fit, with all their cells (bars that are not marked as text end one, and one without a column is not shown); others
 * as lists, each row an item.
 */
export function withFittingTables(text: string, columns: number): string {
  if (!text.includes("|") || !text.includes("-") || text.startsWith("    ")) return text;
  return replaceTables(text, (table, rows, heads) => {
    if (!fitsIn(table, rows, columns)) return listOf(table, rows);
    const { rest, header } = table;
    if (!rows.some((row) => mayExceed(row, header.length))) return undefined;
    return [...heads, ...rows.map((row) => `${rest}| ${wholeCells(row, header.length).join(" | ")} |`)];
  });
}

/** `header: cell`, one below the other. */
function listOf({ first, rest, header }: Table, rows: readonly string[]): string[] {
  const named = header.map((name) => (/^[\p{L}\p{N} ]+$/u.test(name) ? `**${name}**` : name));
  const items = rows.length === 0 ? [header] : rows.map((row) => itemOf(named, wholeCells(row, header.length)));
  return items.flatMap((parts, item) =>
    parts.map((part, index) => {
      const before = item === 0 && index === 0 ? first : rest;
      const text = part.replaceAll("\\|", "|");
      return `${before}${index === 0 ? "- " : "  "}${text}${index < parts.length - 1 ? "\\" : ""}`;
    }),
  );
}

function itemOf(header: readonly string[], cells: readonly string[]): string[] {
  return header.map((name, at) => `${name === "" ? "" : `${name}: `}${cells[at] ?? ""}`.trim()).filter((part) => part !== "");
}
