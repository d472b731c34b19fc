/** `--help`, derived from the one table. Refuses: topics (help.ts). */
import { COMMANDS, type FlagSpec, findCommand, flagsOf } from "./flags.ts";

function flagLabel(flag: FlagSpec): string {
  const value = flag.value === undefined ? "" : ` ${flag.value}`;
  return `${flag.short ? `-${flag.short}, ` : "    "}--${flag.name}${value}`;
}

function flagLines(flags: readonly FlagSpec[]): string[] {
  const width = Math.min(34, Math.max(...flags.map((flag) => flagLabel(flag).length)));
  return flags.map((flag) => {
    const choices = flag.choices ? ` (${flag.choices.join("|")})` : "";
    const label = flagLabel(flag);
    const gap = label.length > width ? `\n${" ".repeat(width + 4)}` : " ".repeat(width - label.length + 2);
    const also = flag.aliases ? ` (also --${flag.aliases.join(", --")})` : "";
    return `  ${label}${gap}${flag.help}${choices}${also}`;
  });
}

const RUN_USAGE = `thndrs [options] [prompt…]          talk on a terminal (a prompt is submitted first)
  thndrs -p [options] [prompt]       answer one prompt and exit
  … | thndrs [-p] [prompt]           piped text is the prompt, or is appended to it`;

/** Help of the program (`command` is "") or of one subcommand. */
export function usageText(command: string): string {
  const spec = findCommand(command);
  if (spec) {
    return [
      `Usage: thndrs ${spec.usage}`,
      "",
      `  ${spec.help}`,
      "",
      "Options:",
      ...flagLines(flagsOf(command)),
      ...(spec.topic === undefined ? [] : ["", `More: thndrs help ${spec.topic}`]),
    ].join("\n");
  }
  const width = Math.max(...COMMANDS.map((entry) => entry.name.length));
  return [
    "thndrs – a pair programmer for your terminal and your CI",
    "",
    "Usage:",
    `  ${RUN_USAGE}`,
    "",
    "Options:",
    ...flagLines(flagsOf("")),
    "",
    "Commands:",
    ...COMMANDS.map((entry) => `  ${entry.name.padEnd(width)}  ${entry.help}`),
    "",
    "A prompt that looks like an option follows --.  More: thndrs help",
  ].join("\n");
}
