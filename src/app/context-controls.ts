/**
 * What a person may do to the context: look, pin, drop, recover. Each decision is one `context_item` event; a resumed session
 * takes them from its log. Refuses: words for the terminal.
 */
import { isAbsolute, join, relative } from "node:path";
import { UserError } from "../base/user-error.ts";
import type { ContextEngine } from "../context/engine.ts";
import { type Decisions, DROP_RESET, DROPPED, PINNED, UNPINNED } from "../session/decisions.ts";
import type { Recovered } from "../session/recover.ts";
import type { Emit, SourceInfo } from "../types/event.ts";
import { type ContextLedger, itemId } from "./ledger.ts";

/** `message` is a sentence for a person, either way. */
export type Answer = { readonly ok: boolean; readonly message: string };

/** `missing`: there is nothing of that name now. */
export type PinOutcome = Answer & { readonly missing?: boolean };

export interface ContextControls {
  /** Everything in the context now: what the `context_ledger` record, `/context` and `/tokens` show. */
  ledger(): ContextLedger;
  /** Pinned and dropped paths: relative to the workspace, or absolute outside it. */
  pins(): readonly string[];
  drops(): readonly string[];
  /** `/context pin PATH`; the path as typed. Takes effect with the next message. Also lifts a drop of that file. */
  pin(path: string): Promise<PinOutcome>;
  /** `/context unpin PATH`. */
  unpin(path: string): Answer;
  /** `/context drop PATH`: a source of the ledger, by its path or its directory. */
  drop(path: string): Promise<Answer>;
  /** `/context drop --reset [PATH]`. */
  resetDrops(path?: string): Promise<Answer>;
  /**
   * `/context recover HANDLE`: what the records say that a summary covers or a trimmed result came from; at most 64 KiB,
   * redacted, not sanitised. Nothing is replayed. Throws UserError for an unknown handle.
   */
  recover(handle: string, signal?: AbortSignal): Promise<Recovered>;
}

export type ContextControlParts = {
  readonly engine: ContextEngine;
  /** Real path of the workspace. */
  readonly root: string;
  readonly emit: Emit;
  readonly redact: (text: string) => string;
  readonly ledger: () => ContextLedger;
  /** Of the session; undefined when it is not kept. */
  readonly sessionPath: string | undefined;
};

/** Puts back what an earlier run's log says. */
export async function restoreDecisions(engine: ContextEngine, root: string, { pins, drops }: Decisions): Promise<void> {
  const placed = drops.map(({ path, contentHash }) => ({ path: isAbsolute(path) ? path : join(root, path), contentHash }));
  await engine.restore({ pins: pins.filter((path) => !isAbsolute(path)), drops: placed });
}

export function createContextControls(parts: ContextControlParts): ContextControls {
  const { engine, root, emit } = parts;
  const label = (path: string): string => {
    const below = relative(root, path);
    return below === "" ? "." : below.startsWith("..") || isAbsolute(below) ? path : below;
  };
  const recordPin = (path: string, reason: string): void => {
    const item = { id: itemId("pinned_file", path), kind: "pinned_file", path: label(path) };
    emit({ type: "context_item", action: "pin", item, reason });
  };
  const recordDrop = (source: SourceInfo): void => {
    const kind = source.origin === "pin" ? "pinned_file" : "project_instruction";
    const item = { id: itemId(kind, source.path), kind, path: label(source.path), contentHash: source.contentHash };
    emit({ type: "context_item", action: "drop", item, reason: DROPPED });
  };
  const lift = async (path: string): Promise<readonly string[]> => {
    const lifted = await engine.resetDrops(path);
    for (const each of lifted) {
      const item = { id: itemId("project_instruction", each), kind: "project_instruction", path: label(each) };
      emit({ type: "context_item", action: "drop", item, reason: DROP_RESET });
    }
    return lifted;
  };
  return {
    ledger: parts.ledger,
    pins: () => engine.pins().map(({ path }) => label(path)),
    drops: () => engine.drops().map(({ path }) => label(path)),
    async pin(path) {
      const answer = await engine.pin(path);
      if (!answer.ok) return answer;
      if (answer.fresh) recordPin(answer.path, PINNED);
      const lifted = await lift(answer.path);
      const message = lifted.length === 0 ? answer.message : `${answer.message} It is no longer dropped.`;
      return { ok: true, message, missing: answer.missing ?? false };
    },
    unpin(path) {
      const answer = engine.unpin(path);
      if (answer.ok) recordPin(answer.path, UNPINNED);
      return { ok: answer.ok, message: answer.message };
    },
    async drop(path) {
      const answer = await engine.drop(path);
      if (answer.ok) recordDrop(answer.source);
      return { ok: answer.ok, message: answer.message };
    },
    async resetDrops(path) {
      if (path !== undefined) {
        const [lifted] = await lift(path);
        return lifted === undefined
          ? { ok: false, message: `${path} is not dropped.` }
          : { ok: true, message: `${label(lifted)} is no longer dropped.` };
      }
      const lifted = await engine.resetDrops();
      if (lifted.length === 0) return { ok: true, message: "Nothing is dropped." };
      const item = { id: "ctx_drop_reset", kind: "project_instruction" };
      emit({ type: "context_item", action: "drop", item, reason: DROP_RESET });
      return { ok: true, message: `No longer dropped: ${lifted.map(label).join(", ")}.` };
    },
    async recover(handle, signal) {
      if (parts.sessionPath === undefined) throw new UserError("This session is not kept, so nothing can be recovered from it.");
      const { recoverRange } = await import("../session/recover.ts");
      const found = await recoverRange(parts.sessionPath, handle, { redact: parts.redact, ...(signal && { signal }) });
      const id = itemId("transcript", `${parts.sessionPath}\0${found.handle}`);
      emit({ type: "context_item", action: "recovery", item: { id, kind: "transcript" }, reason: found.handle });
      return found;
    },
  };
}

/** `--pin`. @throws UserError for a path that cannot be pinned, and where project context is off. */
export async function pinAll(controls: ContextControls, paths: readonly string[], emit: Emit): Promise<void> {
  for (const path of paths) {
    const pinned = await controls.pin(path);
    if (!pinned.ok) throw new UserError(`--pin ${path}: ${pinned.message}`);
    if (!pinned.missing) continue;
    const message = `--pin ${path}: there is no such file or directory; its text is sent when there is`;
    emit({ type: "diagnostic", diagnostic: { severity: "warning", code: "context_pin", message } });
  }
}
