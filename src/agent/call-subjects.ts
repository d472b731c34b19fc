/**
 * What the patterns of a policy are compared with (security.md 5): the places, command lines and addresses of a call. Refuses:
 * deciding.
 */

import { baseName, commandsOf } from "./script-commands.ts";

/**
 * Where a path as a model wrote it leads, relative to the workspace with `/` separators: as its words say, and through links
 * where that is another place. Patterns are about places, not about spellings.
 */
export type PlacesOf = (path: string) => readonly string[];

/** What a pattern's argument is compared with: one entry a thing the call is about, each with its spellings by place. */
export type Subject = readonly (readonly string[])[];

type Input = Readonly<Record<string, unknown>>;

/** Without a path these look at the whole workspace. */
const SEARCHES = new Set(["find_files", "list_searchable_files", "search_text"]);

/** How a pattern may spell a place. */
export function spellings(place: string): readonly string[] {
  return [place, `./${place}`, `${place}/`];
}

/** What must be covered to allow a call. */
export function subjectsOf(name: string, input: Input, places: PlacesOf): Subject[] {
  const { argv, path, patches, url, pattern, query } = input;
  const found: Subject[] = [];
  const add = (value: unknown): void => {
    if (typeof value === "string") found.push(places(value).map(spellings));
  };
  if (Array.isArray(argv)) found.push(commandSubject(argv.map(String), input.cwd, places));
  if (Array.isArray(patches)) {
    for (const patch of patches) add(typeof patch === "object" && patch !== null && "path" in patch ? patch.path : "");
  }
  add(SEARCHES.has(name) ? path || "." : path);
  if (found.length > 0) return found;
  const text = [url, query, pattern].find((value) => typeof value === "string");
  return [[[typeof text === "string" ? text : JSON.stringify(input)]]];
}

/** Other words for the same call, for patterns that forbid: `/bin/rm x` is `rm x` too, and so is `sh -c 'cd d && rm x'`. */
export function aliasesOf(name: string, input: Input, places: PlacesOf): readonly string[] {
  if (name.startsWith("mcp__")) return stringsIn(input);
  const { argv, path, pattern } = input;
  if (SEARCHES.has(name) && !path && typeof pattern === "string") return [pattern];
  if (!Array.isArray(argv)) return [];
  const { commands, scripts } = commandsOf(argv.map(String));
  const names = new Map<string, ReadonlySet<string>>();
  const lines = commands.flatMap(([program = "", ...rest]) => {
    const known = names.get(program) ?? new Set([program, baseName(program), ...programPlaces(program, input.cwd, places)]);
    names.set(program, known);
    return [...known].flatMap((name) => [[name, ...rest].join(" "), [name, ...rest].map(quoted).join(" ")]);
  });
  return [...lines, ...scripts];
}

/** Where a program with a path lies, however that is spelled and wherever it is run from. */
function programPlaces(program: string, cwd: unknown, places: PlacesOf): readonly string[] {
  if (!program.includes("/")) return [];
  const from = typeof cwd === "string" && !program.startsWith("/") ? `${cwd}/${program}` : program;
  return places(from).flatMap((place) => [place, `./${place}`]);
}

/**
 * A command as patterns that allow see it. A word with a blank is quoted, so that its blank is no border between words; so is `&&`,
 * so that only the directory of a call comes before it. A program of the workspace begins with `./`, so that no name from
 * PATH means it; one whose path takes detours has no text: it is not where its first words say.
 */
function commandSubject(argv: readonly string[], cwd: unknown, places: PlacesOf): Subject {
  const [program = "", ...rest] = argv;
  const named = programText(program);
  const line = named === undefined ? undefined : [named, ...rest].map(quoted).join(" ");
  const directories = typeof cwd === "string" ? places(cwd) : ["."];
  return directories.map((place) => {
    if (line === undefined) return [];
    return [place === "." ? line : `cd ${quoted(place)} && ${line}`];
  });
}

function programText(program: string): string | undefined {
  if (!program.includes("/")) return program;
  const path = program.replace(/^\.\//, "");
  const names = path.replace(/^(?:\/|(?:\.\.\/)+)/, "").split("/");
  if (names.some((name) => name === "" || name === "." || name === "..")) return undefined;
  return path.startsWith("/") || path.startsWith("../") ? path : `./${path}`;
}

function quoted(word: string): string {
  return word !== "" && word !== "&&" && !/[\s']/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** `scripts/x *` means the program `./scripts/x`, `'my dir/x'` the program `'./my dir/x'`; a name without a slash stays one from PATH. */
export function commandPattern(argument: string): string {
  return argument
    .replace(/^((?:cd .* && )?)(?!\.{0,2}\/)(?=[^\s*?/']+\/)/s, "$1./")
    .replace(/^((?:cd .* && )?')(?!\.{0,2}\/)(?=[^*?/']+\/)/s, "$1./");
}

const MOST_STRINGS = 10_000;

/** What a server's tool is given may stand anywhere in its input. */
function stringsIn(value: unknown, found: string[] = []): string[] {
  if (found.length >= MOST_STRINGS) return found;
  if (typeof value === "string") found.push(value);
  else if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) stringsIn(inner, found);
  return found;
}
