/**
 * The one table of flags and commands (cli.md). The parser, `--help`, `help`, completions and the documentation test are
 * derived from it. Refuses: parsing, behaviour.
 */
import type { Topic } from "../base/help-topics.ts";

export type FlagKind = "boolean" | "string" | "integer" | "number" | "duration" | "choice" | "list";

export type FlagSpec = {
  readonly name: string;
  readonly short?: string;
  readonly aliases?: readonly string[];
  readonly kind: FlagKind;
  /** Placeholder of the value in help. */
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly help: string;
  /** Commands that take it (`""` is a run: print mode or REPL), or `command verb`. Absent: every command takes it. */
  readonly on?: readonly string[];
  /** Only print mode heeds it: the REPL refuses it. */
  readonly printOnly?: true;
  /** An empty value means something. */
  readonly mayBeEmpty?: true;
};

const RUN = [""] as const;
/** Runs, and sessions that `acp serve` opens. */
const SERVED = ["", "acp serve"] as const;

export const FLAGS: readonly FlagSpec[] = [
  {
    name: "print",
    short: "p",
    kind: "boolean",
    help: "answer one prompt and exit; the answer is all there is on stdout",
    on: RUN,
  },
  { name: "cwd", kind: "string", value: "DIR", help: "work in DIR (the workspace is its git top level)" },
  { name: "model", kind: "string", value: "PROVIDER/ID", help: "the model to use, for example openai/gpt-5.5" },
  {
    name: "reasoning-effort",
    kind: "choice",
    value: "LEVEL",
    choices: ["none", "minimal", "low", "medium", "high", "xhigh"],
    help: "how much the model thinks before it answers",
    on: SERVED,
  },
  {
    name: "output-format",
    kind: "choice",
    value: "FORMAT",
    choices: ["text", "json", "stream-json"],
    help: "what print mode writes: the answer, one JSON object, or one JSON event a line",
    on: RUN,
  },
  { name: "continue", short: "c", kind: "boolean", help: "go on with the latest session of this workspace", on: RUN },
  {
    name: "resume",
    short: "r",
    kind: "string",
    value: "ID",
    help: "go on with session ID (exact, a unique prefix, or latest)",
    on: RUN,
  },
  { name: "session-dir", kind: "string", value: "DIR", help: "keep sessions in DIR" },
  { name: "ephemeral", aliases: ["no-session"], kind: "boolean", help: "keep no session log", on: SERVED },
  { name: "max-turns", kind: "integer", value: "N", help: "stop after N model requests (exit 4)", on: SERVED },
  {
    name: "timeout",
    kind: "duration",
    value: "DURATION",
    help: "print mode: stop after DURATION, for example 90s or 10m (exit 124)",
    on: RUN,
    printOnly: true,
  },
  { name: "max-cost", kind: "number", value: "USD", help: "stop when the run has cost USD (exit 4)", on: RUN },
  {
    name: "authority",
    kind: "choice",
    value: "LEVEL",
    choices: ["read-only", "workspace-write"],
    help: "which tools exist: reading ones only, or all (default workspace-write)",
  },
  {
    name: "allow-tool",
    kind: "list",
    value: "PATTERN",
    help: "only these tools, for example 'run_shell(git status*)'; repeatable",
  },
  { name: "deny-tool", kind: "list", value: "PATTERN", help: "never these tools; wins over --allow-tool; repeatable" },
  {
    name: "pin",
    kind: "list",
    value: "PATH",
    help: "keep the text of PATH, and the instruction files that govern it, in the context; repeatable",
    on: [...SERVED, "context"],
  },
  { name: "no-context", kind: "boolean", help: "load no instruction files", on: [...SERVED, "context"] },
  { name: "no-mcp", kind: "boolean", help: "start no MCP servers", on: SERVED },
  { name: "skill-dir", kind: "list", value: "DIR", help: "also look for skills in DIR; repeatable", on: [...SERVED, "skills"] },
  {
    name: "stdin",
    kind: "choice",
    value: "MODE",
    choices: ["auto", "ignore", "require"],
    help: "what to do with piped input: append it to the prompt, never read it, or wait for its end",
    on: RUN,
    printOnly: true,
  },
  {
    name: "stdin-wait",
    kind: "duration",
    value: "DURATION",
    help: "how long to wait for the first byte of a pipe (default 2s)",
    on: RUN,
    printOnly: true,
  },
  {
    name: "stdin-max-bytes",
    kind: "integer",
    value: "N",
    help: "largest input taken from stdin (default 16 MiB)",
    on: RUN,
    printOnly: true,
  },
  {
    name: "output-schema",
    kind: "string",
    value: "FILE",
    help: "the answer must be JSON that is valid under this JSON Schema",
    on: RUN,
  },
  {
    name: "last-message",
    kind: "string",
    value: "FILE",
    help: "print mode: also write the final answer to FILE",
    on: RUN,
    printOnly: true,
  },
  { name: "print-prompt", kind: "boolean", help: "print what the model would be sent, and send nothing", on: RUN },
  { name: "record", kind: "string", value: "FILE", help: "write the model's side of the run to FILE, for --replay", on: RUN },
  { name: "replay", kind: "string", value: "FILE", help: "play a recorded model: no key, no network, real tools", on: RUN },
  {
    name: "capture",
    kind: "string",
    value: "FILE",
    help: "write raw requests and responses to FILE (credentials removed)",
    on: RUN,
  },
  { name: "trust-project", kind: "boolean", help: "trust this workspace's configuration for this run" },
  {
    name: "color",
    kind: "choice",
    value: "WHEN",
    choices: ["auto", "always", "never"],
    help: "colour on a terminal (default auto)",
  },
  { name: "verbose", short: "v", kind: "boolean", help: "say more on stderr: what was loaded, notes, why a call failed" },
  { name: "quiet", short: "q", kind: "boolean", help: "say only errors on stderr" },
  { name: "help", short: "h", kind: "boolean", help: "show help" },
  { name: "version", short: "V", kind: "boolean", help: "show the version" },
  // Flags of subcommands
  {
    name: "json",
    kind: "boolean",
    help: "machine-readable output",
    on: [
      ...["sessions", "usage", "tools", "context", "models", "doctor", "config path", "config show", "skills", "auth", "trust"],
      ...["list", "status", "trust", "revoke", "test", "tools", "call"].map((verb) => `mcp ${verb}`),
      ...["list", "inspect", "smoke"].map((verb) => `acp ${verb}`),
    ],
  },
  {
    name: "format",
    kind: "choice",
    value: "FORMAT",
    choices: ["json", "jsonl", "text", "markdown", "html"],
    help: "output format of inspect and export",
    on: ["sessions inspect", "sessions export"],
  },
  {
    name: "output",
    short: "o",
    kind: "string",
    value: "FILE",
    help: "write to FILE instead of stdout",
    on: ["sessions inspect", "sessions export"],
  },
  {
    name: "older-than",
    kind: "duration",
    value: "DURATION",
    help: "prune sessions older than DURATION, for example 30d",
    on: ["sessions prune"],
  },
  { name: "keep", kind: "integer", value: "N", help: "prune all but the newest N sessions", on: ["sessions prune"] },
  { name: "dry-run", kind: "boolean", help: "say what would be done, and do nothing", on: ["sessions delete", "sessions prune"] },
  {
    name: "yes",
    short: "y",
    kind: "boolean",
    help: "do not ask",
    on: ["sessions delete", "sessions prune", "mcp trust", "trust"],
  },
  { name: "limit", kind: "integer", value: "N", help: "show at most N", on: ["sessions list", "sessions search", "models"] },
  { name: "session", kind: "string", value: "ID", help: "only this session", on: ["usage", "context"] },
  { name: "by", kind: "choice", value: "KEY", choices: ["session", "model", "day"], help: "group totals by KEY", on: ["usage"] },
  { name: "show", kind: "boolean", help: "print exactly the text the model would get", on: ["context"] },
  { name: "online", kind: "boolean", help: "also ask the configured providers and local servers", on: ["doctor"] },
  { name: "list", kind: "boolean", help: "list what is trusted", on: ["trust"] },
  { name: "revoke", kind: "boolean", help: "take trust back", on: ["trust"] },
  {
    name: "project",
    kind: "boolean",
    help: "the project's file instead of the user's",
    on: ["config path", "config edit", "mcp add", "mcp remove"],
  },
  { name: "command", kind: "string", value: "PROGRAM", help: "program of a stdio MCP server", on: ["mcp add"] },
  {
    name: "arg",
    kind: "list",
    value: "ARG",
    help: "one argument of that program; repeatable",
    on: ["mcp add"],
    mayBeEmpty: true,
  },
  { name: "env", kind: "list", value: "NAME=VALUE", help: "one variable of that program; repeatable", on: ["mcp add"] },
  { name: "url", kind: "string", value: "URL", help: "address of an HTTP MCP server", on: ["mcp add"] },
  { name: "header", kind: "list", value: "NAME=VALUE", help: "one header for that address; repeatable", on: ["mcp add"] },
  { name: "args", kind: "string", value: "JSON", help: "arguments of the tool, as a JSON object", on: ["mcp call"] },
  { name: "prompt", kind: "string", value: "TEXT", help: "the prompt of a smoke test", on: ["acp smoke"] },
];

