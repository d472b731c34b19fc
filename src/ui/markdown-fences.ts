/** Code fences, line by line: what opens one, what closes it, where its code begins. Pure. Refuses: blocks. */
import { FENCE, ITEM, isBlank } from "./markdown-lines.ts";

export type Fence = {
  readonly mark: string;
  readonly info: string;
  /** In a list's item: its block is the list's. */
  readonly nested: boolean;
  /** The column of its mark. */
  readonly indent: number;
  /** Columns that the mark stands too far right to be a fence of its item. */
  readonly excess: number;
};

export function opensFence(line: string): boolean {
  // Most lines have no mark: looked for before a regular expression is asked.
  return (line.includes("```") || line.includes("~~~")) && FENCE.test(line);
}

export function indentOf(line: string): number {
  let at = 0;
  while (line.charCodeAt(at) === 0x20) at += 1;
  return at;
}

/** The fence a line opens; `item` are the lines of the list it stands in, below them. */
export function openedFence(line: string, item: readonly string[] | undefined, nested: boolean): Fence {
  const [, before = "", mark = "```", info = ""] = FENCE.exec(line) ?? [];
  const excess = item ? excessOf(before.length, item) : 0;
  return { mark, info: info.trim(), nested, indent: before.length, excess };
}

/** A fence four columns or more right of its item's text would be text itself. */
function excessOf(indent: number, lines: readonly string[]): number {
  for (let at = lines.length - 1; at >= 0; at--) {
    const [item] = ITEM.exec(lines[at] ?? "") ?? [];
    if (item !== undefined && indentOf(item) < indent) return indent - item.length > 3 ? indent - item.length : 0;
  }
  return 0;
}

export function closesFence(line: string, { mark, nested, indent }: Fence): boolean {
  if (!line.includes(mark) || indentOf(line) > (nested ? indent + 3 : Math.max(indent, 3))) return false;
  const trimmed = line.trim();
  return trimmed.startsWith(mark) && trimmed.replaceAll(mark[0] ?? "`", "") === "";
}

/** A line of code as far as it is right of its fence. */
export function insideFence(line: string, { indent }: Fence): string {
  return indent > 0 ? line.slice(Math.min(indent, indentOf(line))) : line;
}

/** A line left of its fence would end the item, and the fence with it. */
export function insideItem(line: string, { indent, excess }: Fence): string {
  if (isBlank(line)) return line;
  return line.padStart(line.length + indent - indentOf(line)).slice(excess);
}
