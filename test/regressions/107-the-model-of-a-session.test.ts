/** A session went on with another model than it was made with, and nobody said so. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const CONFIGURED = 'model = "openrouter/configured"\n';

test("the model of the configuration goes on with a session of another: told once, and how to have the other", async () => {
  await using dir = await tempDir({ "home/config.toml": CONFIGURED, "work/a.txt": "a\n" });
  await using model = await startModel([{ text: "one" }, { text: "two" }, { text: "three" }, { text: "four" }]);
  const { THNDRS_MODEL: _, ...env } = model.env;
  const run = (...args: string[]) =>
    runThndrs({ args: ["-p", ...args], cwd: dir.at("work"), env: { ...env, THNDRS_HOME: dir.at("home") }, stdin: "null" });
  const warning =
    /^thndrs: warning: session \S+ was last used with openrouter\/chosen; this run uses openrouter\/configured \(--model or \/model openrouter\/chosen goes on with that one\)$/m;
  expect((await run("--model", "openrouter/chosen", "hi")).stderr).not.toContain("warning");
  expect((await run("-c", "--model", "openrouter/chosen", "more")).stderr).not.toContain("warning");
  const other = await run("-c", "more");
  expect(other).toMatchObject({ code: 0, stdout: "three\n" });
  expect(other.stderr).toMatch(warning);
  expect((await run("-c", "more")).stderr).not.toContain("warning");
  expect(model.server.requests.map(({ body }) => body.model)).toEqual(["chosen", "chosen", "configured", "configured"]);
});

test("an agent in place of a model is the same one again", async () => {
  const fake = join(import.meta.dir, "../acp/fake-agent.ts");
  const agent = `[acp.agents.fake]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify([fake, "plain"])}\n`;
  await using dir = await tempDir({ "home/config.toml": `model = "acp:fake"\n${agent}`, "work/a.txt": "a\n" });
  const run = (...args: string[]) =>
    runThndrs({ args: ["-p", ...args], cwd: dir.at("work"), env: { THNDRS_HOME: dir.at("home") }, stdin: "null" });
  expect((await run("one")).code).toBe(0);
  const again = await run("-c", "two");
  expect(again.code).toBe(0);
  expect(again.stderr).not.toContain("warning");
});
