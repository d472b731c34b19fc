/**
 * Text search by ripgrep: its arguments, its records, its exit codes (S01–S08, S14). Matches come in any order from all
 * cores; when there are too many to hold, a second, sorted run ends at the limit, so the result is the same either way.
 * Refuses: wording of results, the engine without rg.
 */
import { engineEnvironment } from "../base/engines.ts";
import { parentOf } from "../base/ignore-rules.ts";
import { type ProcessOutcome, runProcess } from "../base/process.ts";
import { isHiddenBelow } from "../base/walk.ts";
import { SEARCH_TIMEOUT_MS } from "./bounds.ts";
import { baseIsIgnored, createProblemCounter, ignoreFlags, sayEarlyEnd } from "./listing.ts";
import { createMatchCollector, type MatchCollector, type SearchOutcome, type SearchRequest } from "./matches.ts";
import { readFarLines } from "./rg-far-lines.ts";
import { createFileReader, type RgFile } from "./rg-files.ts";

/** Past either of these the unsorted run gives way to the sorted one. */
const DENSE_MATCHES = 20_000;
const DENSE_BYTES = 16_777_216;

type Run = { readonly end: ProcessOutcome; readonly dense: boolean; readonly sawSummary: boolean; readonly stderr: string };

/** Undefined when rg could not be run at all: the built-in engine then serves. */
export async function searchWithRg(rg: string, request: SearchRequest): Promise<SearchOutcome | undefined> {
  const effective = { ...request, includeIgnored: request.includeIgnored || baseIsIgnored(request, ".rgignore") };
  const timeoutMs = request.timeoutMs ?? SEARCH_TIMEOUT_MS;
  const deadline = performance.now() + timeoutMs;
  let collector = createMatchCollector(request.limit, request.contextLines);
  let problems = createProblemCounter();
  let run = await runRg(rg, effective, collector, problems, false, timeoutMs);
  if (run.dense) {
    collector = createMatchCollector(request.limit, request.contextLines);
    problems = createProblemCounter();
    run = await runRg(rg, effective, collector, problems, true, Math.max(1, deadline - performance.now()));
  }
  return concludeRun(run, request, collector, problems);
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
  let stderr = "";
  const reader = createFileReader({
    prefix,
    wants(path) {
      const isShown = request.baseIsFile || request.includeHidden || !isHiddenBelow(path, request.base);
      if (!isShown || !request.accept(path)) return "nothing";
      return collector.isBeyond(path) ? "count" : "lines";
    },
    take: (file) => collector.add(file),
  });
  const isEnough = (current: RgFile | undefined): boolean => {
    if (sorted) return collector.total() + (current?.matches ?? 0) > request.limit;
    dense = collector.total() > DENSE_MATCHES || reader.heldBytes() > DENSE_BYTES;
    return dense;
  };
  const end = await runProcess({
    argv: [rg, ...rgArguments(request, sorted)],
    cwd: directory === "" ? request.root : `${request.root}/${directory}`,
    env: engineEnvironment(),
    timeoutMs,
    signal: request.signal,
    descendants: "none",
    onStdout(chunk, stop) {
      if (reader.stopped()) return;
      if (reader.push(chunk, isEnough)) stop();
    },
    onStderr(chunk) {
      if (stderr.length < 4096) stderr += Buffer.from(chunk).toString("utf8");
      problems.push(chunk);
    },
  });
  // What a stopped or timed-out run had of its current file counts.
  if (!dense) reader.flush();
  return { end, dense, sawSummary: reader.sawSummary(), stderr };
}

async function concludeRun(
  run: Run,
  request: SearchRequest,
  collector: MatchCollector,
  problems: ReturnType<typeof createProblemCounter>,
): Promise<SearchOutcome | undefined> {
  const { end } = run;
  if (!end.started && end.failure.kind !== "cancelled") {
    return end.failure.kind === "bad_argv" ? { ok: false, message: "the pattern contains a NUL character" } : undefined;
  }
  const cancelled = !end.started || end.cancelled;
  const timedOut = end.started && end.timedOut;
  const total = collector.total();
  if (!cancelled && !timedOut && end.started && !end.stopped && !run.sawSummary && total === 0) {
    return end.exitCode === 2 ? { ok: false, message: reasonOf(run.stderr) } : undefined;
  }
  const files = await readFarLines(request.root, collector.result());
  const more = total > request.limit;
  const early = end.started && !end.stopped && !cancelled && !timedOut && !run.sawSummary ? sayEarlyEnd("rg", end) : {};
  return {
    ok: true,
    engine: "rg",
    files,
    end: cancelled ? "cancelled" : timedOut ? "timeout" : more ? "limit" : "complete",
    total,
    exact: run.sawSummary && collector.exact(),
    ...problems.result(),
    ...early,
  };
}

/** rg's own reason, without advice to use flags a model cannot give. */
function reasonOf(stderr: string): string {
  const kept = stderr.replace(/\n\s*Consider enabling[\s\S]*$/, "").trim();
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
