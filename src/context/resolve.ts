/**
 * From directories to ledger entries (C2, C3, C4): the chain, and the instruction file of one nested directory.
 * Refuses: deciding what is sent.
 */
import { realOf } from "../base/below.ts";
import type { ContextOptions } from "./contract.ts";
import { type ChainFound, type ChainPlace, chainPlaces, readChain } from "./discover.ts";
import { entryFor } from "./identity.ts";
import type { Entry, Ledger, NewEntry } from "./ledger.ts";
import { type Found, findInDirectory } from "./load.ts";
import { scopeOf } from "./places.ts";
import type { OnDisk, Preparer } from "./prepare.ts";
import { mainCheckout } from "./worktrees.ts";

export type Resolved = { readonly entry: Entry; readonly file: OnDisk };

const CHAIN_REASONS = {
  global: "the user's own instructions",
  ancestor: "above the workspace root",
  root: "the workspace root",
  cwd: "between the root and the working directory",
  nested: "",
  link: "",
  pin: "",
} as const;

const MAIN_COPY = "of the main checkout; this worktree has the same";

export function chainReason(entry: Entry): string {
  return CHAIN_REASONS[entry.origin] || entry.reason;
}

export class Resolver {
  readonly #options: ContextOptions;
  readonly #ledger: Ledger;
  readonly #preparer: Preparer;
  /** Real path once the chain has been read: files are known by real paths. */
  #configHome: string | undefined;
  /** Directories with an instruction file that is empty or unreadable, and no other. */
  readonly #passedOver = new Set<string>();

  constructor(options: ContextOptions, ledger: Ledger, preparer: Preparer) {
    this.#options = options;
    this.#ledger = ledger;
    this.#preparer = preparer;
    this.#configHome = options.configHome;
  }

  #where(cwd: string) {
    const { root, settings } = this.#options;
    const configHome = this.#configHome;
    return { root, cwd, ancestors: settings.ancestors, ...(configHome !== undefined && { configHome }) };
  }

  /** Directories whose files belong to the chain. */
  chainDirectories(cwd: string): Set<string> {
    return new Set(chainPlaces(this.#where(cwd)).map((place) => place.directory));
  }

  /** The chain as it is on disk now, broad to close, each file once (C3). */
  async chain(cwd: string): Promise<Resolved[]> {
    const resolved: Resolved[] = [];
    const home = this.#options.configHome;
    if (home !== undefined) this.#configHome = realOf(home);
    const chain = await readChain(this.#where(cwd), this.#options.settings.filenames);
    const twice = this.#mainCopy(chain);
    for (const found of chain) {
      const { place } = found;
      this.#noteRefused(found, place);
      if (!found.file) continue;
      const entry = await entryFor(this.#ledger, found.file.identity, placed(place, found.file.path));
      if (found === twice) {
        if (entry.claim === undefined) Object.assign(entry, { state: "candidate", reason: MAIN_COPY });
        continue;
      }
      if (resolved.some((other) => other.entry === entry)) continue;
      // A nested file that joins the chain (after /cd) is named as what it is now.
      if (entry.place === place.directory) entry.origin = place.origin;
      resolved.push({ entry, file: found.file });
    }
    return resolved;
  }

  /** A worktree inside its main checkout has that one's tracked file itself (A04). Another version of it may say something else. */
  #mainCopy(chain: readonly ChainFound[]): ChainFound | undefined {
    const own = chain.find(({ file, place }) => file && place.origin === "root")?.file;
    const same = chain.filter(({ file, place }) => place.origin === "ancestor" && file?.contentHash === own?.contentHash);
    if (own === undefined || same.length === 0) return undefined;
    const main = mainCheckout(this.#options.root);
    return same.find(({ place }) => place.directory === main);
  }

  /** The instruction file that governs one directory below the root; `names` where they are known already. */
  async directory(directory: string, names?: readonly string[]): Promise<Resolved | undefined> {
    const { root, settings } = this.#options;
    const found = await findInDirectory(directory, settings.filenames, root, names);
    const place: ChainPlace = { directory, origin: "nested", scope: scopeOf(root, directory), confine: root };
    this.#noteRefused(found, place);
    this.#passedOver.delete(directory);
    if (!found.file) {
      if (found.named) this.#passedOver.add(directory);
      return undefined;
    }
    const entry = await entryFor(this.#ledger, found.file.identity, placed(place, found.file.path));
    if ((entry.origin === "link" || entry.origin === "pin") && entry.claim === undefined) {
      // It was linked or pinned before; now it stands for its own directory.
      const { origin, scope, confine } = place;
      Object.assign(entry, { place: directory, origin, scope, confine, linkedFrom: undefined });
    }
    return { entry, file: found.file };
  }

  /** Whether the last look at this directory met an instruction file that says nothing. */
  passedOver(directory: string): boolean {
    return this.#passedOver.has(directory);
  }

  #noteRefused(found: Found, place: ChainPlace): void {
    for (const { path, message } of found.refused) {
      // A file whose text was sent keeps it (C5); changes.ts says so.
      if (this.#ledger.get(path)?.claim) continue;
      this.#preparer.tell(
        { severity: "warning", code: "context_skipped", path, message: `${path}: skipped: ${message}` },
        message,
      );
      const entry = this.#ledger.put({
        path,
        place: place.directory,
        scope: place.scope,
        origin: place.origin,
        confine: place.confine,
      });
      entry.state = "skipped";
      entry.reason = message;
    }
  }
}

function placed(place: ChainPlace, path: string): NewEntry {
  return { path, place: place.directory, scope: place.scope, origin: place.origin, confine: place.confine };
}
