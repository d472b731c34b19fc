/**
 * Lists the files below a directory with whichever engine the machine offers: fd, rg, find or the built-in walk. All give
 * the same files: regular, not hidden, not ignored (base/ignore-rules.ts says by which rules), never `.git`.
 * Refuses: patterns and limits (the receiver's business), order (engines finish in any order).
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { msUntil } from "../base/clock.ts";
import { type Engines, engineEnvironment } from "../base/engines.ts";
import { type HeldDirectory, holdDirectory } from "../base/held-directory.ts";
import { hasRulesReadOtherwise, IgnoreTree, type PrivateIgnoreFile } from "../base/ignore-rules.ts";
import { createProcessOwner, type ProcessOutcome, type ProcessRequest } from "../base/process.ts";
import { isHiddenBelow, walkFiles } from "../base/walk.ts";
import { ENGINE_GRACE_MS, SEARCH_TIMEOUT_MS } from "./bounds.ts";
import { createPathSplitter, createProblemCounter, sayEarlyEnd, sayNoPath } from "./engine-output.ts";
import { watchEngine } from "./engine-watch.ts";
import { fdPattern, type PathFilterInput } from "./path-filter.ts";

export type ListEngine = "fd" | "rg" | "find" | "built-in";

export type ListRequest = {
  /** Absolute real path. */
  readonly root: string;
  /** Relative to the root; "" is the root. Listed even when it is itself hidden or ignored. */
  readonly base: string;
  readonly includeHidden: boolean;
  readonly includeIgnored: boolean;
  readonly followSymlinks?: boolean;
  readonly maxDepth?: number | undefined;
  /** The private ignore file that counts, beside those of git; default: fd's. */
  readonly ownIgnoreFile?: PrivateIgnoreFile;
  /** What the receiver will keep anyway: lets fd leave out the rest. */
  readonly hint?: PathFilterInput;
  readonly signal: AbortSignal;
  /** Told that what was taken up to now does not count: another engine starts afresh. */
  readonly forget?: () => void;
  /** Default: SEARCH_TIMEOUT_MS. */
  readonly timeoutMs?: number;
};

export type ListOutcome = {
  readonly engine: ListEngine;
  readonly end: "complete" | "timeout" | "cancelled";
  /** Directories that could not be read, and what the first one's problem was. */
  readonly unreadable: number;
  readonly firstProblem?: string;
  /** The engine died in the middle: there may be more than it listed. */
  readonly endedEarly?: string;
};

/** Takes paths relative to the root, in no order. */
type TakePaths = (paths: readonly string[]) => void;

/**
 * Tries the engines in order and falls through to the built-in walk: an engine that is missing, that cannot apply our
 * ignore rules here, or that fails before it listed anything is passed over. All share one time limit.
 */
export async function listFiles(
  engines: Engines,
  order: readonly ListEngine[],
  request: ListRequest,
  take: TakePaths,
): Promise<ListOutcome> {
  const effective = { ...request, includeIgnored: request.includeIgnored || baseIsIgnored(request, ownFile(request)) };
  const deadline = performance.now() + (request.timeoutMs ?? SEARCH_TIMEOUT_MS);
  for (const engine of order) {
    const outcome = engine === "built-in" ? undefined : await listWith(engine, engines, effective, msUntil(deadline), take);
    if (outcome !== undefined) return outcome;
    if (engine === "built-in") break;
  }
  return listBuiltIn(effective, msUntil(deadline), take);
}

/** A directory asked for by name is listed although it is ignored; then no ignore rule counts below it either. */
export function baseIsIgnored(request: { readonly root: string; readonly base: string }, own: PrivateIgnoreFile): boolean {
  return request.base !== "" && new IgnoreTree(request.root, own).ignores(request.base, true);
}

