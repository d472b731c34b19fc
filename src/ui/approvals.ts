/**
 * What a person has allowed (security.md 5): once, for this session, or for this project, remembered by argv prefix and
 * directory in the user's config home, outside any repository. Refuses: asking; remembering more than was shown.
 */
import { normalize, relative, resolve } from "node:path";
import { updatePrivateFile } from "../config/private-file.ts";
import { type FileRead, readSettingsFile } from "../config/settings-file.ts";
import { tellingWords } from "./runners.ts";

/**
 * A tool, and for a command the words it begins with and where it runs; `exact` when nothing may follow. The directory decides
 * which `./build.sh` or Makefile is meant, and for git which repository's settings count.
 */
export type Allowance = {
  readonly tool: string;
  readonly prefix?: readonly string[];
  readonly exact?: boolean;
  /** From the workspace root. */
  readonly directory?: string;
};

/** Where the person stands; commands run in the root unless they say where. */
export type Standing = { readonly root: string; readonly cwd: string };

type Stored = Allowance & { readonly project: string };

type Input = Readonly<Record<string, unknown>>;

const ROOT = ".";

function argvOf({ argv }: Input): readonly string[] | undefined {
  return Array.isArray(argv) && argv.length > 0 ? argv.map(String) : undefined;
}

/** What a server makes of a directory is its own affair: its default need not be the workspace root. */
const isOutside = (tool: string): boolean => tool.startsWith("mcp__");

/** As the tool does before it follows links: from the root, `a/../b` is `b`, and an absolute path names the same directory. */
function fromRoot(directory: string, tool: string, root: string): string {
  if (isOutside(tool)) return normalize(directory).replace(/(.)\/$/, "$1");
  const path = resolve("/", root, directory);
  const below = relative(resolve("/", root), path);
  return below === ".." || below.startsWith("../") ? path : below || ROOT;
}

function directoryOf(tool: string, { cwd }: Input, root: string): string {
  return cwd === undefined ? ROOT : fromRoot(String(cwd), tool, root);
}

/** What a command's call may hold beside the command itself without becoming another one. */
const BESIDE: ReadonlySet<string> = new Set(["argv", "cwd", "background", "timeout_ms"]);

/** Arguments beside a command (an outside tool's); nothing for most calls. */
export function beside(input: Input): Input {
  return Object.fromEntries(Object.entries(input).filter(([key]) => !BESIDE.has(key)));
}

/** What "always" would mean for this call in the workspace at `root`. */
export function allowanceFor(tool: string, input: Input, root: string): Allowance {
  const argv = argvOf(input);
  if (!argv) return { tool };
  const prefix = tellingWords(argv);
  const directory = directoryOf(tool, input, root);
  return prefix ? { tool, prefix, directory } : { tool, prefix: argv, exact: true, directory };
}

/** Whether an allowance covers a call. */
export function covers(allowance: Allowance, tool: string, input: Input, root: string): boolean {
  if (allowance.tool !== tool) return false;
  const { prefix, exact, directory } = allowance;
  const argv = argvOf(input);
  if (prefix === undefined) return argv === undefined;
  if (!argv || directory !== directoryOf(tool, input, root) || Object.keys(beside(input)).length > 0) return false;
  if (argv.length < prefix.length || (exact === true && argv.length !== prefix.length)) return false;
  return prefix.every((word, index) => argv[index] === word);
}

/** How an allowance is shown to a person in `cwd`: what is remembered, no more and no less. */
export function describeAllowance(allowance: Allowance, { root, cwd }: Standing): string {
  const { tool, prefix, exact, directory = ROOT } = allowance;
  if (prefix === undefined) return tool;
  const shown = (word: string): string => (/^[\w./:=@%+,-]+$/.test(word) ? word : JSON.stringify(word));
  const what = exact === true ? "exactly this command" : `${prefix.map(shown).join(" ")} …`;
  if (directory !== ROOT) return `${what}, only in ${shown(directory)}`;
  return `${what}, ${cwd === root || isOutside(tool) ? "only here" : "only in the workspace root"}`;
}

/**
 * Entries were once stored without the directory: those that were shown as the same in every one count at the root; an exact
 * command, or a program of some directory, may have been another one there.
 */
function withDirectory(entry: Allowance, root: string): readonly Allowance[] {
  const { tool, prefix, exact, directory } = entry;
  if (prefix === undefined) return [entry];
  // Once stored as the model had written it.
  if (directory !== undefined) return [{ ...entry, directory: fromRoot(directory, tool, root) }];
  const isSame = exact !== true && tellingWords(prefix) !== undefined && /^(?:\/|[^/]*$)/.test(prefix[0] ?? "");
  return isSame ? [{ ...entry, directory: ROOT }] : [];
}

function storedOf(read: FileRead): Stored[] {
  if (read.kind !== "bytes") return [];
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(read.bytes));
    const list = typeof parsed === "object" && parsed !== null && "allowed" in parsed ? parsed.allowed : undefined;
    return Array.isArray(list) ? list.filter(isStored) : [];
  } catch {
    return [];
  }
}

function isStored(value: unknown): value is Stored {
  if (typeof value !== "object" || value === null) return false;
  const { project, tool, prefix, exact, directory } = value as Partial<Stored>;
  if (typeof project !== "string" || typeof tool !== "string") return false;
  if (directory !== undefined && typeof directory !== "string") return false;
  if (exact !== undefined && typeof exact !== "boolean") return false;
  return prefix === undefined || (Array.isArray(prefix) && prefix.length > 0 && prefix.every((word) => typeof word === "string"));
}

export interface Approvals {
  readonly standing: Standing;
  allows(tool: string, input: Input): boolean;
  forSession(allowance: Allowance): void;
  /** @throws UserError when it cannot be written, or what `signal` was aborted with; it then counts for the session. */
  forProject(allowance: Allowance, signal?: AbortSignal): Promise<void>;
}

/** @param file in the config home; undefined when there is none: then nothing outlasts the session; `project` is the root */
export function openApprovals(file: string | undefined, project: string, cwd = project): Approvals {
  const stored = file === undefined ? [] : storedOf(readSettingsFile(file));
  const known: Allowance[] = stored
    .filter((entry) => entry.project === project)
    .flatMap((entry) => withDirectory(entry, project));
  return {
    standing: { root: project, cwd },
    allows: (tool, input) => known.some((allowance) => covers(allowance, tool, input, project)),
    forSession: (allowance) => void known.push(allowance),
    async forProject(allowance, signal) {
      known.push(allowance);
      if (file === undefined) return;
      const change = (read: FileRead): string => {
        const allowed = [...storedOf(read), { project, ...allowance }];
        return `${JSON.stringify({ version: 1, allowed }, null, 2)}\n`;
      };
      await updatePrivateFile(file, change, signal);
    },
  };
}
