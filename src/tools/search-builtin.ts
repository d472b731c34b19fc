/**
 * Text search without rg (S09): own walk, own regular expressions (pattern.ts), files read in bounded pieces. Files come in path
 * order, so it ends at the limit. Follows rg in what a line is, in skipping binary files and in decoding by byte order mark.
 * Refuses: wording of results.
 */

import { closeSync, constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { createBreather } from "../base/breather.ts";
import { errnoOf } from "../base/file-problem.ts";
import { isOpenAt } from "../base/held-directory.ts";
import { walkFiles } from "../base/walk.ts";
import { SEARCH_TIMEOUT_MS } from "./bounds.ts";
import { createProblemCounter } from "./engine-output.ts";
import { LineSearch } from "./line-search.ts";
import { baseIsIgnored, MOVED } from "./listing.ts";
import { createMatchCollector, type FileMatches, type SearchOutcome, type SearchRequest } from "./matches.ts";
import { type CompiledPattern, compilePattern } from "./pattern.ts";

const CHUNK_BYTES = 262_144;

/** Never throws; fails only for a pattern it cannot serve. */
export async function searchBuiltIn(request: SearchRequest): Promise<SearchOutcome> {
  const compiled = compilePattern(request.pattern, request.literal, request.ignoreCase);
  if (!compiled.ok) return { ok: false, message: compiled.message };
  const timeout = AbortSignal.timeout(request.timeoutMs ?? SEARCH_TIMEOUT_MS);
  const signal = AbortSignal.any([request.signal, timeout]);
  const problems = createProblemCounter();
  const collector = createMatchCollector(request.limit, request.contextLines);
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const breathe = createBreather();
  let withheld = 0;

  for await (const paths of pathsOf(request, signal, (path) => problems.add(`${path}: cannot be read`))) {
    for (const path of paths) {
      if (signal.aborted || collector.total() > request.limit) break;
      if (!request.accept(path)) continue;
      const found = await searchFile(request, path, compiled, buffer, signal, breathe);
      if (typeof found === "string") problems.add(found);
      else if (found !== undefined && request.withholds(path)) withheld += 1;
      else if (found !== undefined) collector.add(found);
    }
    if (signal.aborted || collector.total() > request.limit) break;
  }
  const total = collector.total();
  const stopped = total > request.limit;
  return {
    ok: true,
    engine: "built-in",
    files: collector.result(),
    end: request.signal.aborted ? "cancelled" : timeout.aborted ? "timeout" : stopped ? "limit" : "complete",
    total,
    exact: !stopped && !signal.aborted,
    withheld,
    ...problems.result(),
  };
}

async function* pathsOf(
  request: SearchRequest,
  signal: AbortSignal,
  onUnreadable: (path: string) => void,
): AsyncGenerator<readonly string[]> {
  if (request.baseIsFile) {
    yield [request.base];
    return;
  }
  yield* walkFiles({
    root: request.root,
    base: request.base,
    includeHidden: request.includeHidden,
    includeIgnored: request.includeIgnored || baseIsIgnored(request, ".rgignore"),
    ownIgnoreFile: ".rgignore",
    signal,
    onUnreadable,
  });
}

/** Undefined without a match; a text when the file could not be read. */
async function searchFile(
  request: SearchRequest,
  path: string,
  compiled: Extract<CompiledPattern, { ok: true }>,
  buffer: Buffer,
  signal: AbortSignal,
  breathe: () => Promise<void> | undefined,
): Promise<FileMatches | string | undefined> {
  let descriptor: number;
  try {
    // Never through a link that was a file a moment ago, never waiting for a pipe's other end.
    descriptor = openSync(`${request.root}/${path}`, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return `${path}: ${errnoOf(error) || "cannot be read"}`;
  }
  try {
    if (!isOpenAt(descriptor, join(request.root, path))) return `${path}: ${MOVED}`;
    const search = new LineSearch({
      matcher: compiled.matcher,
      holds: compiled.holds,
      contextLines: request.contextLines,
      maxMatches: request.limit + 1,
      keepBinary: request.baseIsFile,
    });
    /** Undefined when the signal came first. */
    const work = async <T>(steps: Generator<void, T>): Promise<T | undefined> => {
      while (!signal.aborted) {
        const { done, value } = steps.next();
        const pause = breathe();
        if (pause !== undefined) await pause;
        if (done) return value;
      }
      return undefined;
    };
    while (!signal.aborted) {
      const bytes = readSync(
        descriptor,
        buffer,
        0,
        request.baseIsFile ? CHUNK_BYTES : Math.min(CHUNK_BYTES, search.wanted),
        null,
      );
      const more = bytes > 0 ? await work(search.push(buffer.subarray(0, bytes))) : false;
      if (more !== true) break;
    }
    await work(search.finish());
    const { lines, matches, binary } = search.found();
    return matches === 0 ? undefined : { path, lines: binary ? [] : lines, matches, binary };
  } catch (error) {
    return `${path}: ${errnoOf(error) || "cannot be read"}`;
  } finally {
    closeSync(descriptor);
  }
}
