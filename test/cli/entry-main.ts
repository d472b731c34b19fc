/** Runs one set-up command in a process of its own, for tests that need its real stdin or a terminal. */
import { UserError } from "../../src/base/user-error.ts";
import { parseArgs } from "../../src/cli/args.ts";
import { runCommand } from "../../src/cli/commands.ts";
import { readEnvironment } from "../../src/config/env.ts";
import { openOutput } from "../../src/ui/output.ts";

const env = readEnvironment();
const controller = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, () => controller.abort(`signal:${name}`));
const output = openOutput({ env, color: "auto" });
try {
  const { command, words, flags } = parseArgs(process.argv.slice(2));
  process.exitCode = await runCommand(command, {
    words,
    flags,
    output,
    env,
    cwd: process.cwd(),
    signal: controller.signal,
  });
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  output.stderr.line(`thndrs: error: ${error.message}`);
  process.exitCode = error.exitCode;
}
await Promise.all([output.stdout.flush(), output.stderr.flush()]);
