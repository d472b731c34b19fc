/**
 * The commands that a command line runs, as far as a small tokenizer can tell: through shells, prefixes like `sudo`, lists and
 * substitutions. For patterns that forbid: in doubt a command too many. Refuses: being a sandbox (variables, functions, files).
 */

/** Prefixes that run the command behind them. */
const PREFIXES =
  /^(?:busybox|builtin|chroot|command|coproc|doas|env|exec|ionice|nice|nohup|setsid|stdbuf|sudo|time|timeout|xargs)$/;
/** Their first operand is not the command. */
const OPERANDS = /^(?:chroot|timeout)$/;
const SHELLS = /^(?:a|ba|da|fi|k|mk|z)?sh$/;
const KEYWORDS = /^(?:!|\{|\}|do|elif|else|if|then|time|until|while)$/;
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;
/** Shells in shells. */
const MOST_DEPTH = 5;
/** Prefixes before prefixes, and the ways to read one. */
const MOST_ENDS = 12;
const MOST_TAILS = 3;

type Found = { readonly commands: (readonly string[])[]; readonly scripts: string[] };

/** Every command of the line, the line itself first, and the scripts it hands to a shell. */
export function commandsOf(argv: readonly string[]): Found {
  const found: Found = { commands: [], scripts: [] };
  collect(argv, MOST_DEPTH, found);
  return found;
}

function collect(argv: readonly string[], depth: number, found: Found): void {
  // Each is an end of the line.
  const ends = new Map([[argv.length, argv]]);
  for (const words of ends.values()) {
    found.commands.push(words);
    const start = words.findIndex((word) => !ASSIGNMENT.test(word) && !KEYWORDS.test(word));
    const [program = "", ...rest] = words;
    const name = baseName(program);
    const tails = start > 0 ? [words.slice(start)] : PREFIXES.test(name) ? tailsOf(name, words) : [];
    if (ends.size < MOST_ENDS) for (const tail of tails) ends.set(tail.length, tail);
    const script = SHELLS.test(name) ? scriptOf(rest) : name === "eval" ? rest.join(" ") : undefined;
    if (script === undefined || depth === 0) continue;
    found.scripts.push(script.trim());
    for (const inner of simpleCommands(script)) collect(inner, depth - 1, found);
  }
}

export function baseName(program: string): string {
  return program.slice(program.lastIndexOf("/") + 1);
}

/** What a prefix runs. Behind an option a word may be its value or the command: both are taken. */
function tailsOf(name: string, words: readonly string[]): string[][] {
  const tails: string[][] = [];
  let isValue = OPERANDS.test(name);
  for (const [at, word] of words.entries()) {
    if (at === 0 || ASSIGNMENT.test(word)) continue;
    if (word.startsWith("-")) isValue = word !== "--";
    else {
      tails.push(words.slice(at));
      if (!isValue || tails.length === MOST_TAILS) break;
      isValue = false;
    }
  }
  return tails;
}

/** The text behind `-c`, which may stand among other options (`-ec`, `-o pipefail -c`). */
function scriptOf(words: readonly string[]): string | undefined {
  let isScript = false;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (/^[-+][A-Za-z]*[oO]$/.test(word)) at++;
    if (/^-[A-Za-z]*c[A-Za-z]*$/.test(word)) isScript = true;
    if (isScript && !/^[-+]/.test(word)) return word;
    if (!isScript && !/^[-+]/.test(word) && !/^[-+][A-Za-z]*[oO]$/.test(words[at - 1] ?? "")) return undefined;
  }
  return undefined;
}

/** The simple commands of a script as words without their quotes. Redirections are left out. */
export function simpleCommands(script: string): string[][] {
  const read = new Script(script, true);
  const sure = read.commands();
  // Here-documents and quotes without an end: what looks quoted may be a command.
  if (!read.open && !script.includes("<<")) return sure;
  return [...sure, ...new Script(script, false).commands()];
}

const BREAKS = /[;&|()\n`]/;

/** One pass over a script. */
class Script {
  readonly #text: string;
  readonly #quotes: boolean;
  readonly #found: string[][] = [];
  /** What was open around each substitution. */
  readonly #outer: string[] = [];
  #words: string[] = [];
  /** Undefined between words. */
  #word: string | undefined;
  #quote = "";
  #isTarget = false;
  #at = 0;

  constructor(text: string, quotes: boolean) {
    this.#text = text;
    this.#quotes = quotes;
  }

  /** A quote has no end. */
  get open(): boolean {
    return this.#quote !== "";
  }

  commands(): string[][] {
    for (; this.#at < this.#text.length; this.#at++) this.#take(this.#text[this.#at] ?? "", this.#text[this.#at + 1] ?? "");
    this.#endCommand();
    return this.#found;
  }

  #take(character: string, next: string): void {
    if (this.#quote === "'") {
      if (character === "'") this.#quote = "";
      else this.#add(character);
    } else if (character === "\\") {
      this.#at++;
      if (next !== "\n") this.#add(next);
    } else if (character === "$" && next === "(") {
      this.#at++;
      this.#enter();
    } else if (character === ")" && this.#outer.length > 0) {
      this.#endCommand();
      this.#quote = this.#outer.pop() ?? "";
    } else if (character === "`") this.#endCommand();
    else if (this.#quote === '"') {
      if (character === '"') this.#quote = "";
      else this.#add(character);
    } else this.#bare(character, next);
  }

  #bare(character: string, next: string): void {
    if (character === "'" || character === '"') {
      if (this.#quotes) this.#quote = character;
      this.#add("");
    } else if (character === "$" && (next === "'" || next === '"')) this.#add("");
    else if (character === "#" && this.#word === undefined) {
      const end = this.#text.indexOf("\n", this.#at);
      this.#at = (end < 0 ? this.#text.length : end) - 1;
    } else if (character === "<" || character === ">") this.#redirect(next);
    else if (character === "(") this.#enter();
    else if (BREAKS.test(character)) this.#endCommand();
    else if (/\s/.test(character)) this.#endWord();
    else this.#add(character);
  }

  #enter(): void {
    this.#endCommand();
    this.#outer.push(this.#quote);
    this.#quote = "";
  }

  /** `2>&1` and `>file` are no words of the command. */
  #redirect(next: string): void {
    if (this.#word !== undefined && /^\d+$/.test(this.#word)) this.#word = undefined;
    this.#endWord();
    this.#isTarget = true;
    if (next === "&" || next === "|") this.#at++;
  }

  #add(text: string): void {
    this.#word = (this.#word ?? "") + text;
  }

  #endWord(): void {
    if (this.#word === undefined) return;
    if (!this.#isTarget) this.#words.push(this.#word);
    this.#isTarget = false;
    this.#word = undefined;
  }

  #endCommand(): void {
    this.#endWord();
    this.#isTarget = false;
    if (this.#words.length > 0) this.#found.push(this.#words);
    this.#words = [];
  }
}
