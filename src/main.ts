/**
 * The entry: argv in, exit code out. Says the version by itself, since that needs nothing else of the program (a third of the
 * time a start takes, measured), and leaves the rest to program.ts. Refuses: everything else.
 */
import { version } from "./app/version.ts";
import { writeLine } from "./ui/output.ts";

async function main(argv: readonly string[]): Promise<void> {
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V") && (await writeLine(`thndrs ${version}`))) return;
  // Lazy door: everything else.
  const { runProgram } = await import("./program.ts");
  await runProgram(argv, {
    code: (code) => {
      process.exitCode = code;
    },
    now: () => process.exit(),
  });
}

await main(process.argv.slice(2));
