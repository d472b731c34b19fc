/**
 * What is left of a bug for whoever mends it: a file in the state directory, written when `-v` asks for more (cli.md, exit 70).
 * Refuses: prompts, arguments, the environment.
 */
import { join } from "node:path";
import { commit, version } from "../app/version.ts";
import { writeOwnFile } from "../base/files.ts";
import { randomHex } from "../base/random.ts";
import { redact } from "../base/redact.ts";
import { findHomes } from "../config/homes.ts";

/** Its absolute path; undefined where it could not be written. Never throws. */
export async function writeCrashReport(
  error: unknown,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const now = new Date();
  const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const text = `thndrs ${version} (${commit}), bun ${Bun.version}, ${process.platform} ${process.arch}\n${now.toISOString()}\n\n${told}\n`;
  try {
    const { state } = findHomes(env, env.PWD ?? "/");
    if (state === undefined) return undefined;
    const stamp = now.toISOString().replace(/[-:]/g, "").slice(0, 15);
    const path = join(state, "crashes", `crash-${stamp}-${randomHex(2)}.txt`);
    return (await writeOwnFile(path, redact(text), 0o600)).ok ? path : undefined;
  } catch {
    return undefined;
  }
}
