/**
 * The entry: argv in, exit code out. Says the version by itself, since that needs nothing else of the program (a third of the
 * time a start takes, measured), and leaves the rest to program.ts. Refuses: everything else.
 */
import { version } from "./app/version.ts";
import { openOutput } from "./ui/output.ts";

/** `thndrs --version`; false when the text was lost, which the program can explain. */
async function saidVersion(): Promise<boolean> {
  const { stdout } = openOutput({ env: {}, color: "never" });
  stdout.line(`thndrs ${version}`);
  await stdout.flush();
  return !stdout.lost;
}

async function main(argv: readonly string[]): Promise<void> {
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V") && (await saidVersion())) return;
  // Lazy door: everything else.
  const { runProgram } = await import("./program.ts");
  await runProgram(argv, (code) => {
    process.exitCode = code;
  });
}

await main(process.argv.slice(2));