async function listWith(
  engine: Exclude<ListEngine, "built-in">,
  engines: Engines,
  request: ListRequest,
  timeoutMs: number,
  take: TakePaths,
): Promise<ListOutcome | undefined> {
  const program = engines[engine];
  // Only the built-in walk checks that a followed link stays inside the workspace.
  if (program === undefined || request.followSymlinks) return undefined;
  if (engine !== "find" && !request.includeIgnored && !appliesOurRules(engine, request)) return undefined;
  const argv = { fd: fdArguments, rg: rgFilesArguments, find: findArguments }[engine](request);
  const ignored = engine === "find" && !request.includeIgnored ? new IgnoreTree(request.root, ownFile(request)) : undefined;
  const splitter = createPathSplitter(request.base === "" ? "" : `${request.base}/`, (paths) =>
    take(paths.filter((path) => keep(path, request) && !ignored?.ignores(path))),
  );
  const problems = createProblemCounter();
  let isSound = true;
  const end = await runInside(join(request.root, request.base), {
    argv: [program, ...argv],
    env: engineEnvironment(),
    timeoutMs,
    signal: request.signal,
    onStdout(chunk, stop) {
      isSound = splitter.push(chunk);
      if (!isSound) stop();
    },
    onStderr: problems.push,
    graceMs: ENGINE_GRACE_MS,
  });
  if (end === "moved") return undefined;
  if (end === "trapped") {
    request.forget?.();
    return undefined;
  }
  if (!end.started) return end.failure.kind === "cancelled" ? { engine, end: "cancelled", unreadable: 0 } : undefined;
  const reason = end.cancelled ? "cancelled" : end.timedOut ? "timeout" : "complete";
  // rg says 1 when there is no file to list.
  const isFine = end.exitCode === 0 || (engine === "rg" && end.exitCode === 1);
  // What goes on printing after its end was cut off: nobody knows how much more there was.
  const failed = reason === "complete" && (!isFine || end.heldPipe);
  if (splitter.count() === 0 && (!isSound || (failed && !problems.onlyAccess()))) return undefined;
  const { unreadable, ...first } = problems.result();
  const early = isSound ? (failed && unreadable === 0 ? sayEarlyEnd(engine, end) : {}) : sayNoPath(engine);
  return { engine, end: reason, unreadable, ...first, ...early };
}

/** What is said of a path that leads elsewhere since it was found. */
export const MOVED = "moved or replaced by a link meanwhile";

/**
 * Runs an engine in the directory that is proved to be at its real `path`, whatever the path means a moment later. `moved` when it
 * is not there any more, `trapped` when the engine read without end and was stopped. Rejects only when a receiver threw; the engine
 * has ended then, too.
 */
export async function runInside(
  path: string,
  request: Omit<ProcessRequest, "cwd" | "descendants">,
): Promise<ProcessOutcome | "moved" | "trapped"> {
  let directory: HeldDirectory;
  try {
    directory = holdDirectory(path);
  } catch {
    return "moved";
  }
  let unwatch = (): void => {};
  try {
    const started = await createProcessOwner().start({ ...request, descendants: "none", cwd: directory.at(".") });
    if (!started.ok) return { started: false, failure: started.failure };
    let trapped = false;
    unwatch = watchEngine(started.process.pid, () => {
      trapped = true;
      // What goes wrong with that is told by `done`.
      started.process.end().catch(() => {});
    });
    const end = await started.process.done;
    return trapped ? "trapped" : end;
  } finally {
    unwatch();
    directory.close();
  }
}

function keep(path: string, request: ListRequest): boolean {
  // fd and rg list hidden files that an ignore file re-includes.
  return request.includeHidden || !isHiddenBelow(path, request.base);
}

