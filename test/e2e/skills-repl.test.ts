/** /skills in the REPL: the picker, a name typed behind it, and what the next message then carries. */
import { expect, test } from "bun:test";
import { tempDir } from "../support/temp.ts";
import { startRepl } from "../ui/repl-stage.ts";

const skill = (name: string) => `---\nname: ${name}\ndescription: What ${name} does.\n---\n\nBODY-${name}\n`;

test("/skills picks a skill for the next message, also one that is not trusted; once", async () => {
  await using dir = await tempDir({
    "work/.agents/skills/alpha/SKILL.md": skill("alpha"),
    "home/.agents/skills/beta/SKILL.md": skill("beta"),
  });
  const options = { cwd: dir.at("work"), env: { HOME: dir.at("home") }, columns: 140 };
  await using stage = await startRepl([{ text: "answer one" }, { text: "answer two" }, { text: "answer three" }], options);
  const { terminal, model } = stage;
  await terminal.waitFor("[Skills] alpha (not trusted), beta");
  stage.send("/skills nothing");
  await terminal.waitFor('there is no skill "nothing"');
  stage.send("/skills beta");
  await terminal.waitFor("beta goes with your next message");
  stage.send("first");
  await terminal.waitFor("answer one");
  stage.send("/skills");
  await terminal.waitFor("Which skill for your next message?");
  await terminal.waitFor("alpha");
  terminal.press("enter");
  await terminal.waitFor("alpha goes with your next message");
  stage.send("second");
  await terminal.waitFor("answer two");
  stage.send("/skills beta");
  await terminal.waitFor("beta is in use already");
  terminal.write("use $alp");
  terminal.press("tab");
  await terminal.waitFor("use $alpha");
  terminal.press("ctrl+u");
  stage.send("third");
  await terminal.waitFor("answer three");
  const [first, second, third] = model.server.requests.map((request) => request.body.messages.at(-1).content as string);
  expect(first).toMatch(/<skill name="beta" [\s\S]*BODY-beta[\s\S]*<\/skill>\n\nfirst$/);
  expect(second).toMatch(/<skill name="alpha" [\s\S]*BODY-alpha[\s\S]*<\/skill>\n\nsecond$/);
  expect(third).toEndWith("third");
  expect(third).not.toContain("<skill name");
  const activated = (await stage.records()).filter((record) => record.type === "skill_activated");
  expect(activated.map((record) => record.name)).toEqual(["beta", "alpha"]);
  terminal.press("ctrl+d");
  expect((await terminal.exited).code).toBe(0);
});

test("$name in what is typed while a run goes on: steering and follow-ups bring the skill like a prompt, once", async () => {
  await using dir = await tempDir({
    "work/f.txt": "x\n",
    "home/.agents/skills/alpha/SKILL.md": skill("alpha"),
    "home/.agents/skills/beta/SKILL.md": skill("beta"),
    "home/.agents/skills/gamma/SKILL.md": skill("gamma"),
  });
  const look = { name: "find_files", arguments: { pattern: "*" } };
  const steps = [
    { calls: [look], hold: { gate: "one" } },
    { text: "nearly done", hold: { gate: "two" } },
    { text: "answer three", hold: { gate: "three" } },
    { text: "answer four" },
    { text: "answer five" },
  ];
  const options = { cwd: dir.at("work"), env: { HOME: dir.at("home") }, columns: 140 };
  await using stage = await startRepl(steps, options);
  const { terminal, model } = stage;
  stage.send("go");
  await model.server.request(1);
  stage.send("mind $alpha too");
  await terminal.waitFor("↳ steering: mind");
  model.server.release("one");
  // In the middle of the turn, and in place of its end.
  await model.server.request(2);
  stage.send("and $alpha with $beta");
  await terminal.waitFor("↳ steering: and");
  model.server.release("two");
  await model.server.request(3);
  terminal.press("ctrl+t");
  stage.send("later $gamma");
  await terminal.waitFor("↳ follow-up: later");
  model.server.release("three");
  await terminal.waitFor("answer four");
  await terminal.waitFor((screen) => !screen.text().includes("Enter:"));
  stage.send("last $alpha $beta $gamma");
  await terminal.waitFor("answer five");
  const texts = model.server.requests.map((request) => request.body.messages.at(-1).content as string);
  expect(texts[1]).toMatch(/^<skill name="alpha" [\s\S]*BODY-alpha[\s\S]*<\/skill>\n\nmind \$alpha too$/);
  expect(texts[2]).toMatch(/^<skill name="beta" [\s\S]*BODY-beta[\s\S]*<\/skill>\n\nand \$alpha with \$beta$/);
  expect(texts[3]).toMatch(/<skill name="gamma" [\s\S]*BODY-gamma[\s\S]*<\/skill>\n\nlater \$gamma$/);
  expect(texts[4]).not.toContain("<skill name");
  const records = await stage.records();
  const told = records.flatMap(({ type, action, text, name }) =>
    type === "skill_activated" ? [name] : action === "sent" || type === "assistant_finished" ? [text] : [],
  );
  expect(told).toEqual([
    "mind $alpha too",
    "alpha",
    "nearly done",
    "and $alpha with $beta",
    "beta",
    "answer three",
    "later $gamma",
    "gamma",
    "answer four",
    "answer five",
  ]);
  terminal.press("ctrl+d");
  expect((await terminal.exited).code).toBe(0);
});
