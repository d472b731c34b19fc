/**
 * Which paths a command touches (C4 "By tool touch"): its directory, argv words that name existing paths, and the
 * directories a `sh -c` script changes to, hop by hop. Refuses: anything outside the workspace, guessing at expansions.
 */
import { statSync } from "node:fs";
import { basename, isAbsolute, join } from "node:path";
import { markOf, type ShellToken, type ShellWord, tokenize } from "./shell-words.ts";
import type { ToolContext, TouchedPath } from "./tool.ts";

type Context = Pick<ToolContext, "workspace" | "env">;

const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "dash", "zsh", "ksh", "ash"]);
/** Shell options that take the next word. */
const WITH_VALUE = /^(?:[-+][a-zA-Z]*[oO]|--rcfile|--init-file)$/;
/** Words before a command's name. */
const PREFIXES: ReadonlySet<string> = new Set("if then else elif while until do ! { time command builtin exec".split(" "));
const REDIRECTIONS: ReadonlySet<string> = new Set(["<", ">", ">>", "<<", "<<-", "<<<", ">&", "<&", ">|", "<>", "&>", "&>>"]);

/** Ends the last command of a script. */
const END: ShellToken = { kind: "operator", text: "\n" };

const MAX_WORDS = 256;
const MAX_PATH_CHARS = 4096;
const MAX_SCRIPT_CHARS = 65_536;
const MAX_DEPTH = 4;

/** Touched paths of `argv` run in `cwd` (absolute, inside the workspace), each once, `cwd` first. */
export async function findTouched(argv: readonly string[], cwd: string, context: Context): Promise<TouchedPath[]> {
  const touched: TouchedPath[] = [{ path: cwd, kind: "cwd" }];
  for (const word of pathWords(argv)) {
    const path = await provePath(word, cwd, context);
    if (path !== undefined) touched.push({ path, kind: "argument" });
  }
  const follower = new ScriptFollower(context, (path) => touched.push({ path, kind: "cwd" }));
  for (const script of shellScripts(argv)) await follower.follow(script, cwd, 0);
  return mergeTouched(touched, []);
}

/** Both lists, each path and kind once, in order. */
export function mergeTouched(first: readonly TouchedPath[], second: readonly TouchedPath[]): TouchedPath[] {
  const seen = new Map<string, TouchedPath>();
  for (const each of [...first, ...second]) {
    const key = `${each.kind}\0${each.path}`;
    if (!seen.has(key)) seen.set(key, each);
  }
  return [...seen.values()];
}

/** Words that may name a path: arguments, the program when written as a path, and values of `--option=value`. */
function pathWords(argv: readonly string[]): string[] {
  const words: string[] = [];
  for (const [index, word] of argv.slice(0, MAX_WORDS).entries()) {
    if (word === "" || word.length > MAX_PATH_CHARS || word.includes("\0") || word.includes("\n")) continue;
    if (index === 0 && !word.includes("/")) continue;
    const value = /^--?[\w-]+=(.+)$/.exec(word)?.[1];
    if (value !== undefined) words.push(value);
    else if (!word.startsWith("-")) words.push(word);
  }
  return words;
}

/** Scripts given to a shell anywhere in the words: `sh -c S`, `bash -lc S`, `timeout 5 zsh -e -c S`. */
export function shellScripts(argv: readonly string[]): string[] {
  const scripts: string[] = [];
  for (const [index, word] of argv.entries()) {
    if (!SHELLS.has(basename(word))) continue;
    const script = scriptAfter(argv, index + 1);
    if (script !== undefined) scripts.push(script);
  }
  return scripts;
}

function scriptAfter(argv: readonly string[], from: number): string | undefined {
  let command = false;
  for (let at = from; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (word === "--" || word === "-") return command ? argv[at + 1] : undefined;
    if (!/^[-+]/.test(word)) return command ? word : undefined;
    if (/^-[a-zA-Z]*c/.test(word)) command = true;
    if (WITH_VALUE.test(word)) at++;
  }
  return undefined;
}

/** The real path of an existing file or directory inside the workspace. */
async function provePath(word: string, directory: string, context: Context): Promise<string | undefined> {
  const resolved = await context.workspace.resolve(isAbsolute(word) ? word : join(directory, word));
  return resolved.ok && resolved.exists ? resolved.path : undefined;
}

/** Where a script stands, also outside the workspace; `undefined` is somewhere unknown. */
type Standing = { directory: string | undefined; previous: string | undefined; readonly stack: (string | undefined)[] };

/** `missing`: known not to be there, so `cd` fails and the script stays where it is. */
type Target = { readonly directory: string | undefined; readonly inside: boolean } | "missing";

const UNKNOWN: Target = { directory: undefined, inside: false };

class ScriptFollower {
  private readonly context: Context;
  private readonly report: (directory: string) => void;

