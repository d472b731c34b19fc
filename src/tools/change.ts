/**
 * One change of one file from the point where the new bytes are known: installs it and tells the model, with the audit record.
 * Refuses: matching, parsing.
 */
import { createFile, type FileFailure, installFile, MAX_FILE_BYTES, type ReadFile, readSafe } from "../base/files.ts";
import { contentHash } from "../base/hash.ts";
import { whyKept } from "../base/kept-files.ts";
import { pathText, quotePath } from "../base/path-quote.ts";
import type { FileWrite } from "../types/event.ts";
import { diffText } from "./diff-text.ts";
import { type Span, textFault } from "./edit-match.ts";
import { explainFailure, explainMissing, type Target, touch } from "./target.ts";
import { failed, succeeded, type ToolContext, type ToolResult } from "./tool.ts";

/** A text file as it is on disk now, with the hash that read_file_range shows. */
export type Original = { readonly ok: true; readonly file: ReadFile; readonly hash: string };

type Change = {
  readonly op: FileWrite["op"];
  readonly target: Target;
  /** Undefined when the file is new. */
  readonly original?: Original;
  readonly after: Buffer;
  readonly spans: readonly Span[];
  /** Said after the summary line, one line each. */
  readonly notes: readonly string[];
};

type Stop = { readonly ok: false; readonly result: ToolResult };

/** A failed call that has touched the file: its instruction files count all the same. */
export function refuse(target: Target, text: string): Stop {
  return { ok: false, result: failed(text, { touched: touch(target, "write") }) };
}

/** A hash as read_file_range shows it, with or without its prefix; "" means none was given. */
function staleFault(target: Target, expected: string, actual: string | undefined): string | undefined {
  const hash = /^(?:xxh64:)?([0-9a-f]{16})$/i.exec(expected.trim())?.[1];
  if (hash === undefined) {
    return `expected_before_hash ${JSON.stringify(expected.slice(0, 80))} is not a content hash. Give the \`xxh64:…\` of read_file_range's header, or leave it out.`;
  }
  if (actual === undefined) return `expected_before_hash was given, but ${quotePath(target.relative)} does not exist.`;
  if (actual === `xxh64:${hash.toLowerCase()}`) return undefined;
  return `${quotePath(target.relative)} is not as expected any more: its hash is ${actual}, expected_before_hash was xxh64:${hash.toLowerCase()}. Nothing was changed. Read the file again, then repeat the call with what is there now.`;
}

/** Checks every given hash. Index and message of the first that does not hold. */
export function findStale(
  target: Target,
  expected: readonly (string | undefined)[],
  actual: string | undefined,
): { readonly index: number; readonly message: string } | undefined {
  for (const [index, hash] of expected.entries()) {
    if (hash === undefined || hash === "") continue;
    const message = staleFault(target, hash, actual);
    if (message !== undefined) return { index, message };
  }
  return undefined;
}

/** Reads a file that is to be changed: regular, within the limit, UTF-8 text. */
export async function readOriginal(target: Target, { rehearsal }: ToolContext): Promise<Original | Stop> {
  if (!target.exists) return refuse(target, `${explainMissing(target)} create_file makes new files.`);
  const file = await readSafe(target.path, { maxBytes: MAX_FILE_BYTES });
  if (!file.ok && file.reason === "too_large") {
    return refuse(
      target,
      `${quotePath(target.relative)}: ${file.message} (64 MiB) for edits. run_shell with sed or another stream editor can change it.`,
    );
  }
  if (!file.ok) return refuse(target, explainFailure(target, file));
  const fault = textFault(file.bytes);
  if (fault !== undefined) return refuse(target, `${quotePath(target.relative)} ${fault}.`);
  if (rehearsal) return { ok: true, file: { ...file, bytes: rehearsal }, hash: contentHash(rehearsal) };
  return { ok: true, file, hash: contentHash(file.bytes) };
}

function record(change: Change, status: "ok" | "failed"): FileWrite {
  const { original, after, op, target } = change;
  return {
    kind: "file_write",
    op,
    path: target.relative,
    ...(original === undefined ? {} : { beforeHash: original.hash, beforeBytes: original.file.bytes.length }),
    ...(status === "ok" ? { afterHash: contentHash(after), afterBytes: after.length } : {}),
    status,
  };
}

/** What creating comes to in a rehearsal: those are for files that are there. */
const TAKEN: FileFailure = { ok: false, reason: "exists", message: "it already exists" };

const DONE: Readonly<Record<FileWrite["op"], string>> = { create: "created", replace: "replaced", edit: "edited" };

function report(change: Change): ToolResult {
  const { original, after, op, target, spans } = change;
  const path = pathText(target.relative);
  const diff = diffText(path, original?.file.bytes ?? Buffer.alloc(0), spans, original === undefined);
  const edits = op === "edit" && spans.length > 1 ? `${spans.length} edits, ` : "";
  const summary = `${DONE[op]} ${path}: ${edits}+${diff.added} -${diff.removed} lines, now ${after.length} bytes (${contentHash(after)})`;
  const links = original?.file.version.links ?? 1;
  const notes = [...change.notes];
  if (links > 1) notes.push(`The file has ${links} hard links; only this name has the new content, the others keep the old.`);
  const text = [summary, ...notes, ...(diff.text === "" ? [] : [diff.text])].join("\n");
  return succeeded(text, { effects: [record(change, "ok")], touched: touch(target, "write") });
}

async function install({ original, target, after }: Change, { workspace, signal, rehearsal }: ToolContext) {
  if (rehearsal !== undefined) return original ? ({ ok: true } as const) : TAKEN;
  return original === undefined
    ? createFile(workspace, target.path, after, { signal })
    : installFile(workspace, target.path, original.file, after, { signal });
}

/** Installs the change. Nothing is written when the bytes are the same already. */
export async function applyChange(change: Change, context: ToolContext): Promise<ToolResult> {
  const { original, after, target } = change;
  const touched = touch(target, "write");
  if (context.settings.keepsLog?.(target.path) === true) {
    return failed(`${quotePath(target.relative)} is a session log of thndrs: it is only ever appended to, and not by tools.`);
  }
  const kept = whyKept(context.workspace.root, target.relative);
  if (kept !== undefined) {
    return failed(`${quotePath(target.relative)}: ${kept}. Use git itself through run_shell.`, { touched });
  }
  if (original?.file.bytes.equals(after) === true) {
    return succeeded(`No change: ${quotePath(target.relative)} already has exactly this content. Nothing was written.`, {
      touched,
    });
  }
  if (after.length > MAX_FILE_BYTES) {
    return failed(`${quotePath(target.relative)} would have ${after.length} bytes; the limit is ${MAX_FILE_BYTES} (64 MiB).`, {
      touched,
    });
  }
  const done = await install(change, context);
  if (done.ok) {
    const unseen =
      context.rehearsal === undefined ? context.seen?.changed(target, original?.hash, contentHash(after)) : undefined;
    return report(unseen === undefined ? change : { ...change, notes: [unseen, ...change.notes] });
  }
  const shown = quotePath(target.relative);
  if (done.reason === "cancelled") return { ...failed(`${shown}: ${done.message}.`, { touched }), status: "cancelled" };
  const advice = done.reason === "exists" ? " create never replaces; edit it, or use write_patch with op replace." : "";
  const gone = original === undefined ? done.message : "it disappeared while it was being written";
  const text = done.reason === "missing" ? `${shown}: ${gone}` : explainFailure(target, done);
  return failed(`${text.replace(/\.$/, "")}.${advice}`, { effects: [record(change, "failed")], touched });
}
