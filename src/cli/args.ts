/**
 * argv → what was asked for. Bad usage ends here as a UserError (exit 2) that names the nearest valid word.
 * Refuses: reading stdin, files or the environment.
 */
import { durationMs } from "../base/duration.ts";
import { nearestWord } from "../base/nearest.ts";
import { UserError } from "../base/user-error.ts";
import { FLAGS, type FlagSpec, findCommand, goesWith } from "./flags.ts";

/** Every flag's value. Durations are milliseconds. Absent means not given. */
export type Flags = {
  readonly print?: boolean;
  readonly cwd?: string;
  readonly model?: string;
  readonly reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh";
  readonly outputFormat?: "text" | "json" | "stream-json";
  readonly continue?: boolean;
  readonly resume?: string;
  readonly sessionDir?: string;
  readonly ephemeral?: boolean;
  readonly maxTurns?: number;
  readonly timeout?: number;
  readonly maxCost?: number;
  readonly authority?: "read-only" | "workspace-write";
  readonly allowTool?: readonly string[];
  readonly denyTool?: readonly string[];
  readonly pin?: readonly string[];
  readonly noContext?: boolean;
  readonly noMcp?: boolean;
  readonly skillDir?: readonly string[];
  readonly stdin?: "auto" | "ignore" | "require";
  readonly stdinWait?: number;
  readonly stdinMaxBytes?: number;
  readonly outputSchema?: string;
  readonly lastMessage?: string;
  readonly printPrompt?: boolean;
  readonly record?: string;
  readonly replay?: string;
  readonly capture?: string;
  readonly trustProject?: boolean;
  readonly color?: "auto" | "always" | "never";
  readonly verbose?: boolean;
  readonly quiet?: boolean;
  readonly help?: boolean;
  readonly version?: boolean;
  readonly json?: boolean;
  readonly format?: "json" | "jsonl" | "text" | "markdown" | "html";
  readonly output?: string;
  readonly olderThan?: number;
  readonly keep?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly limit?: number;
  readonly session?: string;
  readonly by?: "session" | "model" | "day";
  readonly show?: boolean;
  readonly online?: boolean;
  readonly list?: boolean;
  readonly revoke?: boolean;
  readonly project?: boolean;
  readonly command?: string;
  readonly arg?: readonly string[];
  readonly env?: readonly string[];
  readonly url?: string;
  readonly header?: readonly string[];
  readonly args?: string;
  readonly prompt?: string;
};

/** What was typed: a run (`command` is "") with its prompt, or a subcommand with its words. */
export type Parsed = {
  readonly command: string;
  /** Words after the command's own name, verb included; for a run: the prompt's words. */
  readonly words: readonly string[];
  readonly flags: Flags;
  /** A lone `-` stood among the words of a run, before any `--`: wait for stdin however long it takes. */
  readonly dash: boolean;
};

type Value = boolean | string | number | string[];

function usage(message: string): UserError {
  return new UserError(message);
}

/** `output-format` → `outputFormat`. */
function keyOf(name: string): string {
  const [first = "", ...rest] = name.split("-");
  return rest.reduce((key, word) => key + word.charAt(0).toUpperCase() + word.slice(1), first);
}

/** The flags that were given and that only print mode heeds, as they are typed. */
export function printOnly(flags: Flags): readonly string[] {
  return FLAGS.flatMap((flag) => (flag.printOnly && keyOf(flag.name) in flags ? [`--${flag.name}`] : []));
}

function convert(flag: FlagSpec, raw: string): Value {
  const named = `--${flag.name}`;
  switch (flag.kind) {
    case "integer": {
      const number = Number(raw);
      if (!/^\d+$/.test(raw) || !Number.isSafeInteger(number) || number < 1)
        throw usage(`${named} takes a whole number from 1 up, not "${raw}"`);
      return number;
    }
    case "number": {
      const number = Number(raw);
      if (raw.trim() === "" || !Number.isFinite(number) || number <= 0)
        throw usage(`${named} takes a number above 0, not "${raw}"`);
      return number;
    }
    case "duration": {
      const duration = durationMs(raw);
      if (duration === undefined || duration <= 0)
        throw usage(`${named} takes a duration such as 90s, 10m or 1h30m, not "${raw}"`);
      return duration;
    }
    case "choice": {
      if (flag.choices?.includes(raw)) return raw;
      const near = nearestWord(raw, flag.choices ?? []);
      throw usage(`${named} takes one of ${flag.choices?.join(", ")}, not "${raw}"${near ? `; did you mean "${near}"?` : ""}`);
    }
    default:
      if (raw === "" && !flag.mayBeEmpty)
        throw usage(`${named} needs a value that is not empty: ${named} ${flag.value ?? "VALUE"}`);
      return raw;
  }
}

