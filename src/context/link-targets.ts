/** Where the links of one file in force lead now (C7), and what the person is told about those that lead nowhere. */
import type { Entry, Ledger, Linked } from "./ledger.ts";
import { resolveLink } from "./links.ts";
import type { Preparer } from "./prepare.ts";

export const MAX_LINK_DEPTH = 5;

/** `file.md:3: @other.md`. */
export function saying(from: Entry, link: { readonly target: string; readonly line: number }): string {
  return `${from.path}:${link.line}: @${link.target}`;
}

export class LinkTargets {
  readonly #ledger: Ledger;
  readonly #preparer: Preparer;

  constructor(ledger: Ledger, preparer: Preparer) {
    this.#ledger = ledger;
    this.#preparer = preparer;
  }

  /** `due`: paths that this very delivery holds. */
  async look(from: Entry, links: readonly Linked[], due: ReadonlySet<string>): Promise<readonly Linked[]> {
    const found: Linked[] = [];
    for (const { target, line } of links) {
      const now = await resolveLink(target, from.path, from.confine);
      if (now.kind === "none") continue;
      const path = now.kind === "file" ? now.path : this.#kept(from, target, due);
      const link: Linked = { target, line, ...(path !== undefined && { path }) };
      found.push(link);
      // Of a file whose last good text is kept the person has heard already.
      if (path !== undefined) continue;
      if (now.kind === "missing") this.#tell(from, link, "info", "missing", "there is no such file");
      if (now.kind === "refused") this.#tell(from, link, "warning", "refused", `not followed: ${now.message}`);
    }
    return found;
  }

  tellDepth(from: Entry, link: Linked): void {
    this.#tell(from, link, "warning", "depth", `not followed: links are followed ${MAX_LINK_DEPTH} deep`);
  }

  #tell(from: Entry, link: Linked, severity: "info" | "warning", what: string, message: string): void {
    const { path } = from;
    const said = { severity, code: `context_link_${what}`, path, line: link.line, message: `${saying(from, link)}: ${message}` };
    this.#preparer.tell(said, link.target);
  }

  /** A target that cannot be read at the moment keeps its last good text (C5), and its link. */
  #kept(from: Entry, target: string, due: ReadonlySet<string>): string | undefined {
    const path = from.links.find((link) => link.target === target)?.path;
    return path !== undefined && (due.has(path) || this.#ledger.get(path)?.claim) ? path : undefined;
  }
}
