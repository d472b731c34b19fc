/**
 * What run.ts (pipes) and pty.ts (a terminal) share: where the binary is, the blank environment, the user to run as, and
 * finding and ending whatever a run leaves behind. Refuses: inheriting anything from the environment of the tests.
 */
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Files, giveTo, type TempDir, tempDir, writeFiles } from "./temp.ts";

/** The compiled product. `bun run build` makes it. */
export const binary = join(import.meta.dir, "..", "..", "dist", "thndrs");

export const nobody = 65534;

export type LaunchOptions = {
  readonly args?: readonly string[];
  /** The directory to start in. Default: a fresh one that disappears with the run. */
  readonly cwd?: string;
  /** Written into the starting directory first. */
  readonly files?: Files;
  /** On top of the blank environment; `undefined` takes a variable out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default `/usr/bin:/bin`. */
  readonly path?: string;
  /** Run without root's powers. Where the tests do not run as root, nothing changes: they have none. */
  readonly user?: "nobody";
  /** Another executable than dist/thndrs. */
  readonly command?: readonly string[];
  /** Wall-clock limit; passing it is a failure. Default 10 s. */
  readonly timeoutMs?: number;
};

export type Launch = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly timeoutMs: number;
  /** HOME and the XDG directories lie here. */
  readonly home: TempDir;
  /** Ends every process that still lives in the run's directories; returns their command lines. Removes the directories. */
  cleanUp(group: number): string[];
};

let sharedCopy: string | undefined;

/** A copy of the binary that every user may execute: the checkout may lie below a private directory. */
function publicBinary(): string {
  for (let path = dirname(binary); path !== dirname(path); path = dirname(path)) {
    if ((statSync(path).mode & 0o001) !== 0) continue;
    if (sharedCopy) return sharedCopy;
    const place = mkdtempSync(join(tmpdir(), "thndrs-binary-"));
    chmodSync(place, 0o755);
    sharedCopy = join(place, "thndrs");
    copyFileSync(binary, sharedCopy, constants.COPYFILE_FICLONE);
    process.once("exit", () => rmSync(place, { recursive: true, force: true }));
    return sharedCopy;
  }
  return binary;
}

/** Running launches per starting directory: several may share one, and the first to end must not take the others along. */
const active = new Map<string, number>();

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Command line of a live process, or undefined. */
function commandLine(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
    return text === "" ? undefined : `${pid} ${text}`;
  } catch {
    return undefined;
  }
}

/** Processes whose working directory lies in one of `directories` (Linux; nowhere else is anything found). */
function livingIn(directories: readonly string[]): number[] {
  if (!existsSync("/proc/self/cwd")) return [];
  const found: number[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      const cwd = readlinkSync(`/proc/${pid}/cwd`).replace(/ \(deleted\)$/, "");
      if (directories.some((directory) => cwd === directory || cwd.startsWith(`${directory}/`))) found.push(pid);
    } catch {
      // Gone meanwhile, or not ours to look at.
    }
  }
  return found;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Already gone.
  }
}

/** Prepares one start of the binary. */
export async function prepare(options: LaunchOptions): Promise<Launch> {
  if (!options.command && !existsSync(binary)) throw new Error(`${binary} is not there: bun run build`);
  const command = options.command ?? [options.user === "nobody" && isRoot() ? publicBinary() : binary];
  const home = await tempDir();
  const work = options.cwd === undefined ? await tempDir() : undefined;
  const cwd = options.cwd ?? work?.path ?? home.path;
  if (options.files) await writeFiles(cwd, options.files);
  for (const name of ["config", "data", "cache", "state", "run"]) mkdirSync(home.at(name));
  const asNobody = options.user === "nobody" && isRoot();
  if (asNobody) for (const owned of [home, work]) if (owned) giveTo(owned.path, nobody);
  const blank: Record<string, string | undefined> = {
    PATH: options.path ?? "/usr/bin:/bin",
    HOME: home.path,
    XDG_CONFIG_HOME: home.at("config"),
    XDG_DATA_HOME: home.at("data"),
    XDG_CACHE_HOME: home.at("cache"),
    XDG_STATE_HOME: home.at("state"),
    XDG_RUNTIME_DIR: home.at("run"),
    ...options.env,
  };
  active.set(cwd, (active.get(cwd) ?? 0) + 1);
  const drop = ["/usr/bin/setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
  return {
    argv: [...(asNobody ? drop : []), ...command, ...(options.args ?? [])],
    cwd,
    env: Object.fromEntries(Object.entries(blank).filter((entry): entry is [string, string] => entry[1] !== undefined)),
    timeoutMs: options.timeoutMs ?? 10_000,
    home,
    cleanUp: (group) => {
      kill(-group);
      const others = (active.get(cwd) ?? 1) - 1;
      active.set(cwd, others);
      const left = livingIn(others > 0 ? [home.path] : [home.path, cwd]).filter((pid) => pid !== group);
      const lines = left.map(commandLine).filter((line) => line !== undefined);
      left.forEach(kill);
      home.remove();
      work?.remove();
      return lines;
    },
  };
}