type Token =
  | { readonly kind: "word"; readonly text: string /** Behind `--`. */; readonly literal?: true }
  | { readonly kind: "flag"; readonly flag: FlagSpec; readonly value?: string };

const byName = (name: string): FlagSpec | undefined => FLAGS.find((flag) => flag.name === name || flag.aliases?.includes(name));

function unknownFlag(text: string): UserError {
  const name = text.replace(/^-+/, "").split("=")[0] ?? "";
  // One letter is near to everything.
  const near =
    name.length < 2
      ? undefined
      : nearestWord(
          name,
          FLAGS.flatMap((flag) => [flag.name, ...(flag.aliases ?? [])]),
        );
  return usage(
    `unknown option ${text}${near ? `; did you mean --${near}?` : ""}\nA prompt that looks like an option follows --: thndrs -p -- "${text}"`,
  );
}

/** Splits argv into flags with their values and words. `--` ends the flags. */
function tokenize(argv: readonly string[]): Token[] {
  const tokens: Token[] = [];
  for (let index = 0; index < argv.length; index++) {
    const text = argv[index] ?? "";
    if (text === "--") {
      for (const rest of argv.slice(index + 1)) tokens.push({ kind: "word", text: rest, literal: true });
      break;
    }
    if (!text.startsWith("-") || text === "-") {
      tokens.push({ kind: "word", text });
      continue;
    }
    const take = (flag: FlagSpec, inline: string | undefined, as: string): void => {
      if (flag.kind === "boolean") {
        if (inline !== undefined) throw usage(`${as} takes no value`);
        tokens.push({ kind: "flag", flag });
        return;
      }
      const value = inline ?? argv[++index];
      if (value === undefined) throw usage(`${as} needs a value: ${as} ${flag.value}`);
      tokens.push({ kind: "flag", flag, value });
    };
    if (text.startsWith("--")) {
      const equals = text.indexOf("=");
      const flag = byName(equals < 0 ? text.slice(2) : text.slice(2, equals));
      if (!flag) throw unknownFlag(text);
      take(flag, equals < 0 ? undefined : text.slice(equals + 1), `--${flag.name}`);
      continue;
    }
    // Bundled short flags: the last one may take a value, attached or as the next argument.
    for (let at = 1; at < text.length; at++) {
      const flag = FLAGS.find((candidate) => candidate.short === text[at]);
      if (!flag) throw unknownFlag(text);
      if (flag.kind === "boolean") {
        take(flag, undefined, `-${flag.short}`);
        continue;
      }
      take(flag, at + 1 < text.length ? text.slice(at + 1) : undefined, `-${flag.short}`);
      break;
    }
  }
  return tokens;
}

function misplaced(flag: FlagSpec, command: string, verb: string | undefined): UserError {
  const name = `--${flag.name}`;
  if (command === "") return usage(`${name} does not go with a prompt`);
  if (verb === undefined || !goesWith(flag, command)) return usage(`${name} does not go with "thndrs ${command}"`);
  const places = (flag.on ?? []).filter((place) => place.startsWith(`${command} `)).map((place) => `"thndrs ${place}"`);
  return usage(`${name} does not go with "thndrs ${command} ${verb}"; it goes with ${places.join(places.length > 2 ? ", " : " and ")}`);
}

/** `verb` where it is known: the first of a command's where none is given. */
function collect(tokens: readonly Token[], command: string, verb?: string): Flags {
  const flags: Record<string, Value> = {};
  for (const token of tokens) {
    if (token.kind !== "flag") continue;
    const { flag } = token;
    if (!goesWith(flag, command, verb)) throw misplaced(flag, command, verb);
    const key = keyOf(flag.name);
    const value: Value = token.value === undefined ? true : convert(flag, token.value);
    if (flag.kind === "list") {
      const list = flags[key];
      if (Array.isArray(list)) list.push(String(value));
      else flags[key] = [String(value)];
      continue;
    }
    if (key in flags && flag.kind !== "boolean") throw usage(`--${flag.name} is given twice`);
    flags[key] = value;
  }
  return flags as Flags;
}