async function listBuiltIn(request: ListRequest, timeoutMs: number, take: TakePaths): Promise<ListOutcome> {
  const limit = AbortSignal.timeout(timeoutMs);
  const problems = createProblemCounter();
  const walk = walkFiles({
    root: request.root,
    base: request.base,
    includeHidden: request.includeHidden,
    includeIgnored: request.includeIgnored,
    followSymlinks: request.followSymlinks ?? false,
    ...(request.maxDepth === undefined ? {} : { maxDepth: request.maxDepth }),
    ownIgnoreFile: ownFile(request),
    signal: AbortSignal.any([request.signal, limit]),
    onUnreadable: (path) => problems.add(`${path}: cannot be read`),
  });
  for await (const paths of walk) take(paths);
  const end = request.signal.aborted ? "cancelled" : limit.aborted ? "timeout" : "complete";
  return { engine: "built-in", end, ...problems.result() };
}

/**
 * Whether fd or rg would apply exactly our ignore rules. Below the root they must be told to look at parent directories,
 * and then files above the root would count too: where such files exist, another engine serves. So it does where they would read
 * a rule otherwise than git.
 */
function appliesOurRules(engine: "fd" | "rg", request: ListRequest): boolean {
  const { root, base } = request;
  const own = ownFile(request);
  const isTheirs = own === (engine === "fd" ? ".fdignore" : ".rgignore");
  // fd and rg cannot be told to leave out their own file.
  if (!isTheirs && (engine === "fd" || [".fdignore", ".rgignore"].some((name) => existsSync(`${root}/${name}`)))) return false;
  return (base === "" || !hasRulesAbove(root)) && !hasRulesReadOtherwise(root, base, own);
}

function ownFile(request: ListRequest): PrivateIgnoreFile {
  return request.ownIgnoreFile ?? ".fdignore";
}

/** Whether an ignore file above the root would have a say. */
export function hasRulesAbove(root: string): boolean {
  const names = [".ignore", ".rgignore", ".fdignore", ...(isRepository(root) ? [] : [".gitignore", ".git"])];
  for (let directory = root; directory !== dirname(directory); ) {
    directory = dirname(directory);
    if (names.some((name) => existsSync(`${directory === "/" ? "" : directory}/${name}`))) return true;
  }
  return false;
}

function isRepository(root: string): boolean {
  return existsSync(`${root}/.git`);
}

function fdArguments(request: ListRequest): string[] {
  const { flags, pattern } = fdPattern(request.hint ?? { base: request.base });
  return [
    ...["--print0", "--type", "f", "--color", "never", "--show-errors", "--no-global-ignore-file"],
    ...(request.includeHidden ? ["--hidden", "--exclude", ".git"] : []),
    ...(request.includeIgnored ? ["--no-ignore"] : ignoreFlags(request)),
    ...(request.maxDepth === undefined ? [] : ["--max-depth", String(request.maxDepth)]),
    ...flags,
    ...["--", pattern, "./"],
  ];
}

function rgFilesArguments(request: ListRequest): string[] {
  return [
    ...["--no-config", "--files", "--null", "--color", "never", "--no-ignore-global", "--no-ignore-messages"],
    ...(request.includeHidden ? ["--hidden", "--glob", "!.git"] : []),
    ...(request.includeIgnored ? ["--no-ignore"] : ignoreFlags(request)),
    ...(request.maxDepth === undefined ? [] : ["--max-depth", String(request.maxDepth)]),
    ...["--", "./"],
  ];
}

/** Flags fd and rg share. fd before 8.7 lacks the first: it then fails at once, and the next engine serves. */
export function ignoreFlags(request: { readonly root: string; readonly base: string }): string[] {
  return [...(isRepository(request.root) ? [] : ["--no-require-git"]), ...(request.base === "" ? ["--no-ignore-parent"] : [])];
}

function findArguments(request: ListRequest): string[] {
  return [
    ".",
    ...(request.maxDepth === undefined ? [] : ["-maxdepth", String(request.maxDepth)]),
    ...["(", "-name", request.includeHidden ? ".git" : ".?*", "-prune", ")", "-o", "(", "-type", "f", "-print0", ")"],
  ];
}
