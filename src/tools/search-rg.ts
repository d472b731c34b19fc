/**
 * Text search by ripgrep: its arguments, its records, its exit codes (S01–S08, S14). Matches come in any order from all
 * cores; when there are too many to hold, a second, sorted run ends at the limit, so the result is the same either way.
 * Refuses: wording of results, the engine without rg.
 */
import { join } from "node:path";
import { msUntil } from "../base/clock.ts";
import { engineEnvironment } from "../base/engines.ts";
import { isInPlace } from "../base/held-directory.ts";
import { parentOf } from "../base/ignore-rules.ts";
import type { ProcessOutcome } from "../base/process.ts";
import { cutChars } from "../base/text.ts";
import { isHiddenBelow } from "../base/walk.ts";
import { ENGINE_GRACE_MS, SEARCH_TIMEOUT_MS } from "./bounds.ts";
import { createProblemCounter, sayEarlyEnd } from "./engine-output.ts";
import { baseIsIgnored, ignoreFlags, MOVED, runInside } from "./listing.ts";
import { createMatchCollector, type MatchCollector, type SearchOutcome, type SearchRequest } from "./matches.ts";
import { readFarLines } from "./rg-far-lines.ts";
import { createFileReader, type RgFile } from "./rg-files.ts";

/** Past either of these the unsorted run gives way to the sorted one. */
const DENSE_MATCHES = 20_000;
const DENSE_BYTES = 33_554_432;
/** Room for the banner of a wrapper; past it what is called rg is something else. */
const MAX_STRAY_BYTES = 1_048_576;
/** The beginning of what rg says when it refuses a pattern. */
const MAX_REASON_CHARS = 4096;
/** Rust's words for a thread that died: the rest would wait for it until the time is over. */
const PANIC = /^thread '[^\n']*' (?:\(\d+\) )?panicked at /m;
/** Enough of what came before to see those words over the border of two chunks. */
const PANIC_CHARS = 200;

type Run = {
  readonly end: ProcessOutcome | "moved" | "trapped";
  readonly dense: boolean;
  /** It printed what a sound ripgrep never prints, and was stopped. */
  readonly broken: boolean;
  readonly sawSummary: boolean;
  readonly stderr: string;
  /** Matching files that are not shown. */
  readonly withheld: number;
};

/** `broken` when rg could not be run, or is no ripgrep; `trapped` when it read without end. The built-in engine then serves. */
export async function searchWithRg(rg: string, request: SearchRequest): Promise<SearchOutcome | "broken" | "trapped"> {
  const effective = { ...request, includeIgnored: request.includeIgnored || baseIsIgnored(request, ".rgignore") };
  const timeoutMs = request.timeoutMs ?? SEARCH_TIMEOUT_MS;
  const deadline = performance.now() + timeoutMs;
  let collector = createMatchCollector(request.limit, request.contextLines);
  let problems = createProblemCounter();
  let run = await runRg(rg, effective, collector, problems, false, timeoutMs);
  if (run.dense) {
    collector = createMatchCollector(request.limit, request.contextLines);
    problems = createProblemCounter();
    run = await runRg(rg, effective, collector, problems, true, msUntil(deadline));
  }
  if (run.end === "trapped") return "trapped";
  return run.broken || run.end === "moved" ? "broken" : concludeRun(run.end, run, request, collector, problems);
}

