/** What a benchmark says: rows with what was measured, what it is held against, and whether that holds. Refuses: measuring. */

export type Unit = "ms" | "MiB" | "µs" | "bytes";

export type Row = {
  readonly name: string;
  readonly unit: Unit;
  readonly thndrs: number;
  /** The least program, or raw tool, that does the same. */
  readonly floor?: number;
  readonly ratio?: number;
  /** In words; absent where nothing is promised. */
  readonly goal?: string;
  readonly holds?: boolean;
};

/** At most `times` (1) the floor, plus `more` of the unit. */
export type Goal = { readonly times?: number; readonly more?: number };

function goalText({ times, more }: Goal, unit: Unit): string {
  if (times === undefined) return `≤ floor + ${more} ${unit}`;
  if (times === 0) return `≤ ${more} ${unit}`;
  return more === undefined ? `≤ ${times}×` : `≤ ${times}× + ${more} ${unit}`;
}

/** thndrs beside something that does the same. */
export function beside(name: string, unit: Unit, thndrs: number, floor: number, goal?: Goal): Row {
  const row = { name, unit, thndrs, floor, ratio: thndrs / floor };
  if (goal === undefined) return row;
  return { ...row, goal: goalText(goal, unit), holds: thndrs <= floor * (goal.times ?? 1) + (goal.more ?? 0) };
}

/** A number of its own. */
export function alone(name: string, unit: Unit, thndrs: number, most?: number): Row {
  if (most === undefined) return { name, unit, thndrs };
  return { name, unit, thndrs, goal: `≤ ${most} ${unit}`, holds: thndrs <= most };
}

export function missed(row: Row): boolean {
  return row.holds === false;
}

export function table(rows: readonly Row[]): string {
  const number = (value: number | undefined, unit: Unit): string =>
    value === undefined ? "" : `${unit === "bytes" ? value.toLocaleString("en") : value.toFixed(1)} ${unit}`;
  const head = ["", "thndrs", "floor", "ratio", "goal"];
  const body = rows.map((row) => [
    row.name,
    number(row.thndrs, row.unit),
    number(row.floor, row.unit),
    row.ratio === undefined ? "" : `${row.ratio.toFixed(2)}×`,
    row.goal === undefined ? "" : `${row.goal}${missed(row) ? "  MISSED" : ""}`,
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...body].map((cells) => Bun.stringWidth(cells[column] ?? ""))));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        const gap = " ".repeat((widths[column] ?? 0) - Bun.stringWidth(cell));
        return column === 0 || column === 4 ? cell + gap : gap + cell;
      })
      .join("  ")
      .trimEnd();
  return [head, ...body].map(line).join("\n");
}