/** Rules between flags (each pair that cannot mean anything together). */
function checkTogether(flags: Flags): void {
  if (flags.print && flags.help) {
    throw usage(
      '-p and --help do not go together: run "thndrs --help" for help, or \'thndrs -p -- "--help"\' to send it as a prompt',
    );
  }
  if (flags.print && flags.version) {
    throw usage(
      '-p and --version do not go together: run "thndrs --version", or \'thndrs -p -- "--version"\' to send it as a prompt',
    );
  }
  if (flags.continue && flags.resume) throw usage("--continue and --resume both choose a session: give one of them");
  if (flags.ephemeral && (flags.continue || flags.resume))
    throw usage("--ephemeral keeps no session, so there is none to go on with");
  if (flags.ephemeral && flags.sessionDir) throw usage("--ephemeral keeps no session, so --session-dir has nothing to hold");
  if (flags.verbose && flags.quiet) throw usage("--verbose and --quiet contradict each other");
  if (flags.json && flags.format && flags.format !== "json")
    throw usage(`--json and --format ${flags.format} contradict each other`);
  if (flags.json && flags.show) throw usage("--json and --show ask for two kinds of output: give one of them");
  if (flags.replay && flags.capture) throw usage("--replay makes no requests, so --capture has nothing to hold");
  if (flags.replay && flags.model) throw usage("--replay plays a recorded model, so --model has nothing to choose");
}

type Word = Extract<Token, { readonly kind: "word" }>;

/** A lone `-` asks for stdin; behind `--` it is a word like any other. */
const asksForStdin = ({ text, literal }: Word): boolean => text === "-" && !literal;

function run(said: readonly Word[], flags: Flags): Parsed {
  const dash = said.some(asksForStdin);
  if (flags.stdin === "ignore" && dash) throw usage("- asks for stdin, and --stdin ignore leaves it alone: give one of them");
  return { command: "", words: said.filter((word) => !asksForStdin(word)).map((word) => word.text), flags, dash };
}

/** `sessions resume ID [prompt…]` is a run: the same as `--resume ID [prompt…]`. */
function resumeRun([id, ...prompt]: readonly Word[], flags: Flags): Parsed {
  if (id === undefined) throw usage("usage: thndrs sessions resume ID [prompt…]");
  if (flags.resume !== undefined) throw usage("--resume is given twice");
  const resumed = { ...flags, resume: id.text };
  checkTogether(resumed);
  return run(prompt, resumed);
}

/**
 * Parses argv (without the program's own name).
 * @throws UserError (exit 2) for unknown or misplaced flags, bad values, unknown verbs.
 */
export function parseArgs(argv: readonly string[]): Parsed {
  const tokens = tokenize(argv);
  const said = tokens.filter((token) => token.kind === "word");
  const words = said.map((token) => token.text);
  const printing = tokens.some((token) => token.kind === "flag" && token.flag.name === "print");
  const [first] = said;
  // What stands behind `--` names no command; a command before it takes it as its own words.
  const command = printing || first === undefined || first.literal ? undefined : findCommand(first.text);
  const rest = words.slice(1);
  if (command?.name === "sessions" && rest[0] === "resume") return resumeRun(said.slice(2), collect(tokens, ""));
  const verb = rest[0] === undefined ? command?.verbs?.[0] : command?.verbs?.find((one) => one === rest[0]);
  const flags = collect(tokens, command?.name ?? "", verb);
  checkTogether(flags);
  if (!command) return run(said, flags);
  if (command.verbs && rest[0] !== undefined && !command.verbs.includes(rest[0])) {
    const near = nearestWord(rest[0], command.verbs);
    throw usage(
      `unknown command "thndrs ${command.name} ${rest[0]}"${near ? `; did you mean "${near}"?` : ""}\nIt is one of: ${command.verbs.join(", ")}`,
    );
  }
  return { command: command.name, words: rest, flags, dash: false };
}
