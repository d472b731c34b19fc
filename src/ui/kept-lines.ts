/** The last settled lines, so that what `/clear` took from the screen can be shown again. Bounded. Refuses: everything older. */

const KEPT_LINES = 400;

export class KeptLines {
  #lines: string[] = [];
  #cleared: readonly string[] = [];

  /** One or more lines, joined by "\n". */
  add(text: string): void {
    this.#lines.push(...lastLines(text));
    if (this.#lines.length > 2 * KEPT_LINES) this.#lines = this.#lines.slice(-KEPT_LINES);
  }

  /** The screen was emptied by the command that is the last line. Where that was all, what was cleared before stays. */
  clear(): void {
    const lines = this.#lines.slice(-KEPT_LINES, -1);
    if (lines.some((line) => line !== "")) this.#cleared = lines;
    this.#lines = [];
  }

  /** What was last cleared, once. */
  takeCleared(): string | undefined {
    const lines = this.#cleared;
    this.#cleared = [];
    return lines.length === 0 ? undefined : lines.join("\n");
  }
}

/** The last of them, the rest of a long text not looked at. */
function lastLines(text: string): readonly string[] {
  let from = text.length;
  for (let lines = 0; lines < KEPT_LINES && from !== -1; lines++) from = from === 0 ? -1 : text.lastIndexOf("\n", from - 1);
  return text.slice(from + 1).split("\n");
}
