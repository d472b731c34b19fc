/**
 * `/context drop`: finds the source a person means and takes it out until its content changes. Refuses: telling the model
 * (the next delivery withdraws what was sent).
 */

import { basename, dirname, join } from "node:path";
import { realpath } from "../base/async-fs.ts";
import type { ContextOptions, DropAnswer } from "./contract.ts";
import { describe } from "./deliver.ts";
import { DROPPED } from "./drops.ts";
import { type Entry, infoOf, type Ledger, release } from "./ledger.ts";
import { loadFile } from "./load.ts";
import type { Places } from "./nested.ts";
import { absoluteCandidates, isInside } from "./places.ts";
import type { Resolver } from "./resolve.ts";
import { mayLead } from "./secret-files.ts";

/** Where it is really: the file may be gone, its directory seldom is. */
async function real(path: string): Promise<string> {
  const whole = await realpath(path).catch(() => undefined);
  if (whole !== undefined) return whole;
  const directory = await realpath(dirname(path)).catch(() => undefined);
  return directory === undefined ? path : join(directory, basename(path));
}

export class Dropper {
  readonly #options: ContextOptions;
  readonly #ledger: Ledger;
  readonly #resolver: Resolver;
  readonly #places: Places;

  constructor(options: ContextOptions, ledger: Ledger, resolver: Resolver, places: Places) {
    this.#options = options;
    this.#ledger = ledger;
    this.#resolver = resolver;
    this.#places = places;
  }

  async drop(typed: string, cwd: string): Promise<DropAnswer> {
    const entry = await this.#find(typed, cwd);
    if (!entry) return { ok: false, message: `${typed} is no instruction file or pinned file of this context.` };
    if (entry.contentHash === "")
      return { ok: false, message: `${entry.path} is not in the context: ${entry.reason || "nothing of it was read"}.` };
    const now = await loadFile(entry.path, (target) => mayLead(entry.confine, target));
    const there = now.kind === "text" || now.kind === "large";
    if (there && !entry.claim) describe(entry, now);
    const contentHash = there ? now.contentHash : entry.contentHash;
    this.#ledger.drops.add({ path: entry.path, contentHash });
    entry.state = "dropped";
    entry.reason = DROPPED;
    const told = entry.claim ? " The model is told with your next message that what it has of it no longer applies." : "";
    return {
      ok: true,
      message: `Dropped ${entry.path} until its content changes.${told}`,
      source: { ...infoOf(entry), contentHash },
    };
  }

  async reset(typed: string | undefined, cwd: string): Promise<string[]> {
    if (typed === undefined) return this.#lift(this.#ledger.drops.reset());
    for (const path of absoluteCandidates(typed, [cwd, this.#options.root], this.#options.home)) {
      const known = await real(path);
      const place = this.#ledger.drops.list().find((drop) => drop.path === known || dirname(drop.path) === known);
      if (place) return this.#lift(this.#ledger.drops.reset(place.path));
    }
    return [];
  }

  #lift(paths: readonly string[]): string[] {
    for (const path of paths) {
      const entry = this.#ledger.get(path);
      if (entry?.state !== "dropped") continue;
      if (entry.claim) {
        entry.state = entry.claim.kind === "text" ? "visible" : "path_only";
        entry.reason = "no longer dropped";
      } else {
        entry.state = "candidate";
        release(entry, "no longer dropped; not sent since");
        this.#places.forget(entry.place);
      }
    }
    return [...paths];
  }

  /** A source by its path, or by the directory whose instruction file it is. */
  async #find(typed: string, cwd: string): Promise<Entry | undefined> {
    for (const path of absoluteCandidates(typed, [cwd, this.#options.root], this.#options.home)) {
      const known = await real(path);
      const entry = this.#ledger.get(known) ?? this.#ofDirectory(known) ?? (await this.#unmet(known));
      if (entry) return entry;
    }
    return undefined;
  }

  #ofDirectory(directory: string): Entry | undefined {
    const there = this.#ledger
      .entries()
      .filter(({ place, origin, state }) => place === directory && origin !== "link" && origin !== "pin" && state !== "removed");
    return there.find((entry) => entry.claim) ?? there[0];
  }

  /** An instruction file that nothing has led to so far. */
  async #unmet(path: string): Promise<Entry | undefined> {
    const { root } = this.#options;
    for (const directory of [path, dirname(path)]) {
      if (directory === root || !isInside(root, directory)) continue;
      const found = await this.#resolver.directory(directory);
      if (!found || (directory !== path && found.file.path !== path)) continue;
      if (found.entry.contentHash === "") {
        describe(found.entry, found.file);
        found.entry.reason = "not named, pinned or touched so far";
      }
      return found.entry;
    }
    return undefined;
  }
}
