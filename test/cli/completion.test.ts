/** `thndrs completion`: derived from the table, accepted and obeyed by the shells that are installed here. */
import { expect, test } from "bun:test";
import { completionScript, runCompletion } from "../../src/cli/completion.ts";
import { COMMANDS, FLAGS } from "../../src/cli/flags.ts";
import { Terminal } from "../support/pty.ts";
import { tempDir } from "../support/temp.ts";
import { makeStage } from "./stage.ts";

const shells = ["bash", "zsh", "fish"] as const;

for (const shell of shells) {
  test(`${shell}: names every command and flag`, () => {
    const script = completionScript(shell);
    for (const command of COMMANDS) expect(script).toContain(command.name);
    for (const flag of FLAGS)
      expect(script).toMatch(new RegExp(shell === "fish" ? `-l ${flag.name}( |$)` : `--${flag.name}\\b`, "m"));
  });

  test.skipIf(Bun.which(shell) === null)(`${shell}: the script parses`, () => {
    const run = Bun.spawnSync([shell, "-n"], { stdin: Buffer.from(completionScript(shell)), stderr: "pipe" });
    expect(run.stderr.toString()).toBe("");
    expect(run.exitCode).toBe(0);
  });
}

function bash(typed: readonly string[]): string[] {
  // As bash breaks them.
  const words = typed.flatMap((word) => (word === "" ? [""] : word.split(/([=:@])/).filter((part) => part !== "")));
  const list = words.map((word) => `'${word}'`).join(" ");
  const script = `${completionScript("bash")}\nCOMP_LINE='${typed.join(" ")}'; COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _thndrs; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const run = Bun.spawnSync(["bash", "-c", script], { cwd: import.meta.dir, stdout: "pipe", stderr: "pipe" });
  expect(run.stderr.toString()).toBe("");
  return run.stdout.toString().split("\n").filter(Boolean);
}

test.skipIf(Bun.which("bash") === null)("bash: commands, verbs, flags, choices, files, topics", () => {
  expect(bash(["thndrs", "con"])).toEqual(["config", "context"]);
  expect(bash(["thndrs", "config", ""])).toEqual(["show", "path", "edit"]);
  expect(bash(["thndrs", "--cwd", "/tmp", "config", "sh"])).toEqual(["show"]);
  expect(bash(["thndrs", "doctor", "--on"])).toEqual(["--online"]);
  expect(bash(["thndrs", "--out"])).toEqual(["--output-format", "--output-schema"]);
  expect(bash(["thndrs", "--output-format", "s"])).toEqual(["stream-json"]);
  expect(bash(["thndrs", "--model", "x"])).toEqual([]);
  expect(bash(["thndrs", "--replay", "completion.t"])).toEqual(["completion.test.ts"]);
  expect(bash(["thndrs", "help", "exit"])).toEqual(["exit-codes"]);
});

test.skipIf(Bun.which("bash") === null)("bash: the value of an option is no command, and may stand in the same word", () => {
  expect(bash(["thndrs", "--model", "config", "se"])).toEqual(["setup", "sessions"]);
  expect(bash(["thndrs", "--model", "config", "config", "sh"])).toEqual(["show"]);
  expect(bash(["thndrs", "--model=ollama/a:b", "config", "sh"])).toEqual(["show"]);
  expect(bash(["thndrs", "sessions", "--limit", "5", "pru"])).toEqual(["prune"]);
  expect(bash(["thndrs", "-vr", "show", "sessions", "pru"])).toEqual(["prune"]);
  expect(bash(["thndrs", "--model", "ollama/a:7"])).toEqual([]);
  expect(bash(["thndrs", "--output-format="])).toEqual(["text", "json", "stream-json"]);
  expect(bash(["thndrs", "--output-format=s"])).toEqual(["stream-json"]);
  expect(bash(["thndrs", "--replay=completion.t"])).toEqual(["completion.test.ts"]);
  expect(bash(["thndrs", "--replay", "./completion.t"])).toEqual(["./completion.test.ts"]);
  // A prompt's words are no commands, nor is what stands behind `--`.
  for (const before of [["-p"], ["--print"], ["-vp"], ["tidy"], ["--"], ["sessions", "show"], ["tidy", "--"]])
    expect([before, bash(["thndrs", ...before, "logi"])]).toEqual([before, []]);
  expect(bash(["thndrs", "--", "--out"])).toEqual([]);
  expect(bash(["thndrs", "tidy", "--out"])).toEqual(["--output-format", "--output-schema"]);
});

/** At its prompt: how a shell breaks words, and what it puts a completion in the place of. */
const prompts = [
  ["zsh", ["-f", "-i"], "autoload -Uz compinit && compinit -D && unsetopt LIST_AMBIGUOUS AUTO_MENU"],
  ["bash", ["--norc", "--noprofile", "-i"], "true"],
] as const;

for (const [shell, flags, setUp] of prompts) {
  test.skipIf(Bun.which(shell) === null)(`${shell}: Tab at its prompt, behind the value of an option and within`, async () => {
    await using place = await tempDir();
    await Bun.write(place.at("script"), completionScript(shell));
    await using terminal = await Terminal.start({ command: [shell, ...flags], columns: 100, rows: 60, env: { PS1: "> " } });
    terminal.write(`${setUp} && source ${place.at("script")} && touch sesame\r`);
    for (const [line, completed] of [
      ["--model config ses", "--model config sessions"],
      ["--model=ollama/a:b config sh", "--model=ollama/a:b config show"],
      ["sessions --limit 5 pru", "sessions --limit 5 prune"],
      ["--output-format s", "--output-format stream-json"],
      ["--output-format=s", "--output-format=stream-json"],
      ["-p ses", "-p sesame"],
      ["tidy ses", "tidy sesame"],
    ] as const) {
      terminal.write(`thndrs ${line}\t`);
      await terminal.waitFor((screen) => screen.currentLine() === `> thndrs ${completed}`);
      terminal.press("ctrl+u");
      await terminal.waitFor((screen) => screen.currentLine() === ">");
    }
  });
}

test.skipIf(Bun.which("fish") === null)("fish: commands, verbs, flags", () => {
  const complete = (line: string): string[] => {
    const script = `source -; complete -C ${JSON.stringify(line)}`;
    const run = Bun.spawnSync(["fish", "--no-config", "-c", script], {
      stdin: Buffer.from(completionScript("fish")),
      stdout: "pipe",
      stderr: "pipe",
    });
    return run.stdout
      .toString()
      .split("\n")
      .filter(Boolean)
      .map((found) => found.split("\t")[0] ?? "");
  };
  expect(complete("thndrs config ")).toEqual(expect.arrayContaining(["path", "show", "edit"]));
  expect(complete("thndrs doctor --on")).toEqual(["--online"]);
  expect(complete("thndrs --color ")).toEqual(expect.arrayContaining(["auto", "always", "never"]));
  // Behind the value of an option, whatever that is called, and behind a prompt.
  expect(complete("thndrs --model config se")).toEqual(["sessions", "setup"]);
  expect(complete("thndrs --model config config sh")).toEqual(["show"]);
  expect(complete("thndrs sessions --limit 5 pru")).toEqual(["prune"]);
  expect(complete("thndrs -vr show sessions se")).toEqual(["search"]);
  for (const line of ["thndrs -p sess", "thndrs tidy sess", "thndrs -- sess", "thndrs sessions show pru", "thndrs --resume sess"])
    expect([line, complete(line)]).toEqual([line, []]);
  expect(complete("thndrs tidy --out")).toEqual(["--output-format", "--output-schema"]);
});

test("no shell named: usage error", async () => {
  using stage = makeStage();
  await expect(stage.play(runCompletion, ["completion"])).rejects.toThrow("which shell?");
  expect((await stage.play(runCompletion, ["completion", "bash"])).stdout).toBe(completionScript("bash"));
});
