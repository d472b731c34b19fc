/**
 * What a project file may say (cli.md, Configuration): data from a stranger until trusted, and never the whole of it.
 * Refuses: reading the file, remembering trust.
 */
import { readdir, readFile, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative } from "node:path";
import { errnoOf } from "../base/file-problem.ts";
import type { Diagnostic } from "../types/event.ts";
import { formatKey } from "./keys.ts";
import type { Declared } from "./toml.ts";
import { openTrust, type TrustState } from "./trust.ts";

/** Real path of the deepest part of `path` that exists. */
async function deepestReal(path: string): Promise<string> {
  let here = path;
  for (;;) {
    const found = await realpath(here).catch(() => undefined);
    const parent = dirname(here);
    if (found !== undefined || parent === here) return found ?? here;
    here = parent;
  }
}

/** True when `path` is below `root`, also after every symlink that exists on the way. */
async function isInside(path: string, root: string): Promise<boolean> {
  const below = (target: string): boolean => {
    const way = relative(root, target);
    return way === "" || (way !== ".." && !way.startsWith("../") && !way.startsWith("..\\") && !isAbsolute(way));
  };
  return below(path) && below(await deepestReal(path));
}

/** Hooks and settings there run programs, and git's own files are not to lie among ours. */
function isGits(path: string, root: string): boolean {
  return relative(root, path)
    .split(/[/\\]/)
    .some((part) => part.toLowerCase() === ".git");
}

/** Whether git takes nothing of what is put there: a new directory, which gets a `.gitignore`, or one that has it (sessions.md). */
async function keepsToItself(dir: string): Promise<boolean> {
  const names = await readdir(dir).catch((error: unknown) => (errnoOf(error) === "ENOENT" ? [] : undefined));
  if (names === undefined || names.length === 0) return names !== undefined;
  const ignored = await readFile(join(dir, ".gitignore"), "utf8").catch(() => "");
  return ignored.split(/\r?\n/).includes("*");
}

async function isAdmitted(declared: Declared, trusted: boolean, root: string): Promise<boolean> {
  switch (declared.spec.project) {
    case "harmless":
      return true;
    case "trusted":
      return trusted;
    case "never":
      return false;
    case "inside": {
      if (trusted) return true;
      const paths = Array.isArray(declared.value) ? declared.value : [declared.value];
      for (const path of paths.map(String)) {
        if (!(await isInside(path, root)) || isGits(path, root) || isGits(await deepestReal(path), root)) return false;
        if (declared.spec.name === "session_dir" && !(await keepsToItself(path))) return false;
      }
      return true;
    }
  }
}

type Admitted = {
  readonly declared: readonly Declared[];
  /** Keys that would count if the file were trusted. */
  readonly waiting: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
};

/** More ignored keys than this are counted, not named. */
const MAX_NAMED = 40;
/** A name that says no more than a name: longer ones, and those that need quotes, may be sentences. */
const PLAIN_NAME = /^[A-Za-z0-9_-]{1,32}$/;

/**
 * The key as a diagnostic names it. Diagnostics reach the model, and what a stranger calls a table must not speak to it: a name of
 * his own choice that is no plain word is shown as `*`.
 */
function plainKey({ path, spec }: Declared): string {
  const parts = spec.name.split(".");
  return path.map((word, index) => (parts[index] !== "*" || PLAIN_NAME.test(word) ? word : "*")).join(".");
}

/** Sorts a project file's keys into what counts and what is reported as ignored. */
export async function admitProject(
  path: string,
  declared: readonly Declared[],
  state: TrustState,
  workspaceRoot: string,
): Promise<Admitted> {
  const root = await realpath(workspaceRoot).catch(() => workspaceRoot);
  const kept: Declared[] = [];
  const waiting: Declared[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const item of declared) {
    if (await isAdmitted(item, state === "trusted", root)) kept.push(item);
    else if (item.spec.project === "never") {
      const message = `${path}: ${plainKey(item)} is ignored: only the user's own configuration can set it`;
      diagnostics.push({
        severity: "warning",
        code: "config.never_project",
        message,
        path,
        ...(item.line ? { line: item.line } : {}),
      });
    } else waiting.push(item);
  }
  if (waiting.length > 0) {
    const why = state === "changed" ? "has changed since it was trusted" : "is not trusted";
    const keys = [...new Set(waiting.map(plainKey))];
    const rest = keys.length - MAX_NAMED;
    const named = `${keys.slice(0, MAX_NAMED).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
    const message = `${path} ${why}; ignored: ${named} (read it, then run "thndrs trust"; --trust-project trusts it for one run)`;
    diagnostics.push({ severity: "warning", code: "config.untrusted", message, path });
  }
  return { declared: kept, waiting: waiting.map((item) => formatKey(item.path)), diagnostics };
}

/** What the user said of exactly these bytes at this path. */
export function trustOf(configHome: string | undefined, path: string, bytes: Uint8Array): Promise<TrustState> {
  return openTrust(configHome).state(path, bytes);
}
