/**
 * Dropped sources (integrations.md, Compaction: drops last until the source changes): real path and the content that was
 * dropped. Refuses: telling anybody.
 */
export type Drop = { readonly path: string; readonly contentHash: string };

export class DropBoard {
  readonly #dropped = new Map<string, string>();

  add({ path, contentHash }: Drop): void {
    this.#dropped.set(path, contentHash);
  }

  /** Whether this content of the file is dropped. Any other content ends the drop. */
  holds(path: string, contentHash: string): boolean {
    const hash = this.#dropped.get(path);
    if (hash === undefined) return false;
    if (hash === contentHash) return true;
    this.#dropped.delete(path);
    return false;
  }

  /** Lifts the drop of one path, or every drop; answers the paths. */
  reset(path?: string): string[] {
    const paths = path === undefined ? [...this.#dropped.keys()] : this.#dropped.has(path) ? [path] : [];
    for (const each of paths) this.#dropped.delete(each);
    return paths;
  }

  list(): Drop[] {
    return [...this.#dropped].map(([path, contentHash]) => ({ path, contentHash }));
  }
}

export const DROPPED = "dropped by the user until its content changes";
