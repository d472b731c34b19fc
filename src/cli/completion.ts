/** `thndrs completion bash|zsh|fish`, derived from the one table of flags and commands. Refuses: installing anything. */

import { TOPICS } from "../base/help-topics.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import type { CommandContext } from "./command.ts";
import { COMMANDS, type CommandSpec, FLAGS, type FlagSpec, flagsOf } from "./flags.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** Values that name a place are completed as one. */
function placeOf(flag: FlagSpec): "files" | "directories" | undefined {
  if (flag.value === "DIR") return "directories";
  return flag.value === "FILE" || flag.value === "PATH" ? "files" : undefined;
}

/** What may follow a command's name. */
const verbsOf = (command: CommandSpec): readonly string[] | undefined => (command.name === "help" ? TOPICS : command.verbs);

const spellings = (flag: FlagSpec): readonly string[] => [
  `--${flag.name}`,
  ...(flag.aliases ?? []).map((alias) => `--${alias}`),
  ...(flag.short ? [`-${flag.short}`] : []),
];

const longFlags = (command: string): string =>
  flagsOf(command)
    .flatMap((flag) => spellings(flag).filter((spelling) => spelling.startsWith("--")))
    .join(" ");

/** Text inside single quotes of a POSIX shell. */
const quote = (text: string): string => text.replaceAll("'", "'\\''");

/** No `mapfile`: the bash of macOS is older than it. */
function bashValues(flag: FlagSpec): string {
  if (flag.choices) return `COMPREPLY=($(compgen -W '${flag.choices.join(" ")}' -- "$cur"))`;
  const place = placeOf(flag);
  return place ? `IFS=$'\\n'; COMPREPLY=($(compgen ${place === "directories" ? "-d" : "-f"} -- "$cur"))` : "COMPREPLY=()";
}

function bash(): string {
  const valued = FLAGS.filter((flag) => flag.kind !== "boolean");
  const values = valued.map((flag) => `    ${spellings(flag).join("|")}) ${bashValues(flag)}; return ;;`);
  const commands = COMMANDS.map((command) => {
    const verbs = verbsOf(command) ? ` verbs='${verbsOf(command)?.join(" ")}'` : "";
    return `    ${command.name}) flags='${longFlags(command.name)}'${verbs} ;;`;
  });
  return `# bash completion for thndrs. Use: source <(thndrs completion bash)
_thndrs() {
  local cur prev command='' flags verbs='' word IFS=$' \\t\\n'
  cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  case $prev in
${values.join("\n")}
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      -*) ;;
      ${COMMANDS.map((command) => command.name).join("|")}) command=$word; break ;;
    esac
  done
  case $command in
${commands.join("\n")}
    *) flags='${longFlags("")}' verbs='${COMMANDS.map((command) => command.name).join(" ")}' ;;
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $verbs && ( -z $command || $prev == "$command" ) ]]; then
    COMPREPLY=($(compgen -W "$verbs" -- "$cur"))
  else
    IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _thndrs thndrs
`;
}

/** A description inside an _arguments specification. */
const zshText = (text: string): string => quote(text.replaceAll("\\", "\\\\").replaceAll(/[[\]:]/g, (mark) => `\\${mark}`));

function zshFlag(flag: FlagSpec): string {
  const place = placeOf(flag);
  const words = flag.choices
    ? `(${flag.choices.join(" ")})`
    : place === "directories"
      ? "_files -/"
      : place === "files"
        ? "_files"
        : "";
  const value = flag.kind === "boolean" ? "" : `:${zshText(flag.value ?? "value")}:${words}`;
  const repeat = flag.kind === "list" ? "*" : "";
  return spellings(flag)
    .map((spelling) => `    '${repeat}${spelling}[${zshText(flag.help)}]${value}'`)
    .join(" \\\n");
}

function zsh(): string {
  const all = flagsOf("").map(zshFlag).join(" \\\n");
  const cases = COMMANDS.map((command) => {
    const verbs = verbsOf(command) ? `\n      '1:verb:(${verbsOf(command)?.join(" ")})' \\` : "";
    const flags = flagsOf(command.name).map(zshFlag).join(" \\\n");
    return `    ${command.name})\n      _arguments \\${verbs}\n${flags} \\\n      '*:file:_files' ;;`;
  });
  const names = COMMANDS.map((command) => `    '${command.name}:${zshText(command.help)}'`).join("\n");
  return `#compdef thndrs
# zsh completion for thndrs. Use: thndrs completion zsh > "\${fpath[1]}/_thndrs"
_thndrs_commands() {
  local -a commands
  commands=(
${names}
  )
  _describe 'command' commands
}
_thndrs() {
  local context state line
  typeset -A opt_args
  _arguments -C \\
${all} \\
    '1: :_thndrs_commands' \\
    '*:: :->rest'
  [[ $state == rest ]] || return 0
  case $line[1] in
${cases.join("\n")}
    *) _files ;;
  esac
}
if [ "$funcstack[1]" = "_thndrs" ]; then _thndrs "$@"; else compdef _thndrs thndrs; fi
`;
}

function fishFlag(flag: FlagSpec, condition: string): readonly string[] {
  const place = placeOf(flag);
  const takes =
    flag.kind === "boolean"
      ? ""
      : flag.choices
        ? ` -x -a '${flag.choices.join(" ")}'`
        : place === "directories"
          ? " -x -a '(__fish_complete_directories)'"
          : place === "files"
            ? " -r -F"
            : " -x";
  const short = flag.short ? ` -s ${flag.short}` : "";
  return [flag.name, ...(flag.aliases ?? [])].map(
    (name, index) =>
      `complete -c thndrs -n '${condition}' -l ${name}${index === 0 ? short : ""}${takes} -d '${flag.help.replaceAll("'", "\\'")}'`,
  );
}

function fish(): string {
  const names = COMMANDS.map((command) => command.name).join(" ");
  const none = `not __fish_seen_subcommand_from ${names}`;
  const lines = ["# fish completion for thndrs. Use: thndrs completion fish > ~/.config/fish/completions/thndrs.fish"];
  for (const command of COMMANDS)
    lines.push(`complete -c thndrs -n '${none}' -a ${command.name} -d '${command.help.replaceAll("'", "\\'")}'`);
  for (const flag of flagsOf("")) lines.push(...fishFlag(flag, none));
  for (const command of COMMANDS) {
    const seen = `__fish_seen_subcommand_from ${command.name}`;
    const verbs = verbsOf(command)?.join(" ");
    if (verbs) {
      const fresh = `${seen}; and not __fish_seen_subcommand_from ${verbs}`;
      lines.push(`complete -c thndrs -f -n '${fresh}' -a '${verbs}'`);
    }
    for (const flag of flagsOf(command.name)) lines.push(...fishFlag(flag, seen));
  }
  return `${lines.join("\n")}\n`;
}

/** The completion script of one shell. */
export function completionScript(shell: Shell): string {
  return shell === "bash" ? bash() : shell === "zsh" ? zsh() : fish();
}

/** @throws UserError when no known shell is named. */
export async function runCompletion(context: CommandContext): Promise<ExitCode> {
  const [name, ...rest] = context.words;
  const shell = SHELLS.find((known) => known === name);
  if (!shell || rest.length > 0) throw new UserError("which shell? thndrs completion bash, zsh or fish");
  context.output.stdout.write(completionScript(shell));
  return EXIT.ok;
}
