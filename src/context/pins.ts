/**
 * Pinned paths (C4, By pin; integrations.md, Compaction): what governs them applies in every turn, and a pinned file's own
 * text is in the conversation as it is on disk. Refuses: paths outside the workspace; reading files (pinned.ts).
 */
import type { Stats } from "node:fs";
import { join } from "node:path";
import { lstat } from "../base/async-fs.ts";
import type { PinAnswer, PinnedPath } from "./contract.ts";
import type { Named } from "./nested.ts";
import { absoluteCandidates, governingDirectory, isInside, scopeOf } from "./places.ts";
import { isSecretFile } from "./secret-files.ts";

type Pin = { readonly typed: string /** False: only what governs the path is wanted. */; readonly text: boolean };

const MAX_PINS = 200;

/** What pinning this brings; a name that is not there may be a slip of the pen. */
function said(info: Stats | undefined, text: boolean): string {
  if (!info) return ", which does not exist now: the instruction files that would govern it apply";
  return `: ${text && !info.isDirectory() ? "its text and " : ""}the instruction files that govern it apply`;
}

export class PinBoard {
  readonly #root: string;
  readonly #home: string | undefined;
  /** Absolute path → what was typed. */
  readonly #pins = new Map<string, Pin>();

  constructor(root: string, home: string | undefined) {
    this.#root = root;
    this.#home = home;
  }

  /** Relative paths are looked for in the working directory, then in the root. A path that does not exist yet may be pinned. */
  async pin(typed: string, cwd: string, text: boolean): Promise<PinAnswer> {
    const candidates = absoluteCandidates(typed, [cwd, this.#root], this.#home);
    const found = await Promise.all(candidates.map((path) => lstat(path).catch(() => undefined)));
    const at = Math.max(
      0,
      found.findIndex((info) => info !== undefined),
    );
    const path = candidates[at];
    const directory = path === undefined ? undefined : await governingDirectory(path);
    if (path === undefined || directory === undefined || !isInside(this.#root, directory)) {
      const message = typed.trim() === "" ? "Which path?" : `${typed} is not inside the workspace ${this.#root}.`;
      return { ok: false, message };
    }
    const label = scopeOf(this.#root, path);
    if (this.#pins.has(path)) return { ok: true, message: `${label} is pinned already.`, path, fresh: false };
    if (this.#pins.size >= MAX_PINS) return { ok: false, message: `${MAX_PINS} paths are pinned already; unpin one first.` };
    this.#pins.set(path, { typed, text });
    const message = `Pinned ${label}${said(found[at], text)} from the next turn on.`;
    return { ok: true, message, path, fresh: true, missing: found[at] === undefined };
  }

  unpin(typed: string, cwd: string): PinAnswer {
    const candidates = absoluteCandidates(typed, [cwd, this.#root], this.#home);
    const path = [...this.#pins].find(([pinned, pin]) => pin.typed === typed || candidates.includes(pinned))?.[0];
    if (path === undefined) return { ok: false, message: `${typed} is not pinned.` };
    this.#pins.delete(path);
    const message = `Unpinned ${scopeOf(this.#root, path)}. What was sent stays in the conversation.`;
    return { ok: true, message, path, fresh: true };
  }

  /**
   * Pins of an earlier run, by paths relative to the root; one that now leads outside is left out, and so is a file that may hold
   * secrets (security.md 3): a log, which may have come with the repository, is not the user asking for it. Answers those.
   */
  async restore(paths: readonly string[]): Promise<string[]> {
    const left: string[] = [];
    for (const path of paths) {
      const whole = join(this.#root, path);
      if (isSecretFile(this.#root, whole)) left.push(whole);
      else await this.pin(whole, this.#root, true);
    }
    return left;
  }

  list(): PinnedPath[] {
    return [...this.#pins].map(([path, { typed }]) => ({ path, typed }));
  }

  /** Paths whose own text is wanted. */
  files(): string[] {
    return [...this.#pins].flatMap(([path, { text }]) => (text ? [path] : []));
  }

  /** The pinned directories as they are on disk now. */
  async places(): Promise<Named[]> {
    const places: Named[] = [];
    for (const [path, { typed, text }] of this.#pins) {
      const directory = await governingDirectory(path);
      if (directory !== undefined && isInside(this.#root, directory))
        places.push({ directory, why: `governs ${typed}${text ? ", which is pinned" : ""}`, asked: !text });
    }
    return places;
  }
}
