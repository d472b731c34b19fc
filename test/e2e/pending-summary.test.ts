/** A summary that waits for its review when the program ends waits again when the session is resumed. */
import { expect, test } from "bun:test";
import type { Seen, Step } from "../support/loopback.ts";
import { runThndrs } from "../support/run.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { type ReplStage, startRepl, waitForFlat } from "../ui/repl-stage.ts";

const SUMMARY =
  "## Objective\n- work\n## Decisions\n- none\n## Findings\n- none\n## Files touched\n- none\n## Failures\n- none\n## Verification\n- none\n## Open work\n- more";

const SKILL = "---\nname: alpha\ndescription: What alpha does.\n---\n\nBODY-alpha\n";

const isSummary = (seen: Seen): boolean => (seen.body.tools ?? []).length === 0;

/** Answers `done NAME` to the prompt `NAME`; to `look` after a tool call. */
function answer(seen: Seen): Step {
  if (isSummary(seen)) return { text: SUMMARY };
  const last = seen.body.messages.at(-1);
  const words = String(last.content).trim().split(/\s+/);
  if (last.role === "tool") return { text: "done looking" };
  const prompt = words.at(-1) ?? "";
  if (prompt === "talk") return { text: ["talking ", "done talking"], hold: { gate: "talk", at: 3 } };
  if (prompt === "first") return { text: `done first ${"many words ".repeat(150)} end of first` };
  return prompt === "look" ? { calls: [{ name: "find_files", arguments: { pattern: "*.md" } }] } : { text: `done ${prompt}` };
}

const CONFIG = '[compaction]\nreview = "always"\nkeep_recent_tokens = 60\n';

type Places = { readonly work: TempDir; readonly home: TempDir };

async function places(): Promise<Places> {
  const files = { ".git/HEAD": "", "AGENTS.md": "ROOT-RULES\n", "f.txt": "x\n" };
  return {
    work: await tempDir(files),
    home: await tempDir({
      "config.toml": CONFIG,
      ".agents/skills/alpha/SKILL.md": SKILL,
      ".agents/skills/beta/SKILL.md": SKILL.replaceAll("alpha", "beta"),
    }),
  };
}

function open({ work, home }: Places, args: readonly string[] = []): Promise<ReplStage> {
  const env = { THNDRS_HOME: home.path, HOME: home.path };
  return startRepl(answer, { cwd: work.path, env, args, columns: 200 });
}

async function ask({ terminal, send }: ReplStage, prompt: string, reply = `done ${prompt}`): Promise<void> {
  send(prompt);
  await terminal.waitFor(reply);
  await terminal.waitFor((screen) => !/Enter:|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(screen.text()));
}

async function leave({ terminal }: ReplStage): Promise<void> {
  terminal.press("ctrl+d");
  expect((await terminal.exited).code).toBe(0);
}

/** Three turns and a summary of the older ones, which waits. */
async function untilPending(stage: ReplStage): Promise<void> {
  await ask(stage, "with $alpha first", "end of first");
  await ask(stage, "look", "done looking");
  await ask(stage, "third");
  stage.send("/compact");
  await stage.terminal.waitFor("waits for your review");
  await stage.terminal.waitFor("/context review approve, or /context review reject");
}

/** What the last request held, without the system prompt and the places of this machine. */
function conversation(stage: ReplStage, { work, home }: Places): unknown {
  const [, ...messages] = stage.model.server.requests.at(-1)?.body.messages ?? [];
  return JSON.parse(JSON.stringify(messages).replaceAll(work.path, "WORK").replaceAll(home.path, "HOME"));
}

async function approve(stage: ReplStage): Promise<void> {
  stage.send("/context review approve");
  await stage.terminal.waitFor("summary approved");
}

