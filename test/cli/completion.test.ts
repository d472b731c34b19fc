/** `thndrs completion`: derived from the table, accepted and obeyed by the shells that are installed here. */
import { expect, test } from "bun:test";
import { completionScript, runCompletion } from "../../src/cli/completion.ts";
import { COMMANDS, FLAGS } from "../../src/cli/flags.ts";
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

function bash(words: readonly string[]): string[] {
  const list = words.map((word) => `'${word}'`).join(" ");
  const script = `${completionScript("bash")}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _thndrs; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const run = Bun.spawnSync(["bash", "-c", script], { cwd: import.meta.dir, stdout: "pipe", stderr: "pipe" });
  expect(run.stderr.toString()).toBe("");
  return run.stdout.toString().split("\n").filter(Boolean);
}

test.skipIf(Bun.which("bash") === null)("bash: commands, verbs, flags, choices, files, topics", () => {
  expect(bash(["thndrs", "con"])).toEqual(["config", "context"]);
  expect(bash(["thndrs", "config", ""])).toEqual(["path", "show", "edit"]);
  expect(bash(["thndrs", "--cwd", "/tmp", "config", "sh"])).toEqual(["show"]);
  expect(bash(["thndrs", "doctor", "--on"])).toEqual(["--online"]);
  expect(bash(["thndrs", "--out"])).toEqual(["--output-format", "--output-schema"]);
  expect(bash(["thndrs", "--output-format", "s"])).toEqual(["stream-json"]);
  expect(bash(["thndrs", "--model", "x"])).toEqual([]);
  expect(bash(["thndrs", "--replay", "completion.t"])).toEqual(["completion.test.ts"]);
  expect(bash(["thndrs", "help", "exit"])).toEqual(["exit-codes"]);
});

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
});

test("no shell named: usage error", async () => {
  using stage = makeStage();
  await expect(stage.play(runCompletion, ["completion"])).rejects.toThrow("which shell?");
  expect((await stage.play(runCompletion, ["completion", "bash"])).stdout).toBe(completionScript("bash"));
});
