/** Help topics and README: none promising a key, flag, command or variable that does not exist, none forgotten. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MARKER_VARIABLE } from "../../src/base/child-env.ts";
import { TOPICS } from "../../src/base/help-topics.ts";
import { parseArgs } from "../../src/cli/args.ts";
import { COMMANDS, FLAGS, findCommand } from "../../src/cli/flags.ts";
import { runHelp, topicText } from "../../src/cli/help.ts";
import { usageText } from "../../src/cli/usage-text.ts";
import { keys, variableOf } from "../../src/config/keys.ts";
import { makeStage } from "./stage.ts";

test("help lists every topic; each is printed raw in a pipe", async () => {
  using stage = makeStage();
  const overview = await stage.play(runHelp, ["help"]);
  for (const topic of TOPICS) {
    expect(overview.stdout).toContain(`  ${topic}`);
    const one = await stage.play(runHelp, ["help", topic]);
    expect(one).toEqual({ code: 0, stdout: `${topicText(topic).trimEnd()}\n`, stderr: "" });
    expect(one.stdout).toStartWith("# ");
  }
});

test("every file of src/docs is a topic", () => {
  const files = readdirSync(join(import.meta.dir, "../../src/docs")).map((name) => name.replace(/\.md$/, ""));
  expect(files.sort()).toEqual([...TOPICS].sort());
});

test("an unknown topic names the nearest; a command's name shows its usage", async () => {
  using stage = makeStage();
  await expect(stage.play(runHelp, ["help", "contxt"])).rejects.toThrow('did you mean "context"?');
  expect((await stage.play(runHelp, ["help", "doctor"])).stdout).toContain("Usage: thndrs doctor");
});

const topics = TOPICS.map((topic) => [topic, topicText(topic)] as const);
const readme = readFileSync(join(import.meta.dir, "../../README.md"), "utf8");
const all = [...topics, ["README.md", readme] as const];

test("topics and README name no flag that does not exist", () => {
  const known = new Set(FLAGS.flatMap((flag) => [flag.name, ...(flag.aliases ?? [])]));
  const foreign = new Set(["acp", "root", "reset"]);
  for (const [topic, whole] of all) {
    // Another program's command.
    const text = whole.replace(/\b(?:npx|bun|npm|curl|git) [^`\n|#]*/g, "");
    for (const [, name = ""] of text.matchAll(/(?<![\w-])--([a-z][a-z-]*)/g)) {
      expect(known.has(name) || foreign.has(name) ? "" : `${topic}: --${name}`).toBe("");
    }
  }
});

test("topics miss no flag and no command that exists", () => {
  const text = topics.map(([, topic]) => topic).join("\n");
  // Described with the rooms they belong to.
  const elsewhere = new Set(["acp", "skills"]);
  const flags = FLAGS.filter((flag) => !flag.on?.every((command) => elsewhere.has(command)));
  const missing = [
    ...flags.filter((flag) => !new RegExp(`--${flag.name}(?![\\w-])`).test(text)).map((flag) => `--${flag.name}`),
    ...COMMANDS.filter(({ name }) => !elsewhere.has(name) && !text.includes(`thndrs ${name}`)).map(({ name }) => name),
  ];
  expect(missing).toEqual([]);
});