async function runRg(
  rg: string,
  request: SearchRequest,
  collector: MatchCollector,
  problems: ReturnType<typeof createProblemCounter>,
  sorted: boolean,
  timeoutMs: number,
): Promise<Run> {
  const directory = request.baseIsFile ? parentOf(request.base) : request.base;
  const prefix = directory === "" ? "" : `${directory}/`;
  let dense = false;
  let broken = false;
  let panicked = false;
  let tail = "\n";
  let stderr = "";
  let withheld = 0;
  const reader = createFileReader({
    prefix,
    wants(path) {
      const isShown = request.baseIsFile || request.includeHidden || !isHiddenBelow(path, request.base);
      if (!isShown || !request.accept(path)) return "nothing";
      if (request.withholds(path)) {
        withheld += 1;
        return "nothing";
      }
      return collector.isBeyond(path) ? "count" : "lines";
    },
    take: (file) => collector.add(file),
  });
  const isEnough = (current: RgFile | undefined): boolean => {
    const matches = collector.total() + (current?.matches ?? 0);
    const isHeavy = reader.heldBytes() > DENSE_BYTES;
    // The lines around as many matches as the limit allows are less than that.
    broken = reader.strayBytes() > MAX_STRAY_BYTES || (sorted && isHeavy);
    dense = !broken && !sorted && (isHeavy || matches > DENSE_MATCHES);
    return broken || dense || (sorted && matches > request.limit);
  };
  const end = await runInside(join(request.root, directory), {
    argv: [rg, ...rgArguments(request, sorted)],
    env: engineEnvironment(),
    timeoutMs,
    signal: request.signal,
    graceMs: ENGINE_GRACE_MS,
    onStdout(chunk, stop) {
      if (panicked || reader.stopped()) return;
      if (reader.push(chunk, isEnough)) stop();
    },
    onStderr(chunk, stop) {
      if (panicked) return;
      const said = Buffer.from(chunk).toString("utf8");
      if (stderr.length < MAX_REASON_CHARS) stderr = cutChars(stderr + said, MAX_REASON_CHARS);
      problems.push(chunk);
      // What a file is called may hold the words too: only at the beginning of a line are they rg's own.
      panicked = PANIC.test(tail + said);
      tail = (tail + said).slice(-PANIC_CHARS);
      if (panicked) stop();
    },
  });
  // What a stopped or timed-out run had of its current file counts.
  if (!dense) reader.flush();
  return { end, dense: dense && !panicked, broken: broken || panicked, sawSummary: reader.sawSummary(), stderr, withheld };
}

async function concludeRun(
  end: ProcessOutcome,
  run: Run,
  request: SearchRequest,
  collector: MatchCollector,
  problems: ReturnType<typeof createProblemCounter>,
): Promise<SearchOutcome | "broken"> {
  if (!end.started && end.failure.kind !== "cancelled") {
    return end.failure.kind === "bad_argv" ? { ok: false, message: "the pattern contains a NUL character" } : "broken";
  }
  const cancelled = !end.started || end.cancelled;
  const timedOut = end.started && end.timedOut;
  const total = collector.total();
  if (!cancelled && !timedOut && end.started && !end.stopped && !run.sawSummary && total === 0) {
    return end.exitCode === 2 ? { ok: false, message: reasonOf(run.stderr) } : "broken";
  }
  const found = collector.result().filter((file) => {
    // rg goes by paths: a directory that became a link while it ran may have led it out of the workspace.
    const inPlace = isInPlace(join(request.root, file.path));
    if (!inPlace) problems.add(`${file.path}: ${MOVED}`);
    return inPlace;
  });
  const files = await readFarLines(request.root, found);
  const more = total > request.limit;
  const early = end.started && !end.stopped && !cancelled && !timedOut && !run.sawSummary ? sayEarlyEnd("rg", end) : {};
  return {
    ok: true,
    engine: "rg",
    files,
    end: cancelled ? "cancelled" : timedOut ? "timeout" : more ? "limit" : "complete",
    total,
    exact: run.sawSummary && collector.exact(),
    withheld: run.withheld,
    ...problems.result(),
    ...early,
  };
}

/** rg's own reason, without advice to use flags a model cannot give. */
function reasonOf(stderr: string): string {
  const advice = stderr.search(/\n[^\S\n]*Consider enabling/);
  const kept = (advice < 0 ? stderr : stderr.slice(0, advice)).trim();
  return kept === "" ? "rg failed without saying why" : kept;
}

function rgArguments(request: SearchRequest, sorted: boolean): string[] {
  const name = request.base.slice(request.base.lastIndexOf("/") + 1);
  const types = (request.nameGlobs ?? []).flatMap((glob) => ["--type-add", `thndrs:${glob}`]);
  return [
    // Not --glob: what it includes would be searched even when ignored.
    ...["--json", "--no-config", "--no-mmap", "--crlf", "--no-ignore-global", "--no-ignore-messages"],
    ...["--max-count", String(request.limit + 1), request.ignoreCase ? "--ignore-case" : "--case-sensitive"],
    ...(request.literal ? ["--fixed-strings"] : []),
    ...(request.contextLines > 0 ? ["--context", String(request.contextLines)] : []),
    ...(request.includeHidden ? ["--hidden", "--glob", "!.git"] : []),
    ...(request.includeIgnored ? ["--no-ignore"] : ignoreFlags(request)),
    ...(types.length > 0 ? [...types, "--type", "thndrs"] : []),
    ...(sorted ? ["--sort", "path"] : []),
    ...["--", request.pattern, request.baseIsFile ? `./${name}` : "./"],
  ];
}
