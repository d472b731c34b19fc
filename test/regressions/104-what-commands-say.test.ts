/** Commands that said what a run would not do: servers, instruction files, skills, searches, summaries. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { FLAGS } from "../../src/cli/flags.ts";
import { fakeCommand } from "../mcp/fleet.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { type Files, tempDir } from "../support/temp.ts";
import { startRepl } from "../ui/repl-stage.ts";

async function place(files: Files) {
  const dir = await tempDir({ ".git/HEAD": "", ...files });
  const env = { THNDRS_HOME: dir.at("home") };
  const run = (args: readonly string[], more: Record<string, string> = {}) =>
    runThndrs({ args, cwd: dir.path, env: { ...env, ...more } });
  return { dir, run };
}

test("under read-only authority no command starts a server; denied tools are not listed", async () => {
  const { dir, run } = await place({});
  await using _ = dir;
  const [command, ...args] = fakeCommand({ tools: [{ name: "a" }, { name: "b" }] });
  const script = `touch ${dir.at("STARTED")}; exec "$@"`;
  const table = { command: "/bin/sh", args: ["-c", script, "sh", command, ...args] };
  await dir.write({
    "home/config.toml": `[mcp.servers.s]\ncommand = ${JSON.stringify(table.command)}\nargs = ${JSON.stringify(table.args)}\n`,
  });
  for (const words of [["status"], ["tools"], ["test", "s"], ["call", "s", "a"]]) {
    for (const [flags, env] of [
      [["--authority", "read-only"], {}],
      [[], { THNDRS_AUTHORITY: "read-only" }],
    ] as const) {
      const result = await run(["mcp", ...words, ...flags], env);
      expect(result).toMatchObject({ code: 3, stdout: "" });
      expect(result.stderr).toContain("authority is read-only: no MCP server is started");
    }
  }
  expect(existsSync(dir.at("STARTED"))).toBe(false);
  expect((await run(["mcp", "list"])).stdout).toMatch(/^s\tconfigured\t/m);
  expect((await run(["mcp", "tools", "--deny-tool", "mcp__s__b"])).stdout).toMatch(/^mcp__s__a\t[^\n]*\n$/);
  expect(existsSync(dir.at("STARTED"))).toBe(true);
}, 60_000);

test("instruction files that only a pin brings are said to be; a pin without context is refused", async () => {
  const files = { "AGENTS.md": "ROOT\n", "pkg/AGENTS.md": "PKG\n", "pkg/dist/AGENTS.md": "DIST\n", "pkg/dist/a.js": "" };
  const { dir, run } = await place(files);
  await using _ = dir;
  const asked = await run(["context", "pkg/dist/a.js"]);
  const [sent = "", known = ""] = asked.stdout.split("Known, not sent:");
  expect(sent).toContain("pkg/AGENTS.md");
  expect(sent).not.toContain("dist/AGENTS.md");
  expect(known).toMatch(/pkg\/dist\/AGENTS\.md .*candidate.*sent only when pinned: dist is passed over otherwise/);
  expect((await run(["context", "pkg/dist/a.js", "--show"])).stdout).not.toContain("DIST");
  expect((await run(["context", "--pin", "pkg/dist/a.js", "--show"])).stdout).toContain("DIST");
  const refused = await run(["context", "--no-context", "--pin", "pkg"]);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("--pin pkg: Project context is off");
  expect((await run(["context", "--no-context", "pkg"])).code).toBe(0);
}, 60_000);

test("of two skills of a name both are listed: the one the model gets, and the one that waits", async () => {
  const skill = (what: string) => `---\nname: deploy\ndescription: ${what}\n---\nDo it.\n`;
  const { dir, run } = await place({
    ".agents/skills/deploy/SKILL.md": skill("theirs"),
    "user/.agents/skills/deploy/SKILL.md": skill("mine"),
  });
  await using _ = dir;
  const home = { HOME: dir.at("user") };
  const list = await run(["skills", "list"], home);
  expect(list.stdout).toMatch(/^deploy\tproject, not trusted\t.*theirs$/m);
  expect(list.stdout).toMatch(/^deploy\tuser\t.*mine$/m);
  const json: { source: string; available: boolean }[] = JSON.parse((await run(["skills", "list", "--json"], home)).stdout);
  expect(json.map(({ source, available }) => `${source} ${available}`)).toEqual(["project false", "user true"]);
  await using model = await startModel([{ text: "done" }]);
  const result = await run(["-p", "-v", "x"], { ...home, ...model.env });
  expect(result.stderr).toContain("[Skills] deploy (not trusted), deploy");
});

test("a search without its key is nowhere said to be there", async () => {
  await using model = await startModel([{ text: "done" }, { text: "done" }]);
  const { dir, run } = await place({});
  await using _ = dir;
  const env = { ...model.env, THNDRS_WEB_SEARCH: "brave" };
  const doctor = await run(["doctor"], env);
  expect(doctor.code).toBe(0);
  expect(doctor.stdout).toMatch(/^warning +web\.search is brave, but BRAVE_API_KEY is not set/m);
  for (const [flags, more, search] of [
    [[], {}, "none"],
    [[], { BRAVE_API_KEY: "key-of-brave" }, "brave"],
  ] as const) {
    const { stderr } = await run(["-p", "-v", "x", ...flags], { ...env, ...more });
    expect(stderr).toContain(`[Search] ${search}\n`);
    expect(JSON.stringify(model.server.requests.at(-1)?.body.messages[0])).toContain(`search=\\"${search}\\"`);
  }
  const denied = await run(["-p", "--print-prompt", "x", "--deny-tool", "web_search"], model.env);
  expect(denied.stdout).toContain('search="none"');
});

test("compaction.mode = off means that nothing is summarised", async () => {
  await using stage = await startRepl([{ text: "FIRST ANSWER" }, { text: "SECOND ANSWER" }, { text: "A SUMMARY" }], {
    env: { THNDRS_COMPACTION_MODE: "off", THNDRS_COMPACTION_KEEP_RECENT_TOKENS: "1" },
  });
  stage.send("first");
  await stage.terminal.waitFor("FIRST ANSWER");
  stage.send("second");
  await stage.terminal.waitFor("SECOND ANSWER");
  stage.send("/compact x");
  await stage.terminal.waitFor('compaction.mode is "off"');
  expect(stage.model.server.requests).toHaveLength(2);
}, 30_000);

test("acp.md names every flag that may follow serve, and mcp.md every variable a server gets", async () => {
  const { stdout: acp } = await runThndrs({ args: ["help", "acp"] });
  const served = FLAGS.filter((flag) => flag.on?.includes("acp serve"));
  expect(served.length).toBeGreaterThan(5);
  const [, sentence = ""] = /These flags may follow([\s\S]*?)\. Without/.exec(acp) ?? [];
  for (const { name } of served) expect(sentence).toContain(`--${name}`);
  const { stdout: mcp } = await runThndrs({ args: ["help", "mcp"] });
  for (const name of ["LOGNAME", "LANGUAGE", "LC_*", "TEMP", "TMP", "TERM=dumb", "NO_COLOR=1", "THNDRS_PROCESS"]) {
    expect(mcp).toContain(`\`${name}\``);
  }
});