test("approved after a resume, with a turn in between, it gives the conversation it would have given without", async () => {
  const straight = await places();
  const resumed = await places();
  let without: unknown;
  {
    await using stage = await open(straight);
    await untilPending(stage);
    await ask(stage, "more");
    await approve(stage);
    await ask(stage, "last");
    without = conversation(stage, straight);
    await leave(stage);
  }
  {
    await using stage = await open(resumed);
    await untilPending(stage);
    await leave(stage);
  }
  {
    await using stage = await open(resumed, ["--continue"]);
    await stage.terminal.waitFor("waits for your review");
    await waitForFlat(stage.terminal, "<conversation_summary>");
    await ask(stage, "more");
    stage.send("/compact");
    await waitForFlat(stage.terminal, "a summary already waits for a review");
    await leave(stage);
  }
  await using stage = await open(resumed, ["--continue"]);
  await stage.terminal.waitFor("waits for your review");
  await approve(stage);
  await ask(stage, "last");
  const messages = conversation(stage, resumed);
  expect(messages).toEqual(without);
  const text = JSON.stringify(messages);
  expect(text.split("ROOT-RULES")).toHaveLength(2);
  expect(text).toContain("Skills used before this summary: alpha");
  expect(text).not.toContain("done first");
  expect((await stage.records()).flatMap(({ type, review }) => (/^compaction/.test(String(type)) ? [review] : []))).toEqual([
    "pending",
    "approved",
  ]);
  await leave(stage);
  // From the log alone once more.
  await using again = await open(resumed, ["--continue"]);
  await again.terminal.waitFor("resumed here");
  await ask(again, "after");
  expect(again.terminal.screen.everything()).not.toContain("waits for your review");
  expect(JSON.stringify(conversation(again, resumed))).not.toContain("done first");
  for (const dir of [straight.work, straight.home, resumed.work, resumed.home]) dir.remove();
});

test("a cut at words that came into a running turn is found again after a resume", async () => {
  const conversations: unknown[] = [];
  for (const resumes of [false, true]) {
    const at = await places();
    await at.home.write({ "config.toml": CONFIG.replace("60", "5") });
    let stage = await open(at);
    await ask(stage, "with $alpha first", "end of first");
    stage.send("talk");
    await stage.terminal.waitFor("talking");
    stage.send("use $beta aside");
    await stage.terminal.waitFor("↳ steering");
    stage.model.server.release("talk");
    await stage.terminal.waitFor("done aside");
    stage.send("/compact");
    await stage.terminal.waitFor("waits for your review");
    if (resumes) {
      await leave(stage);
      await stage[Symbol.asyncDispose]();
      stage = await open(at, ["--continue"]);
      await stage.terminal.waitFor("waits for your review");
    }
    await approve(stage);
    await ask(stage, "last");
    conversations.push(conversation(stage, at));
    await leave(stage);
    await stage[Symbol.asyncDispose]();
    for (const dir of [at.work, at.home]) dir.remove();
  }
  const [without, after] = conversations;
  // What a skill brought is no part of the log.
  expect(after).toEqual(JSON.parse(JSON.stringify(without).replace(/<skill name=\\"beta[\s\S]*<\/skill>(?:\\n)+/, "")));
  expect(JSON.stringify(after)).toContain("use $beta aside");
  expect(JSON.stringify(after)).not.toContain("done talking");
});

test("rejected after a resume, nothing is replaced and another can be asked for", async () => {
  const at = await places();
  {
    await using stage = await open(at);
    await untilPending(stage);
    await leave(stage);
  }
  await using stage = await open(at, ["--continue"]);
  await stage.terminal.waitFor("waits for your review");
  stage.send("/context review reject");
  await stage.terminal.waitFor("summary rejected");
  stage.send("/context review approve");
  await stage.terminal.waitFor("no summary waits for review");
  await ask(stage, "last");
  expect(JSON.stringify(conversation(stage, at))).toContain("done first");
  stage.send("/compact");
  await stage.terminal.waitFor((screen) => screen.everything().split("waits for your review").length > 2);
  await leave(stage);
  for (const dir of [at.work, at.home]) dir.remove();
});

test("print mode asks nobody: it goes on with the whole conversation, and leaves the decision to the next REPL", async () => {
  const at = await places();
  {
    await using stage = await open(at);
    await untilPending(stage);
    const env = { ...stage.model.env, THNDRS_HOME: at.home.path, HOME: at.home.path };
    await leave(stage);
    const printed = await runThndrs({ args: ["--continue", "-p", "between"], cwd: at.work.path, env });
    expect(printed).toMatchObject({ code: 0, stdout: "done between\n" });
    expect(JSON.stringify(conversation(stage, at))).toContain("done first");
  }
  await using stage = await open(at, ["--continue"]);
  await stage.terminal.waitFor("waits for your review");
  await approve(stage);
  await ask(stage, "last");
  const text = JSON.stringify(conversation(stage, at));
  expect(text).not.toContain("done first");
  expect(text).toContain("done between");
  await leave(stage);
  for (const dir of [at.work, at.home]) dir.remove();
});
