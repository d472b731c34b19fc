/**
 * Which directories below the root are called for (C4): by a prompt, by a tool, each once per context.
 * Refuses: looking for files in them.
 */

import { isAbsolute, join } from "node:path";
import { lstat } from "../base/async-fs.ts";
import { IgnoreTree } from "../base/ignore-rules.ts";
import { directoryStamp } from "./load.ts";
import { mentionedPaths } from "./mention.ts";
import {
  absoluteCandidates,
  governingDirectory,
  governingDirectoryNow,
  isInside,
  isSkippedName,
  scopeOf,
  segmentsBelow,
  skippedBelow,
  upTo,
} from "./places.ts";

/** A touched directory and five parents. */
const WALK = 6;
const MAX_MENTIONS = 300;
/** Directories looked at again at each turn because something appeared in them. */
const MAX_WATCHED = 1000;

/** `asked`: nobody pinned it; what would govern it is to be known. */
export type Named = { readonly directory: string; readonly why: string; readonly asked?: boolean };

export class Places {
  readonly #root: string;
  /** Directories that a tool touch has checked in this context → their modification time then. */
  readonly #visited = new Map<string, number | undefined>();
  /** Directories whose file the conversation should hold and does not. */
  readonly #expected = new Set<string>();

  constructor(root: string) {
    this.#root = root;
  }

  /** C11: a new context checks every directory afresh; or this one is due for another look. */
  forget(directory?: string): void {
    if (directory !== undefined) {
      this.#visited.delete(directory);
      this.#expected.delete(directory);
      return;
    }
    this.#visited.clear();
    this.#expected.clear();
  }

  /** The file of this directory was called for and is blocked, unreadable, empty or gone: look again at each turn (C10). */
  expect(directory: string): void {
    this.#expected.add(directory);
  }

  /** The conversation holds its file now. */
  met(directory: string): void {
    this.#expected.delete(directory);
  }

  /**
   * Directories to check for tool touches, and the path each comes from. Marks them as checked. Names that are skipped
   * (`node_modules`, `.git`, …) are passed over together with everything below them; their parents are not.
   */
  async touched(paths: readonly string[]): Promise<{ readonly directory: string; readonly path: string }[]> {
    const due: { directory: string; path: string }[] = [];
    for (const path of paths) {
      const start = isAbsolute(path) ? governingDirectoryNow(path) : undefined;
      if (start === undefined || !isInside(this.#root, start)) continue;
      for (const directory of upTo(this.#root, start).slice(0, WALK)) {
        if (directory === this.#root || this.#visited.has(directory)) continue;
        if (skippedBelow(this.#root, directory) !== undefined) continue;
        this.#visited.set(directory, await directoryStamp(directory));
        due.push({ directory, path: scopeOf(this.#root, path) });
      }
    }
    return due;
  }

  /** Directories that are due for another look at this turn. */
  async due(): Promise<Set<string>> {
    return new Set([...(await this.#changedSince()), ...[...this.#expected].slice(-MAX_WATCHED)]);
  }

  /** Checked directories in which something was added or removed since. */
  async #changedSince(): Promise<string[]> {
    const watched = [...this.#visited].slice(-MAX_WATCHED);
    const now = await Promise.all(watched.map(([directory]) => directoryStamp(directory)));
    return watched.flatMap(([directory, before], at) => {
      if (now[at] === before) return [];
      this.#visited.set(directory, now[at]);
      return [directory];
    });
  }

  /** `directory` and its parents below the root. */
  governing(directory: string): string[] {
    return upTo(this.#root, directory).filter((place) => place !== this.#root);
  }

  /** Directories that a prompt names, of those the index would hold: not hidden, skipped or ignored. */
  async mentioned(prompt: string, cwd: string, home: string | undefined): Promise<Named[]> {
    const named = new Map<string, Named>();
    const ignored = new IgnoreTree(this.#root);
    const known = new Map<string, boolean>();
    for (const text of mentionedPaths(prompt)) {
      for (const path of absoluteCandidates(text, [cwd, this.#root], home)) {
        if (named.size >= MAX_MENTIONS) return [...named.values()];
        if (!(await this.#mayExist(path, known))) continue;
        const directory = await governingDirectory(path);
        if (directory === undefined || !isInside(this.#root, directory) || named.has(directory)) continue;
        if (!this.#indexable(directory, ignored)) continue;
        named.set(directory, { directory, why: `named in the prompt: ${text.slice(0, 200)}` });
      }
    }
    return [...named.values()];
  }

  /** Words with a slash that name nothing here cost one look at their first part, asked once. */
  async #mayExist(path: string, known: Map<string, boolean>): Promise<boolean> {
    if (!isInside(this.#root, path)) return true;
    const [first] = segmentsBelow(this.#root, path);
    if (first === undefined) return false;
    const there = known.get(first) ?? (await lstat(join(this.#root, first)).catch(() => undefined)) !== undefined;
    known.set(first, there);
    return there;
  }

  #indexable(directory: string, ignored: IgnoreTree): boolean {
    const segments = segmentsBelow(this.#root, directory);
    if (segments.length === 0) return false;
    if (segments.some((name) => name.startsWith(".") || isSkippedName(name))) return false;
    return !ignored.ignores(segments.join("/"), true);
  }
}
