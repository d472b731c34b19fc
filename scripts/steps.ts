/**
 * What every script needs before its own work: the project's root, a child process with the terminal handed through, the
 * frozen install. Imports built-in modules only, so that it runs on a fresh clone. Refuses: knowing what any script is for.
 */
import { join } from "node:path";

/** The project's root, whatever directory the script was started in. */
export const root = join(import.meta.dir, "..");

/** Arguments after the script's name. */
export const args: readonly string[] = process.argv.slice(2);

type Environment = Readonly<Record<string, string | undefined>>;

export type Step = {
  readonly cwd?: string;
  readonly env?: Environment;
  /** Keep the output back and show it only when the step fails. */
  readonly quiet?: boolean;
};

/** Runs one command to its end and returns its exit code (128 + n for a signal never occurs: a killed child counts as 1). */
export async function run(command: readonly string[], step: Step = {}): Promise<number> {
  const child = Bun.spawn([...command], {
    cwd: step.cwd ?? root,
    env: step.env ?? process.env,
    stdin: "ignore",
    stdout: step.quiet ? "pipe" : "inherit",
    stderr: step.quiet ? "pipe" : "inherit",
  });
  const kept = step.quiet ? Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]) : undefined;
  await child.exited;
  const code = child.exitCode ?? 1;
  if (kept && code !== 0) process.stderr.write((await kept).join(""));
  return code;
}

/** Runs a command for its output: trimmed text, or undefined when it fails or is not installed. */
export function read(command: readonly string[], cwd = root): string | undefined {
  const [name = ""] = command;
  if (!name.includes("/") && Bun.which(name) === null) return undefined;
  const done = Bun.spawnSync([...command], { cwd, stdin: "ignore", stdout: "pipe", stderr: "ignore" });
  return done.exitCode === 0 ? done.stdout.toString().trim() : undefined;
}

/** Dependencies exactly as locked. Needs no network when they are in place. Throws when they cannot be had. */
export async function install(): Promise<void> {
  const code = await run([process.execPath, "install", "--frozen-lockfile"], { quiet: true });
  if (code !== 0) throw new Error("bun install --frozen-lockfile failed: the lock file and package.json must agree");
}
