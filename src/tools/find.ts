/** find_files and list_searchable_files: paths of files, by name (S01, S10–S12, S15). Refuses: contents, directories. */
import { realpathSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { z } from "zod";
import { detectEngines } from "../base/engines.ts";
import { isInPlace } from "../base/held-directory.ts";
import { IgnoreTree } from "../base/ignore-rules.ts";
import { lookAt } from "../base/look.ts";
import { pathText } from "../base/path-quote.ts";
import { isSecretPath } from "../base/secret-files.ts";
import { groupDigits } from "../base/text.ts";
import { isHiddenBelow } from "../base/walk.ts";
import { MAX_RESULTS, MAX_RESULTS_CEILING } from "./bounds.ts";
import { createFirstPaths, type FirstPaths } from "./first-paths.ts";
import { globAdvice } from "./glob-advice.ts";
import { type ListEngine, type ListOutcome, type ListRequest, listFiles, MOVED } from "./listing.ts";
import { belowRoot, isGlob, type PathFilter, type PathFilterInput, pathFilter } from "./path-filter.ts";
import { CLOSED_NOTE, globHint, joinBounded, sayProblems, sayStop } from "./result-text.ts";
import { failed, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

const findInput = z.strictObject({
  pattern: z.string().describe("*.ts, src/**/x?.md, or part of the path"),
  path: z.string().optional().describe("directory; default: root"),
  glob: z.string().optional().describe("second filter; !*.d.ts excludes"),
  extensions: z.array(z.string().min(1)).optional(),
  max_depth: z.int().min(1).optional(),
  include_hidden: z.boolean().optional(),
  include_ignored: z.boolean().optional(),
  follow_symlinks: z.boolean().optional(),
  limit: z.int().min(1).optional().describe("at most 1000"),
});

const listInput = z.strictObject({
  path: z.string().optional().describe("directory; default: root"),
  glob: z.string().optional(),
  include_hidden: z.boolean().optional(),
  limit: z.int().min(1).optional().describe("at most 1000"),
});

type FindInput = z.infer<typeof findInput>;
type ListInput = z.infer<typeof listInput>;

export const findFiles: Tool<FindInput> = {
  name: "find_files",
  description:
    "find_files lists files by name, sorted by path. Use it to locate files before reading them. A pattern with * ? [ { is a glob, on the " +
    "path when it holds a /, else on the name; any other is a smart-case part of the path. At most 100 files unless limit says otherwise; " +
    "no directories, links, hidden or ignored (.gitignore, .ignore) files.",
  effect: "read",
  input: findInput,
  example: { pattern: "*.ts", path: "src", max_depth: 3 },
  run: (input, context) => list(input, context, ["fd", "find"]),
};

export const listSearchableFiles: Tool<ListInput> = {
  name: "list_searchable_files",
  description:
    "list_searchable_files lists the files search_text looks into, sorted by path. Use it to get to know a directory. At most 100 files " +
    "unless limit says otherwise.",
  effect: "read",
  input: listInput,
  example: { path: "src", glob: "*.ts" },
  // As rg sees a tree: it is what search_text runs, and what its built-in engine stands in for.
  run: (input, context) => list(input, context, ["rg", "find"], { withholds: isSecretPath, ownIgnoreFile: ".rgignore" }),
};

async function list(
  input: ListInput & Partial<FindInput>,
  context: ToolContext,
  order: readonly ListEngine[],
  { withholds, ownIgnoreFile }: { withholds?: (path: string) => boolean } & Pick<ListRequest, "ownIgnoreFile"> = {},
): Promise<ToolResult> {
  const resolved = await context.workspace.resolve(input.path || ".");
  if (!resolved.ok) return failed(resolved.message);
  const info = lookAt(resolved.path);
  if (info === undefined)
    return failed(`${pathText(resolved.relative)} does not exist. ${globHint(input.path)}Leave path out to look everywhere.`);
  if (!info.isDirectory()) return failed(`${pathText(resolved.relative)} is not a directory. read_file_range reads a file.`);

  const base = resolved.relative === "." ? "" : resolved.relative;
  const { root } = context.workspace;
  const pattern = belowRoot(input.pattern, root);
  const filter = { pattern, glob: belowRoot(input.glob, root), extensions: input.extensions, base };
  const request: ListRequest = {
    root,
    base,
    includeHidden: input.include_hidden ?? false,
    includeIgnored: input.include_ignored ?? false,
    followSymlinks: input.follow_symlinks ?? false,
    maxDepth: input.max_depth,
    ...(ownIgnoreFile && { ownIgnoreFile }),
    hint: filter,
    signal: context.signal,
  };
  const limit = Math.min(input.limit ?? MAX_RESULTS, MAX_RESULTS_CEILING);
  const wants = acceptOf(filter, request, context.hides);
  // What no tool opens is not searchable either; a search by name says that it is there.
  const closed = withholds === undefined ? undefined : context.workspace.closed?.();
  const accept: PathFilter = closed === undefined ? wants : (path) => wants(path) && !closed(join(root, path));
  let withheld = 0;
  const found = createFirstPaths(limit, (path) => {
    if (!accept(path)) return false;
    if (withholds?.(path) !== true) return true;
    withheld += 1;
    return false;
  });
  const forget = (): void => {
    withheld = 0;
    found.forget();
  };
  const outcome = await listFiles(detectEngines(context.env.PATH, root), order, { ...request, forget }, found.take);
  const missed = pattern === undefined ? undefined : await sayLeftOut(pattern, request, found, accept, context);
  const closedNote = context.hides === undefined ? [] : [CLOSED_NOTE];
  const nothing = found.total() === 0 && outcome.end === "complete" ? sayNothing(request, [pattern, filter.glob]) : undefined;
  const secrets = withheld === 0 ? [] : [sayWithheld(withheld)];
  const notes = [...secrets, ...[missed ?? nothing].filter((note) => note !== undefined), ...closedNote];
  return { ...report(outcome, request, found, limit, notes), touched: [{ path: resolved.path, kind: "search" }] };
}

/** What the policy closes is left out; behind a followed link also by where it really is. */
function acceptOf(filter: PathFilterInput, request: ListRequest, hides: ToolContext["hides"]): PathFilter {
  const wants = pathFilter(filter);
  if (hides === undefined) return wants;
  if (request.followSymlinks !== true) return (path) => wants(path) && !hides(path);
  return (path) => wants(path) && !hides(path) && !hides(realBelow(request.root, path));
}

function realBelow(root: string, path: string): string {
  try {
    return relative(root, realpathSync(`${root}/${path}`));
  } catch {
    // Gone meanwhile.
    return path;
  }
}

/** Engines go by paths: a directory that became a link while they ran may have led them out of the workspace. */
function inPlace(paths: readonly string[], request: ListRequest): readonly string[] {
  // The walk that follows links proves where each leads.
  if (request.followSymlinks === true) return paths;
  const proved = new Map<string, boolean>();
  return paths.filter((path) => {
    const directory = dirname(path);
    const known = proved.get(directory) ?? isInPlace(join(request.root, directory));
    proved.set(directory, known);
    return known;
  });
}

function report(
  outcome: ListOutcome,
  request: ListRequest,
  found: FirstPaths,
  limit: number,
  more: readonly string[],
): ToolResult {
  const paths = inPlace(found.paths(), request);
  const moved = found.paths().length - paths.length;
  const { text, kept } = joinBounded(paths.map(pathText));
  const total = found.total() - moved;
  const overLimit = total > paths.length;
  const raise = limit < MAX_RESULTS_CEILING ? "raise limit (at most 1000) or " : "";
  const notes = [
    ...more,
    ...(kept < paths.length ? [`[cut at 64 KiB: ${kept} of ${groupDigits(total)} files; narrow pattern, path or glob]`] : []),
    ...(kept === paths.length && overLimit
      ? [`[first ${paths.length} of ${groupDigits(total)} files shown: limit reached; ${raise}narrow pattern, path or glob]`]
      : []),
    ...sayStop(outcome.end, total > 0),
    ...sayProblems(outcome, "listed"),
    ...(moved === 0 ? [] : [`[${groupDigits(moved)} left out: ${MOVED}]`]),
  ];
  const truncated = overLimit || kept < paths.length || outcome.end === "timeout" || outcome.endedEarly !== undefined;
  const status = outcome.end === "cancelled" ? "cancelled" : outcome.end === "timeout" && total === 0 ? "failed" : "ok";
  return succeeded([text, ...notes].filter((part) => part !== "").join("\n"), { status, truncated });
}

function sayNothing(request: ListRequest, globs: readonly (string | undefined)[]): string {
  const where = request.base === "" ? "the workspace" : pathText(request.base);
  const left = [...(request.includeHidden ? [] : ["hidden"]), ...(request.includeIgnored ? [] : ["ignored"])];
  const why = left.length === 0 ? "" : ` ${capitalise(left.join(" and "))} files are not listed.`;
  return [`No files found in ${where}.${why}`, ...globAdvice(globs)].join("\n");
}

/** Security.md 3: a search does not look into them either. */
function sayWithheld(count: number): string {
  const what = count === 1 ? "1 file that may hold secrets is" : `${groupDigits(count)} files that may hold secrets are`;
  return `[${what} left out (.git, .env, keys); find_files names ${count === 1 ? "it" : "them"}]`;
}

function capitalise(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** S12: a pattern that names a file exactly, which is there but not in the list, gets the reason. */
async function sayLeftOut(
  pattern: string,
  request: ListRequest,
  found: FirstPaths,
  accept: PathFilter,
  context: ToolContext,
): Promise<string | undefined> {
  if (pattern === "" || (isGlob(pattern) && found.total() > 0)) return undefined;
  for (const candidate of request.base === "" ? [pattern] : [`${request.base}/${pattern}`, pattern]) {
    const resolved = await context.workspace.resolve(candidate);
    if (!resolved.ok || !resolved.exists || resolved.relative === "." || context.hides?.(resolved.relative)) continue;
    const named = candidate.replace(/^(?:\.\/)+/, "").replace(/(?<!\/)\/+$/, "");
    if (found.paths().includes(named)) return undefined;
    const reason = reasonLeftOut(named, resolved.relative, request, found, accept);
    if (reason !== undefined) return `[${pathText(named)} exists, but ${reason}]`;
  }
  return undefined;
}

function reasonLeftOut(
  named: string,
  real: string,
  request: ListRequest,
  found: FirstPaths,
  accept: PathFilter,
): string | undefined {
  const info = lookAt(`${request.root}/${real}`);
  if (info === undefined) return undefined;
  if (info.isDirectory()) return found.total() > 0 ? undefined : "is a directory; give it as path to list its files";
  if (named !== real) return found.total() > 0 ? undefined : "is or lies behind a link; read it by path";
  if (!request.includeIgnored && new IgnoreTree(request.root, ".fdignore").ignores(real)) return "is ignored; read it by path";
  if (!request.includeHidden && isHiddenBelow(real, "")) return "is hidden; read it by path";
  if (!accept(real) && found.total() === 0) return "glob or extensions leave it out";
  return undefined;
}
