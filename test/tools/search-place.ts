/** What the search and listing tools need in a test: a workspace, a PATH value, engines of choice. Also a child's program. */
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { detectEngines } from "../../src/base/engines.ts";
import { findFiles, listSearchableFiles } from "../../src/tools/find.ts";
import type { SearchRequest } from "../../src/tools/matches.ts";
import { searchText } from "../../src/tools/search.ts";
import type { Tool, ToolResult } from "../../src/tools/tool.ts";
import { type Files, type TempDir, writeFiles } from "../support/temp.ts";
import { fileTools } from "./file-context.ts";

/** The real programs of this machine. */
export const installed = detectEngines(process.env.PATH, "/nonexistent");

/** Makes a directory that offers these programs under these names; usable as a PATH value. */
export function pathOf(at: string, programs: Readonly<Record<string, string | undefined>>): string {
  mkdirSync(at, { recursive: true });
  for (const [name, target] of Object.entries(programs)) {
    if (target === undefined) throw new Error(`this test needs ${name} installed`);
    symlinkSync(target, join(at, name));
  }
  return at;
}

let count = 0;

/** A fresh workspace of these files below `place`; its absolute path. */
export async function freshWorkspace(place: TempDir, files: Files): Promise<string> {
  const root = place.at(`ws${++count}`);
  mkdirSync(root);
  await writeFiles(root, files);
  return root;
}

/** A plain search of a whole workspace; a test says what it wants otherwise. */
export function searchRequest(root: string, pattern: string): SearchRequest {
  return {
    root,
    base: "",
    baseIsFile: false,
    pattern,
    literal: false,
    ignoreCase: false,
    contextLines: 0,
    includeHidden: false,
    includeIgnored: false,
    accept: () => true,
    withholds: () => false,
    nameGlobs: undefined,
    limit: 100,
    signal: new AbortController().signal,
  };
}

export type Searching = {
  search(input: Record<string, unknown>): Promise<ToolResult>;
  find(input: Record<string, unknown>): Promise<ToolResult>;
  list(input: Record<string, unknown>): Promise<ToolResult>;
};

/** The three tools in `directory`, through their schemas, with `env` (default: this process's PATH). */
export async function searching(
  directory: string,
  env: Readonly<Record<string, string | undefined>> = { PATH: process.env.PATH },
  signal?: AbortSignal,
  hides?: (path: string) => boolean,
): Promise<Searching> {
  const { context } = await fileTools(directory, signal);
  const call =
    <Input>(tool: Tool<Input>) =>
    (input: Record<string, unknown>) =>
      tool.run(tool.input.parse(input), { ...context, env, ...(hides && { hides }) });
  return { search: call(searchText), find: call(findFiles), list: call(listSearchableFiles) };
}

/** Run by a test as another user: `bun search-place.ts DIRECTORY PATH TOOL INPUT` prints the result as JSON. */
if (import.meta.main) {
  const [directory = "", path = "", tool = "", input = "{}"] = process.argv.slice(2);
  const tools = await searching(directory, { PATH: path });
  const run = tool === "search" ? tools.search : tool === "find" ? tools.find : tools.list;
  const result = await run(JSON.parse(input));
  await Bun.write(Bun.stdout, JSON.stringify({ status: result.status, text: result.text }));
}
