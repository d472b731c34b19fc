/** `thndrs tools [--json]`: the built-in tools, for a person or exactly as a provider gets them. Refuses: running them. */
import { EXIT, type ExitCode } from "../base/user-error.ts";
import { effectOf, toolSpecs } from "../tools/registry.ts";
import type { ToolSpec } from "../types/message.ts";
import type { CommandContext } from "./command.ts";

/** Prints the catalog; never fails. */
export async function runTools(context: CommandContext): Promise<ExitCode> {
  const { stdout } = context.output;
  const specs = toolSpecs();
  if (context.flags.json) stdout.line(JSON.stringify(specs, null, 2));
  else if (stdout.isTerminal) stdout.write(table(specs, stdout.columns));
  else for (const spec of specs) stdout.line(`${spec.name}\t${effectOf(spec.name)}\t${inputsOf(spec)}\t${purpose(spec)}`);
  await stdout.flush();
  return EXIT.ok;
}

function table(specs: readonly ToolSpec[], columns: number): string {
  const width = Math.max(...specs.map((spec) => spec.name.length));
  const indent = " ".repeat(width + 9);
  const room = Math.max(20, columns - indent.length);
  const rows = specs.flatMap((spec) => {
    const [first = "", ...more] = [...wrap(purpose(spec), room), ...wrap(inputsOf(spec), room)];
    return [
      `${spec.name.padEnd(width)}  ${(effectOf(spec.name) ?? "").padEnd(5)}  ${first}`,
      ...more.map((line) => indent + line),
    ];
  });
  return `${rows.join("\n")}\n`;
}

/** The first sentence, without the name it begins with. */
function purpose(spec: ToolSpec): string {
  return (/^.*?[.](?=\s|$)/s.exec(spec.description)?.[0] ?? spec.description).slice(spec.name.length).trim();
}

/** Field names, required ones marked as in the specification: `pattern* path glob`. */
function inputsOf(spec: ToolSpec): string {
  const { properties, required } = spec.parameters;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  return names.map((name) => (needed.includes(name) ? `${name}*` : name)).join(" ");
}

function wrap(text: string, room: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
