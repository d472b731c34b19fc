/** Sessions, models, approvals, history and the queue's audit, through the REPL. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "../support/loopback.ts";
import { tempDir } from "../support/temp.ts";
import { startRepl, WIDTHS, waitForFlat } from "../ui/repl-stage.ts";

const SPINNER = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/;
const shell = (...argv: string[]): Step => ({ calls: [{ name: "run_shell", arguments: { argv } }] });

for (const columns of WIDTHS) {
  test(`/name, /new, the /resume picker, --continue, at ${columns} columns`, async () => {
    await using place = await tempDir();
    const options = { columns, cwd: place.path };
    await using stage = await startRepl([{ text: "the first answer" }, { text: "the second" }, { text: "third" }], options);
    const { terminal } = stage;
    stage.send("/name too early");
    await waitForFlat(terminal, "the session begins with your first message");
    stage.send("remember the word pumpkin");
    await waitForFlat(terminal, "the first answer");
    stage.send("/name About pumpkins");
    await waitForFlat(terminal, 'named "About pumpkins"');
    stage.send("/new");
    await waitForFlat(terminal, "new session");
    stage.send("something else");
    await waitForFlat(terminal, "the second");
    expect(stage.userTexts(2)).toEqual(["something else"]);
    stage.send("/resume");
    await terminal.waitFor("Go on with which");
    await terminal.waitFor("About pump");
    terminal.press("enter");
    await waitForFlat(terminal, "resumed here");
    stage.send("go on");
    await terminal.waitFor("third");
    expect(stage.userTexts(3)).toEqual(["remember the word pumpkin", "go on"]);
    terminal.press("ctrl+d");
    expect((await terminal.exited).code).toBe(0);
    const sessions = readdirSync(join(place.path, ".thndrs", "sessions"));
    expect(sessions.filter((name) => name.endsWith(".jsonl"))).toHaveLength(2);
    expect(sessions.filter((name) => name.endsWith(".lock"))).toEqual([]);
    await using again = await startRepl([{ text: "fourth" }], { ...options, args: ["--continue"] });
    await waitForFlat(again.terminal, "resumed here");
    await waitForFlat(again.terminal, "third");
    again.send("and on");
    await again.terminal.waitFor("fourth");
    expect(again.userTexts(1)).toEqual(["remember the word pumpkin", "go on", "and on"]);
  });
}

test("what is typed while a session is opened is for that one, in order", async () => {
  await using stage = await startRepl([{ text: "in the first" }, { text: "in the second" }, { text: "and the last" }]);
  const { terminal } = stage;
  stage.send("one");
  await terminal.waitFor("in the first");
  await terminal.waitFor((screen) => !SPINNER.test(screen.text()));
  terminal.write("/new\r");
  terminal.write("two\r");
  await terminal.waitFor("in the second");
  await terminal.waitFor((screen) => !SPINNER.test(screen.text()));
  expect(stage.userTexts(2)).toEqual(["two"]);
  terminal.write("/nonsense\r/new\rthree\r");
  await terminal.waitFor("and the last");
  expect(stage.userTexts(3)).toEqual(["three"]);
});

test("/model keeps the conversation; a model that cannot be used changes nothing", async () => {
  await using stage = await startRepl([{ text: "from mock" }, { text: "from other" }], {
    model: { models: [{ id: "mock" }, { id: "other" }] },
  });
  const { terminal, model } = stage;
  stage.send("one");
  await terminal.waitFor("from mock");
  stage.send("/model nowhere/x");
  await terminal.waitFor("✗");
  stage.send("/model openrouter/other");
  await terminal.waitFor("model openrouter/other");
  stage.send("two");
  await terminal.waitFor("from other");
  expect(model.server.requests[1]?.body.model).toBe("other");
  expect(stage.userTexts(2)).toEqual(["one", "two"]);
  const used = (await stage.records()).filter((record) => record.type === "prompt_metadata").map((record) => record.model);
  expect(used).toEqual(["mock", "other"]);
  stage.send("/model");
  await terminal.waitFor("Which model?");
  await terminal.waitFor("openrouter/mock");
  terminal.press("escape");
  await terminal.waitFor((screen) => screen.currentLine() === "❯");
  stage.send("/reasoning high");
  await terminal.waitFor("reasoning high");
});

for (const columns of WIDTHS) {
  test(`approval: once, this session, this project, no, at ${columns} columns`, async () => {
    await using place = await tempDir();
    const home = place.at("home");
    const steps = [
      shell("git", "status"),
      shell("git", "status", "-s"),
      shell("git", "log"),
      shell("sh", "-c", "echo one"),
      shell("sh", "-c", "echo two"),
      { text: "all done" },
    ];
    const options = { columns, cwd: place.path, env: { THNDRS_APPROVAL: "shell", THNDRS_HOME: home } };
    await using stage = await startRepl(steps, options);
    const { terminal } = stage;
    const question = async (what: string, ...keys: ("down" | "enter" | "escape")[]): Promise<void> => {
      await waitForFlat(terminal, `Allow run_shell: ${what}`);
      await terminal.waitFor("to navigate");
      terminal.press(...keys);
    };
    stage.send("go");
    await question("git status", "down", "down", "enter");
    // `git status -s` is covered by what was allowed; `git log` is not.
    await question("git log", "down", "down", "down", "enter");
    await question('sh -c "echo one"', "down", "enter");
    await question('sh -c "echo two"', "enter");
    await terminal.waitFor("all done");
    const statuses = (await stage.records()).filter((record) => record.type === "tool_finished").map((record) => record.status);
    expect(statuses).toHaveLength(5);
    expect(statuses[2]).toBe("failed");
    expect(statuses.slice(3)).toEqual(["ok", "ok"]);
    terminal.press("ctrl+d");
    expect((await terminal.exited).code).toBe(0);
    const stored = JSON.parse(readFileSync(join(home, "approvals.json"), "utf8")) as { allowed: unknown[] };
    expect(stored.allowed).toEqual([{ project: place.path, tool: "run_shell", prefix: ["git", "status"], directory: "." }]);
    expect(statSync(join(home, "approvals.json")).mode & 0o777).toBe(0o600);
    await using again = await startRepl([shell("git", "status", "-v"), { text: "not asked" }], options);
    again.send("go");
    await again.terminal.waitFor("not asked");
    expect(again.terminal.screen.everything()).not.toContain("Allow");
  });
}

test("approval: Esc in a question cancels the run; Esc in the run takes the question away", async () => {
  await using stage = await startRepl([shell("echo", "a"), { text: "fine" }], { env: { THNDRS_APPROVAL: "all" } });
  const { terminal } = stage;
  stage.send("go");
  await terminal.waitFor("Allow run_shell: echo a");
  terminal.press("ctrl+c");
  await terminal.waitFor("■ cancelled");
  stage.send("once more");
  await terminal.waitFor("fine");
  expect(terminal.lineMode().canonical).toBe(false);
});

test("approval: a question does not come between the keys of somebody who types", async () => {
  await using stage = await startRepl([{ ...shell("echo", "a"), hold: { gate: "call" } }, { text: "fine" }], {
    env: { THNDRS_APPROVAL: "shell" },
  });
  const { terminal, model } = stage;
  stage.send("go");
  await model.server.request(1);
  terminal.write("half a thou");
  await terminal.waitFor("❯ half a thou");
  model.server.release("call");
  await terminal.waitFor("a question waits");
  const last = performance.now();
  terminal.write("ght\r");
  await terminal.waitFor("↳ steering: half a thought");
  await terminal.waitFor("Allow run_shell: echo a");
  expect(performance.now() - last).toBeGreaterThan(500);
  await terminal.waitFor("to navigate");
  terminal.press("enter");
  await terminal.waitFor("fine");
  expect(stage.userTexts(2).at(-1)).toBe("half a thought");
});

test("approval in TERM=dumb is answered by number", async () => {
  await using stage = await startRepl([shell("echo", "dumb-ran"), { text: "over" }], {
    term: "dumb",
    env: { THNDRS_APPROVAL: "shell" },
  });
  const { terminal } = stage;
  stage.send("go");
  await terminal.waitFor("4  No");
  stage.send("something else");
  await terminal.waitFor("answer with a number");
  stage.send("1");
  await terminal.waitFor("over");
  expect(terminal.screen.everything()).toContain("dumb-ran");
});

test("history: 0600 in the state directory, secrets out, read back by the next start", async () => {
  await using place = await tempDir();
  const env = { THNDRS_HOME: place.at("home") };
  await using stage = await startRepl([{ text: "noted" }], { env });
  stage.send("my key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH");
  await stage.terminal.waitFor("noted");
  stage.terminal.press("ctrl+d");
  await stage.terminal.exited;
  const file = join(place.at("home"), "state", "history");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, "utf8")).not.toContain("abcdefghijklmnop");
  await using again = await startRepl([], { env });
  again.terminal.press("up");
  await again.terminal.waitFor("❯ my key is");
});

test("queued input whose audit cannot be written stays in the line", async () => {
  await using stage = await startRepl([{ text: "x", hold: { gate: "wait" } }], { env: { THNDRS_SESSION_DIR: "/dev/full" } });
  const { terminal } = stage;
  stage.send("go");
  await terminal.waitFor("not being saved");
  stage.send("do not lose me");
  await terminal.waitFor("was not queued");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ do not lose me");
  terminal.press("ctrl+c", "ctrl+c");
  await terminal.waitFor("■ cancelled");
  terminal.press("ctrl+d");
  expect((await terminal.exited).code).toBe(0);
});

test("/export writes Markdown and refuses to replace; /clear and /undo-view; /cd", async () => {
  await using stage = await startRepl([{ text: "exported words" }], { files: { "sub/AGENTS.md": "# Sub\n" } });
  const { terminal } = stage;
  stage.send("/export out.md");
  await terminal.waitFor("nothing to export yet");
  stage.send("say it");
  await terminal.waitFor("exported words");
  stage.send("/export out.md");
  await terminal.waitFor("written:");
  expect(readFileSync(join(terminal.cwd, "out.md"), "utf8")).toContain("exported words");
  stage.send("/export out.md");
  await terminal.waitFor("already exists");
  stage.send("/clear");
  await terminal.waitFor((screen) => !screen.text().includes("exported words"));
  stage.send("/undo-view");
  await terminal.waitFor((screen) => screen.text().includes("exported words"));
  stage.send("/cd sub");
  await terminal.waitFor("new session in");
  stage.send("/status");
  await terminal.waitFor(/directory .*\/sub/);
  stage.send("/context");
  await terminal.waitFor("sub/AGENTS.md");
  terminal.press("ctrl+d");
  expect((await terminal.exited).code).toBe(0);
});

test("an untrusted project configuration is asked about once, and no means no", async () => {
  await using place = await tempDir({ ".thndrs/config.toml": 'authority = "read-only"\n' });
  const options = { cwd: place.path, env: { THNDRS_HOME: place.at("home") }, ready: false };
  await using stage = await startRepl([], options);
  await stage.terminal.waitFor("Trust these files");
  stage.terminal.press("enter");
  await stage.terminal.waitFor("[Diagnostics]");
  stage.send("/status");
  await stage.terminal.waitFor("authority  workspace-write");
  stage.terminal.press("ctrl+d");
  await stage.terminal.exited;
  await using again = await startRepl([], options);
  await again.terminal.waitFor("[Diagnostics]");
  expect(again.terminal.screen.everything()).not.toContain("Trust these files");
  expect(existsSync(join(place.at("home"), "trust.json"))).toBe(false);
});

test("an answer about trust that cannot be remembered is said, and the REPL starts all the same", async () => {
  await using place = await tempDir({ ".thndrs/config.toml": 'authority = "read-only"\n', "home/state": "a file" });
  await using stage = await startRepl([], { cwd: place.path, env: { THNDRS_HOME: place.at("home") }, ready: false });
  await stage.terminal.waitFor("Trust these files");
  stage.terminal.press("enter");
  await stage.terminal.waitFor("[Diagnostics]");
  await waitForFlat(stage.terminal, "home/state is not a directory");
  stage.send("/status");
  await stage.terminal.waitFor("authority  workspace-write");
});

test("a prompt on the command line is sent first", async () => {
  await using stage = await startRepl([{ text: "hello back" }], { args: ["hello", "there"] });
  await stage.terminal.waitFor("hello back");
  expect(stage.userTexts(1)).toEqual(["hello there"]);
  await stage.terminal.waitFor((screen) => !SPINNER.test(screen.text()));
  stage.terminal.press("ctrl+d");
  await stage.terminal.exited;
});

test("a start that fails leaves the terminal alone", async () => {
  await using stage = await startRepl([], { env: { THNDRS_MODEL: "nowhere/x" }, ready: false });
  expect((await stage.terminal.exited).code).toBe(2);
  expect(stage.terminal.raw()).not.toContain("\x1b");
  expect(stage.terminal.lineMode().canonical).toBe(true);
});
