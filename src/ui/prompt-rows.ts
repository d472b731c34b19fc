/** Which rows of a question a low terminal shows: the marked choice before all, then what is asked, then the other choices. Pure. */
import { fit } from "./style.ts";

/** Of little use, first to go: the rest of the frame, what the keys do, where a list goes on. */
const GONE_FIRST = 1e6;
const MESSAGE = 1e5;

/** As clack marks them, also where the terminal has no such signs. */
const CHOICE = /^[│|] {2}[●○> ](?: |$)/;
const MARKED = /^[│|] {2}[●>](?: |$)/;
const KEYS = /^[│|] {2}↑\/↓/;
/** What a long list is searched for. */
const SEARCH = /^[│|] {2}Search:/;
const BAR = /^[│|└—]?\s*$/;

/** How soon each row goes; the marked choice never does. */
function costs(rows: readonly string[]): number[] {
  const first = rows.findIndex((row) => !BAR.test(row));
  const choice = rows.findIndex((row) => CHOICE.test(row));
  // Where there are no choices: something typed, in the last row that is no frame.
  const typed = rows.findLastIndex((row) => !BAR.test(row));
  const marked = choice < 0 ? typed : rows.findLastIndex((row) => MARKED.test(row));
  const isEnd = (row: string): boolean => KEYS.test(row) || BAR.test(row);
  // A choice may take several rows.
  const next = rows.findIndex((row, index) => index > marked && (CHOICE.test(row) || isEnd(row)));
  const end = rows.findIndex((row, index) => index > marked && isEnd(row));
  return rows.map((row, index) => {
    if (index === marked) return 0;
    if (index === first) return 1;
    if (BAR.test(row) || /^[│|] {2}\.\.\.$/.test(row)) return GONE_FIRST - index;
    if (choice < 0) return MESSAGE - index;
    if (end >= 0 && index >= end) return GONE_FIRST + index;
    if (index < choice) return SEARCH.test(row) ? 3.5 : MESSAGE + index;
    if (index > marked && index < next) return 1 + (index - marked) / 100;
    return 2 + Math.abs(index - marked);
  });
}

/** At most `limit` of these rows, in their order; where some of the message is missing its first row says so. */
export function rowsThatFit(lines: readonly string[], limit: number, columns: number): readonly string[] {
  if (lines.length <= limit) return lines;
  const rows = lines.map((line) => Bun.stripANSI(line).trimEnd());
  const cost = costs(rows);
  const kept = new Set(
    cost
      .map((own, index) => ({ own, index }))
      .sort((a, b) => a.own - b.own)
      .slice(0, Math.max(1, limit))
      .map(({ index }) => index),
  );
  const isCut = cost.some((own, index) => own >= MESSAGE && own < GONE_FIRST - lines.length && !kept.has(index));
  return lines.flatMap((line, index) => {
    if (!kept.has(index)) return [];
    return isCut && cost[index] === 1 && !rows[index]?.endsWith("…") ? [fit(`${line}…`, columns)] : [line];
  });
}
