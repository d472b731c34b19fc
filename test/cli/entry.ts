/** Starts entry-main.ts with a blank environment. */
import { join } from "node:path";
import type { Stage } from "./stage.ts";

export const entryCommand = [process.execPath, join(import.meta.dir, "entry-main.ts")] as const;

export type EntryRun = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** One command with `stdin` through a pipe. */
export async function runEntry(
  stage: Stage,
  argv: readonly string[],
  options: { readonly stdin?: string; readonly env?: Record<string, string> } = {},
): Promise<EntryRun> {
  const child = Bun.spawn([...entryCommand, ...argv], {
    cwd: stage.root,
    env: { PATH: process.env.PATH ?? "", THNDRS_HOME: stage.home, ...options.env },
    stdin: Buffer.from(options.stdin ?? ""),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}
