/** A command's context with captured output, in a throw-away home and workspace. */
import type { ExitCode } from "../../src/base/user-error.ts";
import { parseArgs } from "../../src/cli/args.ts";
import type { CommandContext, RunCommand } from "../../src/cli/command.ts";
import type { OutputStream } from "../../src/ui/output.ts";
import { makePlace, type Place } from "../config/place.ts";

export type Played = { readonly code: ExitCode; readonly stdout: string; readonly stderr: string };

export type Stage = Place & {
  /**
   * Runs `command` with argv as it would be typed (`["config", "show", "--json"]`). `onLine` sees stdout as it comes.
   */
  play(
    command: RunCommand,
    argv: readonly string[],
    env?: Record<string, string>,
    onLine?: (line: string) => void,
  ): Promise<Played>;
};

function captured(onLine?: (line: string) => void): OutputStream & { readonly text: () => string } {
  const parts: string[] = [];
  const write = (text: string | Uint8Array): void => {
    parts.push(typeof text === "string" ? text : new TextDecoder().decode(text));
  };
  return {
    isTerminal: false,
    color: false,
    columns: 80,
    rows: 24,
    broken: undefined,
    lost: false,
    write,
    line: (text) => {
      write(`${text}\n`);
      onLine?.(text);
    },
    flush: async () => undefined,
    onBroken: () => undefined,
    onResize: () => () => undefined,
    writeNow: write,
    prepare: () => undefined,
    hurry: () => undefined,
    busy: false,
    text: () => parts.join(""),
  };
}

export function makeStage(): Stage {
  const place = makePlace();
  return Object.assign(place, {
    async play(command: RunCommand, argv: readonly string[], env: Record<string, string> = {}, onLine?: (line: string) => void) {
      const parsed = parseArgs(argv);
      const [stdout, stderr] = [captured(onLine), captured()];
      const context: CommandContext = {
        words: parsed.words,
        flags: parsed.flags,
        output: { stdout, stderr },
        env: { THNDRS_HOME: place.home, PATH: process.env.PATH ?? "", ...env },
        cwd: place.root,
        signal: new AbortController().signal,
      };
      const code = await command(context);
      return { code, stdout: stdout.text(), stderr: stderr.text() };
    },
  });
}
