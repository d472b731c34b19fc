/** The last settled lines, so that what `/clear` took from the screen can be shown again. Bounded. Refuses: everything older. */

const KEPT_LINES = 400;

export class KeptLines {
  #lines: string[] = [];
  #cleared: readonly string[] = [];

  add(lines: readonly string[]): void {
    for (let at = Math.max(0, lines.length - 2 * KEPT_LINES); at < lines.length; at++) this.#lines.push(lines[at] ?? "");
    if (this.#lines.length > 2 * KEPT_LINES) this.#lines = this.#lines.slice(-KEPT_LINES);
  }

  /** The screen was emptied. */
  clear(): void {
    this.#cleared = this.#lines.slice(-KEPT_LINES);
    this.#lines = [];
  }

  /** What was last cleared, once. */
  takeCleared(): readonly string[] {
    const lines = this.#cleared;
    this.#cleared = [];
    return lines;
  }
}
