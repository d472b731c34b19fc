/**
 * Commands typed into the REPL: one table, from which parsing, help and completion come (repl.md). `when` says whether a
 * command may run beside a turn. To add one, add a row. Refuses: what a command does in detail (slash-*.ts, repl.ts).
 */
import { nearestWord } from "../base/nearest.ts";
import type { Repl } from "./repl.ts";
import { compact, review } from "./slash-compact.ts";
import { context, contextWords } from "./slash-context.ts";
import { background, session, status, tokens } from "./slash-look.ts";
import { showServers } from "./slash-mcp.ts";
import {
  changeDirectory,
  chooseModel,
  chooseReasoning,
  EFFORTS,
  exportSession,
  nameSession,
  newSession,
  resume,
  sessionIds,
} from "./slash-session.ts";
import { pickSkill, skillNames } from "./slash-skills.ts";

export type SlashCommand = {
  readonly name: string;
  readonly usage: string;
  readonly help: string;
  /** `any`: also while a turn runs. */
  readonly when: "any" | "idle";
  run(repl: Repl, words: readonly string[], rest: string): void | Promise<void>;
  /** Words that may stand behind `before`: the command itself, and what is there already. */
  complete?(repl: Repl, before: readonly string[]): readonly string[] | Promise<readonly string[]>;
};

/** What may stand directly after a command, and only there. */
const directly =
  (offer: (repl: Repl) => readonly string[]): NonNullable<SlashCommand["complete"]> =>
  (repl, before) =>
    before.length === 1 ? offer(repl) : [];

/** `/bg cancel ID`. */
function backgroundWords(repl: Repl, before: readonly string[]): readonly string[] {
  if (before.length === 1) return ["cancel"];
  return before.length === 2 && before[1] === "cancel" ? repl.controls.background.list().map((process) => process.id) : [];
}

/** Looking is possible at any time; what changes the context waits for the run's end. */
const CHANGES: ReadonlySet<string> = new Set(["pin", "unpin", "drop", "recover"]);

async function runContext(repl: Repl, words: readonly string[], rest: string): Promise<void> {
  const [verb = ""] = words;
  // What is sent meanwhile finds what was changed.
  if (verb === "review") await repl.hold(review(repl, words));
  else if (!CHANGES.has(verb)) await context(repl, rest);
  else if (repl.running) repl.error(`/context ${verb} has to wait until the run is done (Esc cancels it)`);
  else await repl.hold(context(repl, rest));
}

export const SLASH_COMMANDS: readonly SlashCommand[] = [
  { name: "help", usage: "", help: "commands and keys", when: "any", run: (repl) => repl.say(helpLines()) },
  {
    name: "bg",
    usage: "[cancel ID]",
    help: "background processes",
    when: "any",
    run: background,
    complete: backgroundWords,
  },
  {
    name: "context",
    usage: "[VERB …]",
    help: "the context; VERB: all, item, pin, unpin, drop, recover, review",
    when: "any",
    run: runContext,
    complete: (repl, before) => contextWords(repl, before.slice(1)),
  },
  { name: "tokens", usage: "", help: "tokens and cost of this session", when: "any", run: tokens },
  { name: "status", usage: "", help: "model, workspace, authority", when: "any", run: status },
  { name: "session", usage: "", help: "this session's id and file", when: "any", run: session },
  { name: "quit", usage: "", help: "leave (also Ctrl+D)", when: "any", run: (repl) => repl.quit() },
  { name: "exit", usage: "", help: "the same", when: "any", run: (repl) => repl.quit() },
  { name: "new", usage: "", help: "start a new session", when: "idle", run: newSession },
  {
    name: "resume",
    usage: "[ID]",
    help: "go on with an earlier session",
    when: "idle",
    run: resume,
    complete: directly(sessionIds),
  },
  { name: "name", usage: "TITLE", help: "give this session a title", when: "idle", run: nameSession },
  {
    name: "model",
    usage: "[PROVIDER/ID]",
    help: "another model, same conversation",
    when: "idle",
    run: chooseModel,
    complete: directly((repl) => repl.knownModels()),
  },
  {
    name: "reasoning",
    usage: "[LEVEL]",
    help: "how much the model thinks",
    when: "idle",
    run: chooseReasoning,
    complete: directly(() => EFFORTS),
  },
  {
    name: "skills",
    usage: "[NAME]",
    help: "use a skill with the next message",
    when: "idle",
    run: pickSkill,
    complete: directly(skillNames),
  },
  { name: "mcp", usage: "", help: "MCP servers of this run and their tools", when: "idle", run: showServers },
  { name: "compact", usage: "[GUIDANCE]", help: "summarise the older part of the conversation", when: "idle", run: compact },
  {
    name: "export",
    usage: "[FILE]",
    help: "write this session as Markdown, HTML, JSON or text",
    when: "idle",
    run: exportSession,
  },
  { name: "cd", usage: "DIR", help: "a new session in another directory", when: "idle", run: changeDirectory },
  { name: "clear", usage: "", help: "empty the screen and the queue", when: "idle", run: (repl) => repl.clear() },
  { name: "undo-view", usage: "", help: "show again what /clear took away", when: "idle", run: (repl) => repl.undoClear() },
];

