/** search_text: finds lines in files, with rg or without (S01–S09, S13, S14). Refuses: replacing, following links. */
import { join } from "node:path";
import { z } from "zod";
import { msUntil } from "../base/clock.ts";
import { detectEngines } from "../base/engines.ts";
import { hasRulesReadOtherwise } from "../base/ignore-rules.ts";
import { lookAt } from "../base/look.ts";
import { pathText } from "../base/path-quote.ts";
import { isSecretPath } from "../base/secret-files.ts";
import { groupDigits } from "../base/text.ts";
import { MAX_RESULTS, MAX_RESULTS_CEILING, SEARCH_TIMEOUT_MS } from "./bounds.ts";
import { globAdvice } from "./glob-advice.ts";
import { hasRulesAbove } from "./listing.ts";
import type { SearchOutcome, SearchRequest } from "./matches.ts";
import { belowRoot, nameGlobs, pathFilter } from "./path-filter.ts";
import { CLOSED_NOTE, globHint, joinBounded, sayProblems, sayStop } from "./result-text.ts";
import { searchWithRg } from "./search-rg.ts";
import { failed, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

const input = z.strictObject({
  pattern: z.string().min(1).describe("Rust regex, within one line"),
  path: z.string().optional().describe("file or directory; default: root"),
  glob: z.string().optional().describe("*.ts, src/**/*.md, !*.test.ts"),
  extensions: z.array(z.string().min(1)).optional(),
  literal: z.boolean().optional().describe("pattern is plain text"),
  ignore_case: z.boolean().optional(),
  context_lines: z.int().min(0).max(20).optional(),
  include_hidden: z.boolean().optional(),
  include_ignored: z.boolean().optional(),
  limit: z.int().min(1).optional().describe("matching lines, at most 1000"),
});

type SearchInput = z.infer<typeof input>;

export const searchText: Tool<SearchInput> = {
  name: "search_text",
  description:
    "search_text finds lines that match a regular expression, in files. Use it to locate code before reading; prefer it to grep in " +
    "run_shell. Prints path:line:text, context as path-line-text, sorted by path. At most 100 matches unless limit says otherwise; long lines " +
    "as excerpts; no binary, hidden or ignored (.gitignore, .ignore) files.",
  effect: "read",
  input,
  example: { pattern: "createServer|listen\\(", glob: "src/**/*.ts", context_lines: 1 },
  run,
};

async function run(wanted: SearchInput, context: ToolContext): Promise<ToolResult> {
  if (/[\r\n]/.test(wanted.pattern)) {
    return failed("pattern holds a line break, but a match lies within one line. Search for one of its lines.");
  }
  const resolved = await context.workspace.resolve(wanted.path || ".");
  if (!resolved.ok) return failed(resolved.message);
  const info = lookAt(resolved.path);
  if (info === undefined)
    return failed(`${pathText(resolved.relative)} does not exist. ${globHint(wanted.path)}find_files finds paths by name.`);
  if (!info.isFile() && !info.isDirectory()) return failed(`${pathText(resolved.relative)} is neither a file nor a directory.`);

  const base = resolved.relative === "." ? "" : resolved.relative;
  const glob = belowRoot(wanted.glob, context.workspace.root);
  const wants = pathFilter({ glob, extensions: wanted.extensions, base: info.isFile() ? "" : base });
  const hides = info.isFile() ? undefined : context.hides;
  const closed = context.workspace.closed?.();
  const request: SearchRequest = {
    root: context.workspace.root,
    base,
    baseIsFile: info.isFile(),
    pattern: wanted.pattern,
    literal: wanted.literal ?? false,
    ignoreCase: wanted.ignore_case ?? false,
    contextLines: wanted.context_lines ?? 0,
    includeHidden: wanted.include_hidden ?? false,
    includeIgnored: wanted.include_ignored ?? false,
    // Of thndrs' own files not even the number of matches is told: it could be asked for letter by letter.
    accept: (path) => wants(path) && hides?.(path) !== true && closed?.(join(context.workspace.root, path)) !== true,
    withholds: info.isFile() ? () => false : isSecretPath,
    nameGlobs: info.isFile() ? undefined : nameGlobs(glob, wanted.extensions),
    limit: Math.min(wanted.limit ?? MAX_RESULTS, MAX_RESULTS_CEILING),
    signal: context.signal,
  };
  const { rg, inside } = detectEngines(context.env.PATH, request.root);
  const outcome = await searchFiles(request, rg, inside?.includes("rg") ? "inside" : "missing");
  const touched = [{ path: resolved.path, kind: "search" }] as const;
  const advice = outcome.ok && outcome.files.length === 0 ? globAdvice([wanted.glob]) : [];
  return { ...report(outcome, request, [...advice, ...(hides === undefined ? [] : [CLOSED_NOTE])]), touched };
}

/** Runs the search with `rg` (its absolute path) where there is one and it applies our ignore rules, else in process. */
export async function searchFiles(
  request: SearchRequest,
  rg: string | undefined,
  without: "missing" | "inside" = "missing",
): Promise<SearchOutcome> {
  const agrees = request.baseIsFile || request.includeIgnored || appliesOurRules(request);
  const deadline = performance.now() + (request.timeoutMs ?? SEARCH_TIMEOUT_MS);
  const outcome = rg === undefined ? without : agrees ? await searchWithRg(rg, request) : "rules";
  if (typeof outcome !== "string") return outcome;
  // Lazy door: with rg it is not needed.
  const { searchBuiltIn } = await import("./search-builtin.ts");
  const builtIn = await searchBuiltIn({ ...request, timeoutMs: msUntil(deadline) });
  return builtIn.ok ? { ...builtIn, passedOver: outcome } : builtIn;
}

/** Below the root rg looks at parent directories, also at those above the root, whose rules are not ours. */
function appliesOurRules({ root, base }: SearchRequest): boolean {
  return (base === "" || !hasRulesAbove(root)) && !hasRulesReadOtherwise(root, base, ".rgignore");
}

function report(outcome: SearchOutcome, request: SearchRequest, more: readonly string[]): ToolResult {
  if (!outcome.ok) {
    return failed(`search_text cannot use this pattern: ${outcome.message}${sayOtherWay(request)}`);
  }
  const { lines, matchAt } = linesOf(outcome, request.contextLines);
  const { text, kept } = joinBounded(lines);
  const shown = matchAt.filter((index) => index < kept).length;
  const available = matchAt.length;
  const notes = [
    ...(available === 0 && outcome.end === "complete" ? [sayMiss(request)] : []),
    ...(shown < available
      ? [`[cut at 64 KiB: ${shown} of ${available} matches; narrow path or glob, or lower context_lines]`]
      : []),
    ...(outcome.end === "limit" ? [sayLimit(outcome, request.limit)] : []),
    ...sayStop(outcome.end, available > 0),
    ...(outcome.withheld === 0 ? [] : [sayWithheld(outcome.withheld)]),
    ...sayProblems(outcome, "searched"),
    ...more,
    ...(outcome.passedOver === undefined ? [] : [`[engine: built-in; ripgrep (rg) ${REASONS[outcome.passedOver]}]`]),
  ];
  const cutShort = outcome.end === "limit" || outcome.end === "timeout" || outcome.endedEarly !== undefined;
  const truncated = cutShort || shown < available;
  const whole = [text, ...notes].filter((part) => part !== "").join("\n");
  const status = outcome.end === "cancelled" ? "cancelled" : outcome.end === "timeout" && available === 0 ? "failed" : "ok";
  return succeeded(whole, { status, truncated });
}

/** For a pattern that cannot be used. */
function sayOtherWay({ pattern, literal }: SearchRequest): string {
  if (literal) return "";
  if (/(?<!\\)(?:\\\\)*\\[nr]/.test(pattern)) return "\nA match lies within one line: search for one of its lines.";
  return "\nTo search for the text itself, set literal: true.";
}

/** Lines as they are printed, and which of them are matches. */
function linesOf(outcome: Extract<SearchOutcome, { ok: true }>, contextLines: number): { lines: string[]; matchAt: number[] } {
  const lines: string[] = [];
  const matchAt: number[] = [];
  for (const file of outcome.files) {
    const path = pathText(file.path);
    if (contextLines > 0 && lines.length > 0) lines.push("--");
    if (file.binary) {
      matchAt.push(lines.length);
      lines.push(`${path}: binary file matches`);
    }
    let previous: number | undefined;
    for (const line of file.lines) {
      if (contextLines > 0 && previous !== undefined && line.number > previous + 1) lines.push("--");
      previous = line.number;
      if (line.isMatch) matchAt.push(lines.length);
      lines.push(line.isMatch ? `${path}:${line.number}:${line.text}` : `${path}-${line.number}-${line.text}`);
    }
  }
  return { lines, matchAt };
}

function sayMiss(request: SearchRequest): string {
  const where = request.base === "" ? "the workspace" : pathText(request.base);
  const left = [
    ...(request.baseIsFile || request.includeHidden ? [] : ["hidden"]),
    ...(request.baseIsFile || request.includeIgnored ? [] : ["ignored"]),
  ];
  const hint = left.length === 0 ? "" : ` Binary, ${left.join(" and ")} files were not searched.`;
  return `No matches for ${JSON.stringify(request.pattern)} in ${where}.${hint}`;
}

/** Security.md 3: they are searched only by their exact path. */
function sayWithheld(count: number): string {
  const what = count === 1 ? "1 file that may hold secrets matches" : `${groupDigits(count)} files that may hold secrets match`;
  return `[${what} too and ${count === 1 ? "is" : "are"} not shown (.git, .env, keys); give such a file itself as path to search it]`;
}

/** S09: why rg did not serve. */
const REASONS = {
  missing: "is not on PATH",
  inside: "on PATH lies inside the workspace, whose programs are not run",
  rules: "cannot apply the ignore rules of this workspace here",
  broken: "on PATH does not work",
  trapped:
    "was stopped, it read without end or held over 512 MiB: is an ignore file here a device or a pipe, or a line that long?",
} as const;

function sayLimit(outcome: Extract<SearchOutcome, { ok: true }>, limit: number): string {
  const shown = outcome.exact
    ? `${limit} of ${groupDigits(outcome.total)} matches shown`
    : `${limit} matches shown, there are more`;
  const raise = limit < MAX_RESULTS_CEILING ? "raise limit (at most 1000) or " : "";
  return `[first ${shown}: limit reached; ${raise}narrow pattern, path or glob]`;
}
