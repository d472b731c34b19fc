/**
 * The Bun runtimes that programs for other machines are made of. Bun would fetch them itself (`--target`), but checks no
 * hash; here they come through `bun install --frozen-lockfile` with the hashes of the project's own bun.lock.
 * Refuses: a runtime of another version than the Bun that compiles.
 */
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../steps.ts";
import { type Lock, readLock } from "./lock.ts";
import type { Target } from "./targets.ts";

/** package.json and bun.lock of a directory that holds these runtimes and nothing else. Throws when the lock lacks one. */
export function runtimeProject(targets: readonly Target[], lock: Lock): { readonly manifest: string; readonly lock: string } {
  const rows = targets.map(({ name, runtime }) => {
    const row = lock.packages[runtime];
    if (row?.[0] !== `${runtime}@${Bun.version}` || !row[3].startsWith("sha512-"))
      throw new Error(`${name}: bun.lock has no hash for ${runtime}@${Bun.version}, the runtime of the Bun that builds`);
    return [runtime, row] as const;
  });
  const dependencies = Object.fromEntries(rows.map(([runtime]) => [runtime, Bun.version]));
  const manifest = { name: "runtimes", private: true, dependencies };
  const own = {
    lockfileVersion: (lock as { lockfileVersion?: number }).lockfileVersion ?? 1,
    workspaces: { "": { name: manifest.name, dependencies } },
    packages: Object.fromEntries(rows),
  };
  return { manifest: JSON.stringify(manifest), lock: JSON.stringify(own, null, 2) };
}

/** Installs the runtimes below `directory`; returns their paths by target name. Needs the registry, or Bun's cache of it. */
export async function fetchRuntimes(targets: readonly Target[], directory: string): Promise<ReadonlyMap<string, string>> {
  const paths = new Map<string, string>();
  if (targets.length === 0) return paths;
  const project = runtimeProject(targets, await readLock());
  await mkdir(directory, { recursive: true });
  await Bun.write(join(directory, "package.json"), project.manifest);
  await Bun.write(join(directory, "bun.lock"), project.lock);
  const everywhere = ["--os=*", "--cpu=*", "--libc=*"];
  const command = [process.execPath, "install", "--frozen-lockfile", "--ignore-scripts", ...everywhere];
  if ((await run(command, { cwd: directory, quiet: true })) !== 0) throw new Error("the runtimes could not be installed");
  for (const { name, runtime, os } of targets) {
    const path = join(directory, "node_modules", runtime, "bin", os === "windows" ? "bun.exe" : "bun");
    await stat(path);
    paths.set(name, path);
  }
  return paths;
}