  constructor(context: Context, report: (directory: string) => void) {
    this.context = context;
    this.report = report;
  }

  async follow(script: string, directory: string | undefined, depth: number): Promise<void> {
    if (depth > MAX_DEPTH || script.length > MAX_SCRIPT_CHARS) return;
    let standing: Standing = { directory, previous: undefined, stack: [] };
    const outer: Standing[] = [];
    let command: ShellWord[] = [];
    let skipWord = false;
    // What the last command said, where we know it: `cd gone && cd sub` never reaches the second one.
    let succeeded: boolean | undefined;
    let skipCommand = false;
    for (const token of [...tokenize(script), END]) {
      if (token.kind === "word") {
        if (!skipCommand) for (const inner of token.inner) await this.follow(inner, standing.directory, depth + 1);
        if (!skipWord) command.push(token);
        skipWord = false;
        continue;
      }
      skipWord = REDIRECTIONS.has(token.text);
      if (skipWord) {
        dropDescriptor(command);
        continue;
      }
      if (!skipCommand && command.length > 0) succeeded = await this.runCommand(command, standing, depth);
      command = [];
      if (token.text !== "&&" && token.text !== "||") succeeded = undefined;
      skipCommand = (token.text === "&&" && succeeded === false) || (token.text === "||" && succeeded === true);
      if (token.text === "(") outer.push(copyOf(standing));
      if (token.text === ")") standing = outer.pop() ?? standing;
    }
  }

  /** Whether the command succeeded, where that is known. */
  private async runCommand(words: readonly ShellWord[], standing: Standing, depth: number): Promise<boolean | undefined> {
    const start = words.findIndex((word) => !isPrefix(word));
    const [name, ...operands] = start < 0 ? [] : words.slice(start);
    if (name === undefined) return undefined;
    if (name.text === "cd" || name.text === "pushd") return this.change(name.text, operands, standing);
    if (name.text === "popd") {
      standing.previous = standing.directory;
      standing.directory = standing.stack.pop();
      return undefined;
    }
    const known = words.map((word) => (word.known ? word.text : ""));
    for (const script of shellScripts(known)) await this.follow(script, standing.directory, depth + 1);
    return undefined;
  }

  private async change(name: "cd" | "pushd", operands: readonly ShellWord[], standing: Standing): Promise<boolean | undefined> {
    const operand = operands.find((word) => word.quoted || !/^(?:-[A-Za-z@]+|--|[-+]\d+)$/.test(word.text));
    if (name === "pushd" && operand === undefined) return undefined;
    const target = await this.targetOf(operand, standing);
    if (target === "missing") return false;
    if (name === "pushd") standing.stack.push(standing.directory);
    standing.previous = standing.directory;
    standing.directory = target.directory;
    if (target.directory === undefined) return undefined;
    if (target.inside) this.report(target.directory);
    return true;
  }

  private async targetOf(operand: ShellWord | undefined, standing: Standing): Promise<Target> {
    const home = this.context.env.HOME;
    if (operand === undefined) return this.look(home);
    if (!operand.known) return UNKNOWN;
    if (operand.text === "-" && !operand.quoted) return this.look(standing.previous);
    const values: Readonly<Record<string, string | undefined>> = {
      HOME: home,
      PWD: standing.directory,
      OLDPWD: standing.previous,
    };
    let text = operand.text;
    if (!operand.quoted && (text === "~" || text.startsWith("~/"))) text = markOf("HOME") + text.slice(1);
    for (const [variable, value] of Object.entries(values)) {
      if (!text.includes(markOf(variable))) continue;
      if (value === undefined) return UNKNOWN;
      text = text.replaceAll(markOf(variable), value);
    }
    if (text.includes("\0") || text.length > MAX_PATH_CHARS) return UNKNOWN;
    if (isAbsolute(text)) return this.look(text);
    return standing.directory === undefined ? UNKNOWN : this.look(join(standing.directory, text));
  }

  private async look(path: string | undefined): Promise<Target> {
    if (path === undefined) return UNKNOWN;
    const resolved = await this.context.workspace.resolve(path);
    const directory = resolved.ok ? resolved.path : path;
    return isDirectory(directory) ? { directory, inside: resolved.ok } : "missing";
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function isPrefix(word: ShellWord): boolean {
  return !word.quoted && (PREFIXES.has(word.text) || /^[A-Za-z_]\w*\+?=/.test(word.text));
}

/** `2>file`: the number belongs to the redirection, not to the command. */
function dropDescriptor(command: ShellWord[]): void {
  const last = command.at(-1);
  if (last && !last.quoted && /^\d$/.test(last.text)) command.pop();
}

function copyOf(standing: Standing): Standing {
  return { ...standing, stack: [...standing.stack] };
}
