/**
 * `transclude()` in templates (C8): which files it may read, and which it names. Refuses: rendering, waiting (it never blocks).
 */
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { contentHash } from "../base/hash.ts";
import { isInside } from "./places.ts";
import { isSecretFile } from "./secret-files.ts";
import { templateBody } from "./template.ts";

/** A file whose text became part of a rendered one: real path and content, as the allow-list knows them (C12). */
export type Part = { readonly path: string; readonly hash: string };

export type Transcluded = Part & { readonly text: string };

const MAX_BYTES = 64 * 1024;
/** More parts than this are allowed one by one. */
const MAX_PARTS = 200;
const CALL = /\btransclude\(\s*(?:"([^"\n]{1,1024})"|'([^'\n]{1,1024})')/g;

function realTarget(caller: string, path: string): string {
  const directory = dirname(caller);
  const target = resolve(directory, path);
  if (!isInside(directory, target)) throw new Error(`transclude("${path}") leads out of the file's directory`);
  let real: string;
  try {
    real = realpathSync(target);
  } catch {
    throw new Error(`transclude("${path}"): there is no such file`);
  }
  if (!isInside(directory, real)) throw new Error(`transclude("${path}") leads out of the file's directory`);
  if (isSecretFile(directory, real)) throw new Error(`transclude("${path}"): it may hold secrets`);
  if (!statSync(real).isFile()) throw new Error(`transclude("${path}"): it is not a regular file`);
  return real;
}

/** A file of the calling file's directory subtree; throws a sentence otherwise. */
export function transclude(caller: string, path: string): Transcluded {
  const real = realTarget(caller, path);
  const fd = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const size = fstatSync(fd).size;
    if (size > MAX_BYTES) throw new Error(`transclude("${path}"): it is larger than 64 KiB`);
    const buffer = new Uint8Array(size);
    const bytes = buffer.subarray(0, readSync(fd, buffer, 0, size, 0));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replaceAll("\r\n", "\n");
    return { path: real, hash: contentHash(bytes), text };
  } catch (error) {
    throw error instanceof TypeError ? new Error(`transclude("${path}"): it is not valid UTF-8`) : error;
  } finally {
    closeSync(fd);
  }
}

/**
 * The files that a template names in `transclude()`, whichever branch they stand in, and those that they name. `caller` is its
 * real path. Empty for any other file; names that are computed are not known before the template is rendered.
 */
export function namedParts(caller: string, text: string): readonly Transcluded[] {
  const body = templateBody(text)?.body;
  if (body === undefined) return [];
  const parts = new Map<string, Transcluded>();
  const due = [{ path: caller, text: body }];
  for (let source = due.pop(); source !== undefined; source = due.pop()) {
    for (const call of source.text.matchAll(CALL)) {
      const part = attempt(source.path, call[1] ?? call[2] ?? "");
      if (!part || parts.has(part.path) || parts.size >= MAX_PARTS) continue;
      parts.set(part.path, part);
      due.push(part);
    }
  }
  return [...parts.values()];
}

/** The same as one text, which is another one when any of them has changed, gone or come. */
export function partsPrint(caller: string, text: string): string {
  return namedParts(caller, text)
    .map(({ path, hash }) => `${path} ${hash}`)
    .join("\n");
}

function attempt(caller: string, path: string): Transcluded | undefined {
  try {
    return transclude(caller, path);
  } catch {
    return undefined;
  }
}
