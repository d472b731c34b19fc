/** Fresh directories for tests, gone afterwards. Refuses: anything outside the system's temporary directory. */
import { spawnSync } from "node:child_process";
import { chownSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Relative path → content. Directories on the way are made. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

export type TempDir = AsyncDisposable & {
  /** Absolute real path. */
  readonly path: string;
  /** Absolute path of something inside. */
  at(...parts: readonly string[]): string;
  write(files: Files): Promise<void>;
  /** Text of a file inside; throws when it is not there. */
  read(path: string): Promise<string>;
  remove(): void;
};

/** Writes files below `directory`. */
export async function writeFiles(directory: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const target = join(directory, path);
    await mkdir(dirname(target), { recursive: true });
    await Bun.write(target, content);
  }
}

/** Makes a new directory; use with `await using`, or call `remove()`. */
export async function tempDir(files: Files = {}): Promise<TempDir> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "thndrs-")));
  await writeFiles(path, files);
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  return {
    path,
    at: (...parts) => join(path, ...parts),
    write: (more) => writeFiles(path, more),
    read: (file) => Bun.file(join(path, file)).text(),
    remove,
    [Symbol.asyncDispose]: async () => remove(),
  };
}

/** Makes `directory` a git repository with everything in it committed, without any configuration of this machine. */
export function initGit(directory: string): void {
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"];
  const env = { PATH: process.env.PATH ?? "", HOME: directory, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };
  for (const command of [
    ["init", "-q", "-b", "main"],
    ["add", "-A"],
    ["commit", "-q", "--allow-empty", "-m", "start"],
  ]) {
    const done = spawnSync("git", [...identity, ...command], { cwd: directory, env, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`git ${command[0]}: ${done.error?.message ?? done.stderr}`);
  }
}

/** Gives a tree to another user; for tests whose child runs without root's powers. */
export function giveTo(directory: string, uid: number): void {
  chownSync(directory, uid, uid);
  for (const entry of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    const path = join(directory, entry);
    if (!lstatSync(path).isSymbolicLink()) chownSync(path, uid, uid);
  }
}
