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

const valued = FLAGS.filter((flag) => flag.kind !== "boolean");
const short = (flags: readonly FlagSpec[]): string => flags.map((flag) => flag.short ?? "").join("");
const SHORT_SWITCHES = short(FLAGS.filter((flag) => flag.kind === "boolean"));
const SHORT_VALUED = short(valued);

/** No `mapfile`: the bash of macOS is older than it. */
function bashValues(flag: FlagSpec): string {
  const offer = `-P "$lead" -- "$value"`;
  if (flag.choices) return `COMPREPLY=($(compgen -W '${flag.choices.join(" ")}' ${offer}))`;
  const place = placeOf(flag);
  return place ? `IFS=$'\\n'; COMPREPLY=($(compgen ${place === "directories" ? "-d" : "-f"} ${offer}))` : "COMPREPLY=()";
}

/**
 * What a word is depends on all before it: the value of an option is no command. Bash breaks words at `=` and `:` also where no
 * shell would, and takes what is offered for what follows the last of these.
 */
function bash(): string {
  const values = valued.map((flag) => `      ${spellings(flag).join("|")}) ${bashValues(flag)} ;;`);
  const commands = COMMANDS.map((command) => {
    const verbs = verbsOf(command) ? ` verbs='${verbsOf(command)?.join(" ")}'` : "";
    return `    ${command.name}) flags='${longFlags(command.name)}'${verbs} ;;`;
  });
  return `# bash completion for thndrs. Use: source <(thndrs completion bash)
_thndrs() {
  local cur='' piece line=$COMP_LINE last=-1 words=() index IFS=$' \\t\\n'
  for ((index = 0; index <= COMP_CWORD; index++)); do
    piece=\${COMP_WORDS[index]}
    if [[ $last -ge 0 && $line != [[:blank:]]* && ( $piece == [=:@]* || $cur == *[=:@] ) ]]; then
      cur+=$piece
    else
      cur=$piece last=$((last + 1))
    fi
    words[last]=$cur
    line=\${line#*"$piece"}
  done

  local command='' bare=0 option='' literal='' word flags verbs=''
  for word in "\${words[@]:1:last-1}"; do
    if [[ -n $option ]]; then option=''; continue; fi
    if [[ -n $literal || $word != -?* ]]; then
      bare=$((bare + 1))
      [[ $bare == 1 ]] && command=$word
      continue
    fi
    case $word in
      --) literal=1; [[ $bare == 0 ]] && bare=2 ;;
      --print) command='' bare=2 ;;
      ${valued.flatMap(spellings).join("|")}) option=$word ;;
      -[!-]*)
        [[ $word =~ ^-[${SHORT_SWITCHES}]*p ]] && command='' bare=2
        [[ $word =~ ^-[${SHORT_SWITCHES}]+[${SHORT_VALUED}]$ ]] && option=-\${word: -1} ;;
    esac
  done

  local value=$cur lead=''
  COMPREPLY=()
  if [[ -z $option && -z $literal && $cur == --*=* ]]; then
    option=\${cur%%=*} value=\${cur#*=} lead="\${cur%%=*}="
  fi
  if [[ -n $option ]]; then
    case $option in
${values.join("\n")}
    esac
  else
    case $command in
${commands.join("\n")}
      *) flags='${longFlags("")}' ;;
    esac
    [[ $bare == 0 ]] && verbs='${COMMANDS.map((command) => command.name).join(" ")}'
    if [[ -z $literal && $cur == -* ]]; then
      COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    elif [[ -n $verbs && $bare -le 1 ]]; then
      COMPREPLY=($(compgen -W "$verbs" -- "$cur"))
    else
      IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$cur"))
    fi
  fi

  local breaks=\${COMP_WORDBREAKS//[!=:@]}
  [[ -n $breaks ]] || return 0
  lead=\${cur%"\${cur##*[$breaks]}"}
  for index in "\${!COMPREPLY[@]}"; do COMPREPLY[index]=\${COMPREPLY[index]#"$lead"}; done
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
  // The value may also stand in the same word.
  const joined = (spelling: string): string => (value === "" ? "" : spelling.startsWith("--") ? "=" : "+");
  return spellings(flag)
    .map((spelling) => `    '${repeat}${spelling}${joined(spelling)}[${zshText(flag.help)}]${value}'`)
    .join(" \\\n");
}

function zsh(): string {
  const all = flagsOf("").map(zshFlag).join(" \\\n");
  const cases = COMMANDS.map((command) => {
    const verbs = verbsOf(command) ? `\n      '1:verb:(${verbsOf(command)?.join(" ")})' \\` : "";
    const flags = flagsOf(command.name).map(zshFlag).join(" \\\n");
    return `    ${command.name})\n      _arguments -s -S \\${verbs}\n${flags} \\\n      '*:file:_files' ;;`;
  });
  const names = COMMANDS.map((command) => `    '${command.name}:${zshText(command.help)}'`).join("\n");
  return `#compdef thndrs
# zsh completion for thndrs. Use: thndrs completion zsh > "\${fpath[1]}/_thndrs"
_thndrs_commands() {
  (( \${words[(I)-p|--print]} )) && { _files; return; }
  local -a commands
  commands=(
${names}
  )
  _describe 'command' commands
}
_thndrs() {
  local context state line
  typeset -A opt_args
  _arguments -s -S -C \\
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

/** Fish's own look at subcommands takes the value of an option for one. */
function fishPlace(): string {
  return `# Words that are neither options nor their values; -- first where none of them is a command.
function __thndrs_words
    set -l option 0
    set -l literal 0
    set -l words
    set -l typed (commandline -opc)
    set -e typed[1]
    for word in $typed
        if test $option = 1
            set option 0
        else if test $literal = 1; or not string match -qr -- '^-.' $word
            set -a words $word
        else
            switch $word
                case --
                    set literal 1
                    test (count $words) = 0; and set words --
                case --print
                    set words -- $words
                case ${valued.flatMap(spellings).join(" ")}
                    set option 1
                case '-*'
                    string match -qr -- '^-[${SHORT_SWITCHES}]*p' $word; and set words -- $words
                    string match -qr -- '^-[${SHORT_SWITCHES}]+[${SHORT_VALUED}]$' $word; and set option 1
            end
        end
    end
    string join -- \\n $words
end
function __thndrs_first
    set -l words (__thndrs_words)
    test (count $words) = 0
end
function __thndrs_run
    set -l words (__thndrs_words)
    not contains -- "$words[1]" ${COMMANDS.map((command) => command.name).join(" ")}
end
function __thndrs_in
    set -l words (__thndrs_words)
    test "$words[1]" = "$argv[1]"
end
function __thndrs_verb_of
    set -l words (__thndrs_words)
    test (count $words) = 1 -a "$words[1]" = "$argv[1]"
end`;
}

function fish(): string {
  const lines = [
    "# fish completion for thndrs. Use: thndrs completion fish > ~/.config/fish/completions/thndrs.fish",
    fishPlace(),
  ];
  for (const command of COMMANDS)
    lines.push(`complete -c thndrs -n __thndrs_first -a ${command.name} -d '${command.help.replaceAll("'", "\\'")}'`);
  for (const flag of flagsOf("")) lines.push(...fishFlag(flag, "__thndrs_run"));
  for (const command of COMMANDS) {
    const verbs = verbsOf(command)?.join(" ");
    if (verbs) lines.push(`complete -c thndrs -f -n '__thndrs_verb_of ${command.name}' -a '${verbs}'`);
    for (const flag of flagsOf(command.name)) lines.push(...fishFlag(flag, `__thndrs_in ${command.name}`));
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
