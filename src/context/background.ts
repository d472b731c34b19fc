/**
 * Keeps the index of nested files in the ledger up to date, in the background (C4). Never awaited by the first request.
 * Refuses: the text of what it finds (it is read, checked and forgotten).
 */
import type { ContextOptions } from "./contract.ts";
import { describe } from "./deliver.ts";
import { DROPPED } from "./drops.ts";
import { type IndexedDirectory, indexDirectories } from "./index-files.ts";
import type { Entry, Ledger } from "./ledger.ts";
import type { Preparer } from "./prepare.ts";
import type { Resolver } from "./resolve.ts";

const PARALLEL = 16;
/** A walk that took longer than this is not repeated at every turn. */
const SLOW_MS = 1000;
const SLOW_PAUSE_MS = 30_000;

/** What a later walk found to be different. Only files the conversation does not hold: the others are compared by turn. */
export type IndexNews = { readonly added: readonly Entry[]; readonly removed: readonly Entry[] };

/** Whatever their content is: they may have come back, or have been allowed. */
const LOOKED_AT_AGAIN: ReadonlySet<string> = new Set(["removed", "skipped", "blocked"]);
const NO_REASON = "not named, pinned or touched so far";

export class BackgroundIndex {
  readonly #options: ContextOptions;
  readonly #ledger: Ledger;
  readonly #resolver: Resolver;
  readonly #preparer: Preparer;
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;
  #known: Set<string> | undefined;
  #news: { added: Entry[]; removed: Entry[] } = { added: [], removed: [] };
  #lastMs = 0;
  #lastEnd = 0;

  constructor(options: ContextOptions, ledger: Ledger, resolver: Resolver, preparer: Preparer) {
    this.#options = options;
    this.#ledger = ledger;
    this.#resolver = resolver;
    this.#preparer = preparer;
  }

  /** Begins a walk unless one is running or the last one was slow and recent. */
  begin(cwd: string): void {
    if (this.#running || this.#abort.signal.aborted) return;
    if (this.#lastMs > SLOW_MS && performance.now() - this.#lastEnd < SLOW_PAUSE_MS) return;
    const started = performance.now();
    this.#running = this.#walk(cwd)
      .catch((error: unknown) => {
        const message = `the index of nested instruction files is incomplete: ${error instanceof Error ? error.message : String(error)}`;
        this.#options.diagnose({ severity: "warning", code: "context_index", message });
      })
      .finally(() => {
        this.#lastEnd = performance.now();
        this.#lastMs = this.#lastEnd - started;
        this.#running = undefined;
      });
  }

  /** Waits for the walk that is running, if one is; at most `limitMs` where given. */
  async settled(limitMs?: number): Promise<void> {
    const running = this.#running;
    if (!running) return;
    if (limitMs === undefined) return await running;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limitMs);
    });
    await Promise.race([running, late]);
    clearTimeout(timer);
  }

  /** Whether waiting for the next walk would be short, going by the last one. */
  isQuick(limitMs: number): boolean {
    return this.#known !== undefined && this.#lastMs < limitMs;
  }

  /** News since the last call. */
  take(): IndexNews {
    const news = this.#news;
    this.#news = { added: [], removed: [] };
    return news;
  }

  close(): void {
    this.#abort.abort();
  }

  async #walk(cwd: string): Promise<void> {
    const { root, settings } = this.#options;
    const { signal } = this.#abort;
    // The request that is being made goes first.
    const turn = Promise.withResolvers<void>();
    setImmediate(turn.resolve);
    await turn.promise;
    const { found, bounded } = await indexDirectories(root, settings.filenames, signal);
    if (signal.aborted) return;
    if (bounded) {
      const message =
        "the tree is very large: nested instruction files beyond the index's bounds are found only when their directories are touched";
      this.#preparer.tell({ severity: "info", code: "context_index", message }, "bounded");
    }
    const chain = this.#resolver.chainDirectories(cwd);
    const entries = new Set<Entry>();
    await this.#each(
      found.filter(({ directory }) => !chain.has(directory)),
      async (place) => {
        const entry = await this.#candidate(place);
        if (entry) entries.add(entry);
      },
    );
    if (!signal.aborted) this.#compare(entries);
  }

  async #each(places: readonly IndexedDirectory[], work: (place: IndexedDirectory) => Promise<void>): Promise<void> {
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < places.length && !this.#abort.signal.aborted) {
        const place = places[next++];
        if (place) await work(place);
      }
    };
    const workers: Promise<void>[] = [];
    while (workers.length < Math.min(PARALLEL, places.length)) workers.push(worker());
    await Promise.all(workers);
  }

  async #candidate({ directory, names }: IndexedDirectory): Promise<Entry | undefined> {
    const resolved = await this.#resolver.directory(directory, names);
    if (!resolved) return undefined;
    const { entry, file } = resolved;
    if (entry.claim !== undefined) return entry;
    const changed = entry.contentHash !== file.contentHash;
    if (!changed && !LOOKED_AT_AGAIN.has(entry.state)) return entry;
    describe(entry, file);
    if (this.#ledger.drops.holds(entry.path, file.contentHash)) {
      entry.state = "dropped";
      entry.reason = DROPPED;
      return entry;
    }
    const blocked = await this.#preparer.wouldBlock(file);
    // It may have been delivered while it was looked at.
    if (entry.claim !== undefined) return entry;
    entry.state = blocked === undefined ? "candidate" : "blocked";
    entry.reason = blocked ?? NO_REASON;
    return entry;
  }

  #compare(entries: ReadonlySet<Entry>): void {
    const paths = new Set([...entries].map((entry) => entry.path));
    const known = this.#known;
    this.#known = paths;
    if (!known) return;
    for (const entry of entries) if (!known.has(entry.path) && entry.claim === undefined) this.#news.added.push(entry);
    for (const path of known) {
      const entry = paths.has(path) ? undefined : this.#ledger.get(path);
      if (!entry || entry.claim !== undefined || entry.state === "removed" || entry.origin !== "nested") continue;
      entry.state = "removed";
      entry.reason = "it is gone from disk";
      this.#news.removed.push(entry);
    }
  }
}
