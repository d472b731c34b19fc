/**
 * From a path as a model wrote it to a file that may be worked on, with failures a model can act on. Refuses: content.
 */
import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { FileFailure } from "../base/files.ts";
import { nearestWord } from "../base/nearest.ts";
import { quotePath } from "../base/path-quote.ts";
import type { SafePath } from "../base/workspace.ts";
import { failed, type ToolContext, type ToolResult, type TouchedPath } from "./tool.ts";

/** A path proved to be inside the workspace; the file may or may not exist. */
export type Target = {
  readonly ok: true;
  readonly path: SafePath;
  /** Relative to the root: what is shown and recorded. */
  readonly relative: string;
  readonly exists: boolean;
  readonly danglingLink?: string;
  readonly respelled: boolean;
};

/** Proves the path. A failure is a finished result. */
export async function resolveTarget(input: string, context: ToolContext): Promise<Target | { ok: false; result: ToolResult }> {
  const resolved = await context.workspace.resolve(input);
  if (!resolved.ok) return { ok: false, result: failed(resolved.message) };
  return { ...resolved, respelled: resolved.respelled === true };
}

/** The touched paths of a call that works on one file. */
export function touch(target: Target, kind: "read" | "write"): readonly TouchedPath[] {
  return [{ path: target.path, kind }];
}

/** A name in the same directory that was probably meant; large directories are not searched. */
function similarName(path: string): string | undefined {
  try {
    const names = readdirSync(dirname(path));
    return names.length > 5000 ? undefined : nearestWord(basename(path), names);
  } catch {
    return undefined;
  }
}

/** Why a file that was expected is not there. */
export function explainMissing(target: Target): string {
  const shown = quotePath(target.relative);
  if (target.danglingLink !== undefined) {
    return `${quotePath(target.danglingLink)} is a symbolic link whose target does not exist (${shown}).`;
  }
  const name = similarName(target.path);
  if (name === undefined) return `${shown} does not exist. find_files finds files by a part of their path.`;
  const directory = dirname(target.relative);
  return `${shown} does not exist. Did you mean ${quotePath(directory === "." ? name : `${directory}/${name}`)}?`;
}

/** A failure of base/files.ts in words for the model. */
export function explainFailure(target: Target, failure: FileFailure): string {
  if (failure.reason === "missing") return explainMissing(target);
  const advice = failure.reason === "directory" ? " list_searchable_files with this `path` shows what is in it." : "";
  return `${quotePath(target.relative)}: ${failure.message}.${advice}`;
}
