/**
 * The index of nested instruction files (C4): walks directories below the root, in the background, within bounds.
 * Refuses: reading what it finds, entering links, directories that hold other people's or generated files.
 */
import { type Dirent, readdirSync } from "node:fs";
import { join } from "node:path";
import { readdir } from "../base/async-fs.ts";
import { enterDirectory, type IgnoreLevel, isIgnored } from "../base/ignore-rules.ts";
import { matchNames } from "./load.ts";
import { isSkippedName } from "./places.ts";
import { isLinkedWorktree } from "./worktrees.ts";

const MAX_DIRECTORIES = 100_000;
const MAX_FILES = 10_000;
const MAX_DEPTH = 128;
const PARALLEL = 16;
/** So many directories are read at once and in turn: a small tree needs no other thread, and waking one costs more than reading it. */
const AT_ONCE = 32;

export type IndexedDirectory = {
  readonly directory: string;
  /** Names to try there, ignored ones left out. */
  readonly names: readonly string[];
};

export type IndexResult = {
  readonly found: readonly IndexedDirectory[] /** A bound was met: the list may be short. */;
  readonly bounded: boolean;
};

type Step = {
  readonly directory: string;
  readonly relative: string;
  readonly level: IgnoreLevel | undefined;
  readonly depth: number;
};

class Walk {
  readonly found: IndexedDirectory[] = [];
  bounded = false;
  #directories = 0;
  readonly #queue: Step[];
  readonly #root: string;
  readonly #filenames: readonly string[];
  readonly #signal: AbortSignal;

  constructor(root: string, filenames: readonly string[], signal: AbortSignal) {
    this.#root = root;
    this.#filenames = filenames;
    this.#signal = signal;
    this.#queue = [{ directory: root, relative: "", level: undefined, depth: 0 }];
  }

  /** Reads directories, several at a time, until none is queued and none is being read. */
  run(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let reading = 0;
    const done = (): void => {
      reading--;
      next();
    };
    const next = (): void => {
      while (reading < PARALLEL && !this.#signal.aborted) {
        const step = this.#queue.pop();
        if (!step) break;
        if (!this.#admits()) continue;
        reading++;
        this.#read(step).then(done, reject);
      }
      if (reading === 0) resolve();
    };
    next();
    return promise;
  }

  /** Undefined where the directory cannot be read. */
  async #entries(directory: string): Promise<Dirent[] | undefined> {
    if (this.#directories > AT_ONCE) return await readdir(directory, { withFileTypes: true }).catch(() => undefined);
    try {
      return readdirSync(directory, { withFileTypes: true });
    } catch {
      return undefined;
    }
  }

  #admits(): boolean {
    this.#directories++;
    if (this.#directories <= MAX_DIRECTORIES && this.found.length < MAX_FILES) return true;
    this.bounded = true;
    return false;
  }

  async #read(step: Step): Promise<void> {
    const entries = await this.#entries(step.directory);
    if (!entries || this.#signal.aborted) return;
    // The same tracked files again (A04).
    if (step.depth > 0 && entries.some(({ name }) => name === ".git") && isLinkedWorktree(step.directory)) return;
    const dotted = new Set<string>();
    const all: string[] = [];
    for (const { name } of entries) if (name.startsWith(".")) dotted.add(name);
    const level = enterDirectory(this.#root, step.relative, step.level, undefined, (name) => dotted.has(name));
    const prefix = step.relative === "" ? "" : `${step.relative}/`;
    for (const entry of entries) {
      all.push(entry.name);
      if (!entry.isDirectory() || entry.name.startsWith(".") || isSkippedName(entry.name)) continue;
      this.#enqueue(step, level, entry.name, prefix);
    }
    const names = matchNames(all, this.#filenames).filter((name) => !isIgnored(level, `${prefix}${name}`, false));
    if (names.length > 0) this.found.push({ directory: step.directory, names });
  }

  #enqueue(step: Step, level: IgnoreLevel, name: string, prefix: string): void {
    const relative = `${prefix}${name}`;
    if (isIgnored(level, relative, true)) return;
    if (step.depth >= MAX_DEPTH) this.bounded = true;
    else this.#queue.push({ directory: join(step.directory, name), relative, level, depth: step.depth + 1 });
  }
}

/** Directories below and including `root` that hold instruction files. Ends early, without an error, when aborted. */
export async function indexDirectories(root: string, filenames: readonly string[], signal: AbortSignal): Promise<IndexResult> {
  const walk = new Walk(root, filenames, signal);
  await walk.run();
  return { found: walk.found.sort((a, b) => (a.directory < b.directory ? -1 : 1)), bounded: walk.bounded };
}