export type ParsedInput =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "command"; readonly command: SlashCommand; readonly words: readonly string[]; readonly rest: string }
  | { readonly kind: "unknown"; readonly name: string; readonly near: string | undefined };

/**
 * What was typed: a command (`/name` or `:name`, one line), or text. `//text` is the text `/text`. A path such as `/usr/bin`
 * is text.
 */
export function parseInput(typed: string): ParsedInput {
  if (typed.startsWith("//")) return { kind: "text", text: typed.slice(1) };
  const match = /^[/:]([a-zA-Z][\w-]*)(?:[ \t]([^\n]*))?$/.exec(typed.trimEnd());
  if (!match) return { kind: "text", text: typed };
  const name = (match[1] ?? "").toLowerCase();
  const command = SLASH_COMMANDS.find((known) => known.name === name);
  const rest = (match[2] ?? "").trim();
  if (command) return { kind: "command", command, rest, words: rest.split(/\s+/).filter((word) => word !== "") };
  return {
    kind: "unknown",
    name,
    near: nearestWord(
      name,
      SLASH_COMMANDS.map((known) => known.name),
    ),
  };
}

/** What to type so that it is sent as this text: a line that would be a command, or lose its first character, is kept from it. */
export function typedFor(text: string): string {
  const parsed = parseInput(text);
  if (parsed.kind === "text" && parsed.text === text) return text;
  // Two colons are text as they stand (`::before`), so a colon has nothing that could be taken off again.
  return text.startsWith("/") ? `/${text}` : ` ${text}`;
}

const KEYS: readonly (readonly [string, string])[] = [
  ["Enter", "send; while something runs: queue"],
  ["Shift+Enter, Ctrl+J, \\ Enter", "a new line"],
  ["Ctrl+T", "Enter queues steering or a follow-up"],
  ["Esc", "cancel the run"],
  ["Ctrl+C", "clear the text, else cancel, else quit"],
  ["Up, Down, Ctrl+R", "history"],
  ["Tab", "complete commands, @paths, $skills, sessions, models"],
  ["Ctrl+G", "write in $EDITOR"],
  ["Ctrl+L", "an empty screen; what was there is in the scrollback"],
  ["Ctrl+Z", "suspend"],
  ["Ctrl+D", "quit, when nothing is typed"],
];

/** What `/help` says. */
export function helpLines(): string[] {
  const rows: (readonly [string, string])[] = SLASH_COMMANDS.map(({ name, usage, help, when }) => [
    `/${name}${usage === "" ? "" : ` ${usage}`}`,
    when === "any" ? help : `${help} *`,
  ]);
  const width = Math.max(...[...rows, ...KEYS].map(([left]) => left.length));
  const line = ([left, right]: readonly [string, string]): string => `  ${left.padEnd(width)}  ${right}`;
  return ["Commands (: works like /, // sends text; * waits for the run's end)", ...rows.map(line), "Keys", ...KEYS.map(line)];
}