test("commands shown in topics and README parse", () => {
  let seen = 0;
  for (const [topic, text] of all) {
    for (const [, command = ""] of text.matchAll(/^\s*(?:thndrs|.*\| thndrs)((?: .*)?)$/gm)) {
      const argv = shellWords(command);
      if (argv === undefined) continue;
      seen++;
      expect(() => parseArgs(argv), `${topic}: thndrs${command}`).not.toThrow();
    }
    for (const [, word = ""] of text.matchAll(/`thndrs ([a-z]+)[^`]*`/g)) {
      expect(findCommand(word)?.name ?? `${topic}: thndrs ${word}`).toBe(word);
    }
  }
  expect(seen).toBeGreaterThan(25);
});

/** The words of one command line up to a comment, a pipe or a redirection; undefined when it goes on in the next line. */
function shellWords(line: string): readonly string[] | undefined {
  if (line.trimEnd().endsWith("\\")) return undefined;
  const words: string[] = [];
  for (const [word] of line.matchAll(/"[^"]*"|'[^']*'|[^\s"']+/g)) {
    if (/^[#|>]/.test(word)) break;
    words.push(word.replace(/^["']|["']$/g, ""));
  }
  return words;
}

test("the configuration topic names every key and loads as it stands", async () => {
  using stage = makeStage();
  const toml = /```toml\n([\s\S]*?)```/.exec(topicText("configuration"))?.[1] ?? "";
  for (const key of keys()) expect(toml).toContain(key.name.split(".").at(-1) ?? "");
  stage.user(toml);
  const { settings, config } = await stage.load({}, { TEAM: "blue" });
  const declared = new Set(settings.map((setting) => setting.key));
  const missing = keys()
    .filter((key) => ![...declared].some((name) => matches(key.name, name)))
    .map((key) => key.name);
  expect(missing).toEqual([]);
  // What the text shows as a default is the default.
  stage.user("");
  const fresh = (await stage.load()).config;
  for (const room of ["context", "shell", "retry", "compaction"] as const) expect(config[room]).toEqual(fresh[room]);
  expect(config.stallTimeoutMs).toBe(fresh.stallTimeoutMs);
});

function matches(pattern: string, key: string): boolean {
  const parts = pattern.split(".").map((part) => (part === "*" ? '(?:"[^"]*"|[^."]+)' : part));
  return new RegExp(`^${parts.join("\\.")}$`).test(key);
}

test("variables named in topics and README exist", () => {
  const installer = readFileSync(join(import.meta.dir, "../../scripts/install.sh"), "utf8").match(/\bTHNDRS_[A-Z_]*[A-Z]\b/g);
  const known = new Set([...keys().map(variableOf), "THNDRS_HOME", MARKER_VARIABLE, ...(installer ?? [])]);
  for (const [topic, text] of all) {
    for (const [name] of text.matchAll(/\bTHNDRS_[A-Z_]*[A-Z]\b/g)) expect(known.has(name) ? "" : `${topic}: ${name}`).toBe("");
  }
});

test("C20 the print-mode topic has a job for each CI and the advice on untrusted output", () => {
  const text = topicText("print-mode");
  for (const part of ["## GitHub Actions", "## GitLab", "untrusted output", "::stop-commands::"]) expect(text).toContain(part);
  const jobs = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = ""]) => Bun.YAML.parse(yaml));
  expect(jobs).toHaveLength(2);
});

test("the exit codes topic agrees with the code", async () => {
  const { EXIT } = await import("../../src/base/user-error.ts");
  const text = topicText("exit-codes");
  for (const code of Object.values(EXIT)) expect(text).toMatch(new RegExp(`\\b${code}\\b`));
  expect(COMMANDS.length).toBeGreaterThan(10);
});

test("the README agrees with package.json, the topics and the exit codes", async () => {
  const { EXIT } = await import("../../src/base/user-error.ts");
  const manifest = await Bun.file(join(import.meta.dir, "../../package.json")).json();
  const scripts = [...readme.matchAll(/\bbun(?:@[\w.]+)? run ([\w-]+)/g)].map(([, name = ""]) => name);
  expect(scripts.length).toBeGreaterThan(3);
  expect(scripts.filter((name) => manifest.scripts[name] === undefined)).toEqual([]);
  for (const [, version] of readme.matchAll(/\bbun@([\d.]+)/g)) expect(version).toBe(manifest.devDependencies.bun);
  const codes = [...readme.matchAll(/^\| ([\d, ]+) \|/gm)].flatMap(([, list = ""]) => list.split(", ").map(Number));
  expect(codes.sort((a, b) => a - b)).toEqual([...new Set<number>(Object.values(EXIT))].sort((a, b) => a - b));
  const [, named = ""] = /help` has the topics: ([\w, -]+)/.exec(readme) ?? [];
  expect(named.split(", ").filter((topic) => !TOPICS.some((one) => one === topic))).toEqual([]);
});

test("each command's help names the topic that says more, where there is one", () => {
  for (const { name, topic } of COMMANDS) {
    const told = /^More: thndrs help (\S+)$/m.exec(usageText(name))?.[1];
    expect(told).toBe(topic);
    if (TOPICS.some((known) => known === name)) expect(topic as string).toBe(name);
  }
});

test("--help of the program or of a command names every flag in every spelling, and every choice", () => {
  const texts = ["", ...COMMANDS.map((command) => command.name)].map(usageText).join("\n");
  for (const { name, short, aliases = [], choices = [] } of FLAGS) {
    for (const word of [name, ...aliases]) expect(texts).toContain(`--${word}`);
    if (short) expect(texts).toContain(`-${short}, --${name}`);
    for (const choice of choices) expect(texts).toContain(choice);
  }
});
