/** Pinned paths (C4, By pin): what governs them applies in every turn. Refuses: paths outside the workspace. */
import { lstat } from "node:fs/promises";
import type { Named } from "./nested.ts";
import { absoluteCandidates, governingDirectory, isInside, scopeOf } from "./places.ts";

export type PinAnswer = { readonly ok: boolean; readonly message: string };

export class PinBoard {
  readonly #root: string;
  readonly #home: string | undefined;
  /** Absolute path → what was typed. */
  readonly #pins = new Map<string, string>();

  constructor(root: string, home: string | undefined) {
    this.#root = root;
    this.#home = home;
  }

  /** Relative paths are looked for in the working directory, then in the root. A path that does not exist yet may be pinned. */
  async pin(text: string, cwd: string): Promise<PinAnswer> {
    const candidates = absoluteCandidates(text, [cwd, this.#root], this.#home);
    const existing = await Promise.all(candidates.map(async (path) => (await lstat(path).catch(() => undefined)) !== undefined));
    const path = candidates.find((_path, at) => existing[at]) ?? candidates[0];
    const directory = path === undefined ? undefined : await governingDirectory(path);
    if (path === undefined || directory === undefined || !isInside(this.#root, directory)) {
      return { ok: false, message: `${text} is not inside the workspace ${this.#root}.` };
    }
    if (this.#pins.has(path)) return { ok: true, message: `${scopeOf(this.#root, path)} is pinned already.` };
    this.#pins.set(path, text);
    return {
      ok: true,
      message: `Pinned ${scopeOf(this.#root, path)}: the instruction files that govern it apply from the next turn on.`,
    };
  }

  unpin(text: string, cwd: string): PinAnswer {
    const candidates = absoluteCandidates(text, [cwd, this.#root], this.#home);
    const path = [...this.#pins].find(([pinned, typed]) => typed === text || candidates.includes(pinned))?.[0];
    if (path === undefined) return { ok: false, message: `${text} is not pinned.` };
    this.#pins.delete(path);
    return { ok: true, message: `Unpinned ${scopeOf(this.#root, path)}. What was sent stays in the conversation.` };
  }

  /** The pinned directories as they are on disk now. */
  async places(): Promise<Named[]> {
    const places: Named[] = [];
    for (const [path, typed] of this.#pins) {
      const directory = await governingDirectory(path);
      if (directory !== undefined && isInside(this.#root, directory))
        places.push({ directory, why: `governs ${typed}, which is pinned` });
    }
    return places;
  }
}