export type CommandSpec = {
  readonly name: string;
  /** Second words, where the command has any. */
  readonly verbs?: readonly string[];
  readonly usage: string;
  readonly help: string;
  /** Where `thndrs help` says more. */
  readonly topic?: Topic;
};

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: "setup",
    usage: "setup",
    help: "choose a provider, test its key, write the user configuration",
    topic: "getting-started",
  },
  { name: "login", usage: "login PROVIDER", help: "store a provider's key (keychain, or a 0600 file)", topic: "providers" },
  { name: "logout", usage: "logout PROVIDER", help: "forget a stored key", topic: "providers" },
  { name: "auth", verbs: ["status"], usage: "auth status", help: "where each provider's key comes from", topic: "providers" },
  { name: "models", usage: "models [PROVIDER]", help: "list what the configured endpoints serve", topic: "providers" },
  { name: "doctor", usage: "doctor [--json] [--online]", help: "check the installation and say what is missing" },
  {
    name: "config",
    verbs: ["show", "path", "edit"],
    usage: "config path|show|edit",
    help: "configuration files, values and their origins",
    topic: "configuration",
  },
  {
    name: "context",
    usage: "context [PATH…] | context allow PATH | context recover HANDLE",
    help: "which instruction files apply here (or to PATH), and why; with --session, what a session's context held",
    topic: "context",
  },
  { name: "tools", usage: "tools [--json]", help: "list the tools a model gets", topic: "tools" },
  {
    name: "skills",
    verbs: ["list", "doctor"],
    usage: "skills list|doctor",
    help: "list skills and what is wrong with them",
    topic: "skills",
  },
  {
    name: "sessions",
    verbs: ["list", "latest", "show", "inspect", "export", "resume", "rename", "search", "delete", "prune"],
    usage: "sessions list|latest|show|inspect|export|resume|rename|search|delete|prune",
    help: "look at, export and tidy sessions",
    topic: "sessions",
  },
  { name: "usage", usage: "usage [--by session|model|day]", help: "tokens and cost so far", topic: "sessions" },
  {
    name: "mcp",
    verbs: ["list", "status", "trust", "revoke", "test", "tools", "call", "add", "remove", "login"],
    usage: "mcp list|status|trust|revoke|test|tools|call|add|remove|login",
    help: "MCP servers",
    topic: "mcp",
  },
  {
    name: "acp",
    verbs: ["list", "inspect", "smoke", "serve"],
    usage: "acp list|inspect|smoke|serve",
    help: "ACP: serve an editor, or drive other agents",
    topic: "acp",
  },
  {
    name: "trust",
    usage: "trust [--list|--revoke]",
    help: "trust this workspace's configuration as it is now",
    topic: "configuration",
  },
  { name: "completion", verbs: ["bash", "zsh", "fish"], usage: "completion bash|zsh|fish", help: "print a completion script" },
  { name: "help", usage: "help [TOPIC]", help: "read a help topic" },
];

/** The subcommand of that name; `""`, a run, is none. */
export function findCommand(name: string): CommandSpec | undefined {
  return COMMANDS.find((command) => command.name === name);
}

/** Whether a command takes this flag, with this verb or, where none is given, with one of its verbs. */
export function goesWith({ on }: FlagSpec, command: string, verb?: string): boolean {
  if (on === undefined || on.includes(command)) return true;
  return verb === undefined ? on.some((place) => place.startsWith(`${command} `)) : on.includes(`${command} ${verb}`);
}

/** The flags a command takes, in table order. */
export function flagsOf(command: string): readonly FlagSpec[] {
  return FLAGS.filter((flag) => goesWith(flag, command));
}
