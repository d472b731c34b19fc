/** Why a program could not be started, told apart and said in words (H12, H13). Refuses: starting it. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { errnoOf } from "./file-problem.ts";
import { readSmallFile } from "./small-file.ts";
import { cutChars } from "./text.ts";

export type SpawnFailure = {
  readonly kind: "bad_argv" | "not_found" | "no_cwd" | "not_executable" | "too_big" | "cancelled" | "other";
  /** One sentence that names the cause and what would work. */
  readonly message: string;
};

/** Of a name in a message. */
const MAX_NAME_CHARS = 200;

/** Where to look when PATH is missing or empty, as the C library does. */
const STANDARD_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/**
 * The absolute path of a program in a PATH value, or undefined. Relative and empty entries are passed over: they mean
 * "the current directory", where a repository could plant its own `rg`.
 */
export function findExecutable(name: string, pathVariable: string | undefined): string | undefined {
  if (name === "" || name.includes("/") || name.includes("\0")) return undefined;
  for (const directory of (pathVariable || STANDARD_PATH).split(delimiter)) {
    if (!isAbsolute(directory)) continue;
    const candidate = join(directory, name);
    if (isExecutableFile(candidate)) return candidate;
  }
  return undefined;
}

/** Checks what can be checked before a start: argv, working directory, program. */
export function resolveProgram(
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): { readonly ok: true; readonly program: string } | { readonly ok: false; readonly failure: SpawnFailure } {
  const failure = checkArgv(argv) ?? checkDirectory(cwd);
  if (failure) return { ok: false, failure };
  const name = argv[0] ?? "";
  const program = name.includes("/") ? resolve(cwd, name) : findExecutable(name, env.PATH);
  if (program !== undefined && exists(program)) return { ok: true, program };
  const said = cutChars(program ?? name, MAX_NAME_CHARS);
  const where = name.includes("/") ? `There is no file ${said}.` : `There is no program "${said}" on PATH.`;
  return { ok: false, failure: { kind: "not_found", message: `${where}${hintFor(name)}` } };
}

/** What was meant by a name that is no program. */
function hintFor(name: string): string {
  if (/^[A-Za-z_]\w*=/.test(name)) return ' Variables are set by env: ["env","NAME=value","program","argument"].';
  if (/\s/.test(name)) return " argv takes one word per element: the program first, then each argument.";
  if (/^(?:cd|pushd|popd)$/.test(name)) return ' It is a word of shells: give cwd, or ["sh","-c","cd directory && …"].';
  if (/^(?:export|unset|declare|local)$/.test(name))
    return ' It is a word of shells and lasts as long as one: ["env","NAME=value","program"], or all in one ["sh","-c","export NAME=value; …"].';
  if (/^(?:source|\.|eval|exec|alias|set|shopt|type|ulimit|umask|trap|wait|if|for|while|\{|\()$/.test(name))
    return ' It is a word of shells and lasts as long as one: put all of it into one ["sh","-c","…"] (or "bash").';
  return "";
}

function checkArgv(argv: readonly string[]): SpawnFailure | undefined {
  if (argv.length === 0) return { kind: "bad_argv", message: "argv is empty: it needs at least the program's name." };
  if (argv[0] === "") return { kind: "bad_argv", message: "argv[0] is empty: it must name a program." };
  const bad = argv.findIndex((word) => word.includes("\0"));
  return bad < 0
    ? undefined
    : { kind: "bad_argv", message: `argv[${bad}] contains a NUL character, which no argument can hold.` };
}

function checkDirectory(cwd: string): SpawnFailure | undefined {
  try {
    if (!statSync(cwd).isDirectory()) return { kind: "no_cwd", message: `The working directory ${cwd} is not a directory.` };
    accessSync(cwd, constants.X_OK);
    return undefined;
  } catch (error) {
    if (errnoOf(error) === "EACCES") return { kind: "no_cwd", message: `No permission to enter the working directory ${cwd}.` };
    return { kind: "no_cwd", message: `The working directory ${cwd} does not exist (any more).` };
  }
}

/** Turns what the runtime threw at a start into a failure. `program` was found by `resolveProgram`. */
export function explainSpawnError(error: unknown, program: string, cwd: string): SpawnFailure {
  const code = errnoOf(error);
  if (code === "E2BIG") {
    const limit = "Pass long text through a file instead; one argument can hold about 128 KiB.";
    return { kind: "too_big", message: `The arguments are too long for the operating system. ${limit}` };
  }
  if (code === "EACCES" || code === "EPERM") {
    const what = isDirectory(program) ? "is a directory" : "is not executable (no permission)";
    return { kind: "not_executable", message: `${program} ${what}. Run a script through its interpreter: ["sh", "script.sh"].` };
  }
  if (code === "ENOEXEC") {
    const message = `${program} is not a program this system can run, or a script without a #! line. Run it through its interpreter.`;
    return { kind: "not_executable", message };
  }
  const gone = checkDirectory(cwd);
  if (gone) return gone;
  if (code === "ENOENT") return { kind: "not_found", message: `${program} could not be started: ${missingInterpreter(program)}` };
  return { kind: "other", message: `${program} could not be started: ${code || String(error)}.` };
}

/** The system looks for what stands on the line to its very end: a carriage return belongs to the name. */
function missingInterpreter(program: string): string {
  const [, interpreter, ended] = /^#![ \t]*([^ \t\r\n]+)(\r?)/.exec(headOf(program)) ?? [];
  if (interpreter === undefined) return "the interpreter its #! line names is missing.";
  if (ended === "\r")
    return `its lines end in CRLF, so ${cutChars(JSON.stringify(`${interpreter}\r`), MAX_NAME_CHARS)} is looked for. Give it LF line ends (sed -i 's/\\r$//').`;
  return `the interpreter its #! line names is missing (${cutChars(interpreter, MAX_NAME_CHARS)}).`;
}

function headOf(program: string): string {
  try {
    return readSmallFile(program);
  } catch {
    return "";
  }
}

/** True also where looking is not allowed: starting it will say why. */
function exists(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    return errnoOf(error) === "EACCES";
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

export function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
