/**
 * Which instruction files the conversation of a log held at its end (context.md C10, C15), folded from `context`,
 * `context_ledger` and compaction records. Refuses: their text, which no log has.
 */
import { dirname, posix } from "node:path";
import { isObject } from "../base/json.ts";
import type { StoredRecord } from "./records.ts";

export type RecordedSource = {
  /** As recorded: absolute. */
  readonly path: string;
  readonly contentHash: string;
  /** `.` for the root, else the directory it governs, relative to the root; `~` or absolute for files outside. */
  readonly scope: string;
  readonly origin: string;
};

type Recorded<T extends StoredRecord["type"]> = StoredRecord & { readonly type: T };

/** What a ledger calls in the conversation: as text, or as a path. */
const HELD: ReadonlySet<string> = new Set(["visible", "path_only"]);
/** Not for now: it may be repaired, or allowed. */
const WITHHELD: ReadonlySet<string> = new Set(["blocked", "skipped"]);

export class SourceFold {
  /** The most recently delivered or used last. */
  readonly #held = new Map<string, RecordedSource>();
  #isSummarised = false;

  /** Delivered just now. */
  delivered({ sources }: Recorded<"context">): void {
    if (this.#isSummarised) this.#held.clear();
    this.#isSummarised = false;
    for (const { path, content_hash, scope, origin } of sources) {
      this.#held.delete(path);
      this.#held.set(path, { path, contentHash: content_hash, scope, origin });
    }
  }

  /** A tool is about to work there: what governs the place is in use (C11). Paths relative to the root, or absolute. */
  used({ arguments: given }: Recorded<"tool_started">): void {
    const { path, cwd, patches } = given as Readonly<Record<string, unknown>>;
    const paths = [path, cwd, ...(Array.isArray(patches) ? patches.map((patch) => isObject(patch) && patch.path) : [])];
    for (const one of paths) if (typeof one === "string") this.#use(one);
  }

  #use(path: string): void {
    const nested = [...this.#held.values()].filter(({ origin }) => origin === "nested");
    if (nested.length === 0) return;
    const place = posix.normalize(path);
    for (const source of nested) {
      const directory = place.startsWith("/") ? dirname(source.path) : source.scope;
      if (place !== directory && !place.startsWith(`${directory}/`)) continue;
      this.#held.delete(source.path);
      this.#held.set(source.path, source);
    }
  }

  /** Everything there is at this moment: what it does not call held has left the conversation, or was withdrawn. */
  counted({ items }: Recorded<"context_ledger">): void {
    const held = new Set<string>();
    for (const { kind, path, scope, content_hash, state } of items) {
      if (path === undefined || (kind !== "project_instruction" && kind !== "pinned_file")) continue;
      if (!HELD.has(state) && !(WITHHELD.has(state) && this.#held.has(path))) continue;
      held.add(path);
      // What the model read by itself was delivered by nobody.
      if (this.#held.has(path) || content_hash === undefined) continue;
      const origin = kind === "pinned_file" ? "pin" : "nested";
      this.#held.set(path, { path, contentHash: content_hash, scope: scope ?? ".", origin });
    }
    for (const path of this.#held.keys()) if (!held.has(path)) this.#held.delete(path);
  }

  /**
   * A summary stands for everything so far: what is still needed is delivered again behind it. A run that was killed between the
   * two had not come to that, and needs what it held.
   */
  summarised(): void {
    this.#isSummarised = true;
  }

  /** The least recently used first. */
  finish(): readonly RecordedSource[] {
    return [...this.#held.values()];
  }
}
