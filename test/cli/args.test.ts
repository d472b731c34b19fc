import { expect, test } from "bun:test";
import { UserError } from "../../src/base/user-error.ts";
import { parseArgs, printOnly } from "../../src/cli/args.ts";
import { FLAGS } from "../../src/cli/flags.ts";
import { usageText } from "../../src/cli/usage-text.ts";

function refusal(...argv: string[]): string {
  try {
    parseArgs(argv);
  } catch (error) {
    if (error instanceof UserError && error.exitCode === 2) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${argv.join(" ")}`);
}

test("a prompt is its words; flags may stand anywhere", () => {
  expect(parseArgs(["-p", "fix", "tests", "--model", "openai/x"])).toEqual({
    command: "",
    words: ["fix", "tests"],
    flags: { print: true, model: "openai/x" },
    dash: false,
  });
  expect(parseArgs(["--model=openai/x", "-vp", "hi"]).flags).toEqual({ model: "openai/x", verbose: true, print: true });
  expect(parseArgs(["-rlatest", "-p", "go"]).flags).toEqual({ resume: "latest", print: true });
});

test("C15 odd prompts: slash commands and newlines are text, what looks like a flag is an explicit error", () => {
  expect(parseArgs(["-p", "/clear"]).words).toEqual(["/clear"]);
  expect(parseArgs(["-p", "a\nb"]).words).toEqual(["a\nb"]);
  expect(refusal("-p", "--help")).toContain("-p and --help do not go together");
  expect(refusal("-p", "--version")).toContain("-p and --version do not go together");
  expect(refusal("-p", "--fix everything")).toContain("A prompt that looks like an option follows --");
  expect(parseArgs(["-p", "--", "--help"])).toMatchObject({ words: ["--help"], flags: { print: true } });
});

test("a first word that is a command is one, unless -p or -- says otherwise", () => {
  expect(parseArgs(["sessions", "list", "--json"])).toMatchObject({
    command: "sessions",
    words: ["list"],
    flags: { json: true },
  });
  expect(parseArgs(["--cwd", "x", "tools"])).toMatchObject({ command: "tools", flags: { cwd: "x" } });
  expect(parseArgs(["-p", "sessions", "list"])).toMatchObject({ command: "", words: ["sessions", "list"] });
  expect(parseArgs(["--", "tools"])).toMatchObject({ command: "", words: ["tools"] });
  expect(refusal("sessions", "lst")).toContain('did you mean "list"?');
});

test("sessions resume ID is a run", () => {
  expect(parseArgs(["sessions", "resume", "latest", "go", "on", "--model", "a/b"])).toEqual({
    command: "",
    words: ["go", "on"],
    flags: { model: "a/b", resume: "latest" },
    dash: false,
  });
  expect(refusal("sessions", "resume")).toContain("usage: thndrs sessions resume ID");
  expect(refusal("sessions", "resume", "x", "--continue")).toContain("--continue and --resume");
  expect(refusal("sessions", "resume", "x", "--keep", "3")).toContain("--keep does not go with a prompt");
});

test("a lone dash waits for stdin", () => {
  expect(parseArgs(["-p", "-"])).toMatchObject({ words: [], dash: true });
  expect(parseArgs(["-p", "explain", "-"])).toMatchObject({ words: ["explain"], dash: true });
});

test("bad flags name the nearest valid one, bad values what is valid", () => {
  expect(refusal("--modell", "x")).toContain("did you mean --model?");
  expect(refusal("--output-format", "yaml")).toContain("text, json, stream-json");
  expect(refusal("--output-format", "jsn")).toContain('did you mean "json"?');
  expect(refusal("--max-turns", "0")).toContain("whole number from 1 up");
  expect(refusal("--max-turns", "1e3")).toContain("whole number");
  expect(refusal("--max-cost", "-1")).toContain("above 0");
  expect(refusal("--timeout", "soon")).toContain("90s, 10m or 1h30m");
  expect(refusal("--model")).toContain("--model needs a value");
  expect(refusal("--model", "")).toContain("--model needs a value that is not empty: --model PROVIDER/ID");
  expect(refusal("--print=yes")).toContain("takes no value");
  expect(refusal("--model", "a/b", "--model", "c/d")).toContain("given twice");
  expect(refusal("tools", "--timeout", "5")).toContain('does not go with "thndrs tools"');
  expect(refusal("--dry-run", "hi")).toContain("does not go with a prompt");
});

test("durations are milliseconds", () => {
  expect(parseArgs(["-p", "x", "--timeout", "90"]).flags.timeout).toBe(90_000);
  expect(parseArgs(["-p", "x", "--timeout", "1h30m"]).flags.timeout).toBe(5_400_000);
});

test("flags that contradict each other are refused", () => {
  expect(refusal("-c", "-r", "x", "-p", "y")).toContain("--continue and --resume");
  expect(refusal("--ephemeral", "-c", "-p", "y")).toContain("--ephemeral");
  expect(refusal("-v", "-q", "-p", "y")).toContain("contradict");
  expect(refusal("--no-session", "--session-dir", "d", "-p", "y")).toContain("--session-dir");
  expect(refusal("sessions", "export", "x", "--json", "--format", "markdown")).toContain("contradict");
  expect(refusal("context", "--json", "--show")).toContain("--json and --show");
  expect(refusal("-p", "x", "--replay", "a", "--capture", "b")).toContain("--capture has nothing to hold");
});

test("a flag that only some verbs take is refused by the others, which would go without it", () => {
  expect(refusal("sessions", "rename", "x", "title", "--dry-run")).toContain(
    '--dry-run does not go with "thndrs sessions rename"; it goes with "thndrs sessions delete" and "thndrs sessions prune"',
  );
  expect(refusal("sessions", "prune", "--keep", "3", "--limit", "1")).toContain("--limit does not go with");
  expect(refusal("sessions", "--output", "f")).toContain('--output does not go with "thndrs sessions list"');
  expect(refusal("mcp", "call", "a", "b", "--command", "c")).toContain('it goes with "thndrs mcp add"');
  expect(refusal("sessions", "nonsense", "--dry-run")).toContain("unknown command");
  expect(refusal("config", "show", "--project")).toContain('it goes with "thndrs config path" and "thndrs config edit"');
  expect(refusal("config", "--project")).toContain('--project does not go with "thndrs config show"');
  expect(refusal("config", "edit", "--json")).toContain("--json does not go with");
  expect(refusal("mcp", "list", "--yes")).toContain('it goes with "thndrs mcp trust"');
  expect(refusal("mcp", "add", "x", "--command", "c", "--json")).toContain(
    'it goes with "thndrs mcp list", "thndrs mcp status", "thndrs mcp trust"',
  );
  expect(refusal("acp", "serve", "--json")).toContain("--json does not go with");
  expect(refusal("acp", "list", "--max-turns", "3")).toContain('it goes with "thndrs acp serve"');
  expect(parseArgs(["acp", "serve", "--max-turns", "3"]).flags).toMatchObject({ maxTurns: 3 });
  expect(parseArgs(["mcp", "--json"]).flags).toMatchObject({ json: true });
  expect(parseArgs(["sessions", "prune", "--keep", "3", "--dry-run"]).flags).toMatchObject({ keep: 3, dryRun: true });
  expect(parseArgs(["mcp", "add", "x", "--command", "c", "--arg", "", "--arg", "b"]).flags.arg).toEqual(["", "b"]);
});

test("repeatable flags add up", () => {
  expect(parseArgs(["-p", "x", "--deny-tool", "a", "--deny-tool=b"]).flags.denyTool).toEqual(["a", "b"]);
});

test("the help text has every flag of a run, and each command its own", () => {
  const text = usageText("");
  for (const flag of FLAGS.filter((one) => one.on === undefined || one.on.includes(""))) expect(text).toContain(`--${flag.name}`);
  expect(usageText("sessions")).toContain("--older-than");
  expect(usageText("sessions")).not.toContain("--record");
});

test("-- behind a command belongs to its words; before the first word it makes them a prompt", () => {
  expect(parseArgs(["sessions", "search", "--", "--force"])).toMatchObject({ command: "sessions", words: ["search", "--force"] });
  expect(parseArgs(["sessions", "rename", "latest", "--", "-x"])).toMatchObject({
    command: "sessions",
    words: ["rename", "latest", "-x"],
  });
  expect(parseArgs(["--", "sessions", "list"])).toMatchObject({ command: "", words: ["sessions", "list"] });
  expect(parseArgs(["fix", "--", "--help"])).toMatchObject({ command: "", words: ["fix", "--help"] });
  expect(parseArgs(["-p", "--", "sessions"])).toMatchObject({ command: "", words: ["sessions"] });
});

test("- and --stdin ignore contradict each other", () => {
  expect(() => parseArgs(["-p", "x", "--stdin", "ignore", "-"])).toThrow("--stdin ignore");
});

test("a lone - behind -- is a word of the prompt, and asks for nothing", () => {
  expect(parseArgs(["-p", "--", "5", "-", "3"])).toMatchObject({ words: ["5", "-", "3"], dash: false });
  expect(parseArgs(["-p", "--stdin", "ignore", "--", "-"])).toMatchObject({ words: ["-"], dash: false });
  expect(parseArgs(["-p", "-", "--", "-"])).toMatchObject({ words: ["-"], dash: true });
  expect(parseArgs(["sessions", "resume", "x", "-", "--", "-"])).toMatchObject({
    words: ["-"],
    dash: true,
    flags: { resume: "x" },
  });
});

test("flags that only print mode heeds are known as such", () => {
  const { flags } = parseArgs(["--timeout", "1s", "--stdin", "ignore", "--max-turns", "3", "x"]);
  expect(printOnly(flags)).toEqual(["--timeout", "--stdin"]);
});
