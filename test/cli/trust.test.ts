/** `thndrs trust` (cli.md, Configuration; W07). */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { runTrust } from "../../src/cli/trust.ts";
import { openTrust } from "../../src/config/trust.ts";
import { makeStage } from "./stage.ts";

const PROJECT = 'model = "a/b"\n[mcp.servers.hit]\ncommand = "touch"\nargs = ["/tmp/HIT"]\n';

test("W07 trust shows what the files ask for, remembers them, and they count until the next edit", async () => {
  using stage = makeStage();
  stage.project(PROJECT);
  stage.write(join(stage.root, ".mcp.json"), '{"mcpServers":{"evil":{"command":"curl","args":["http://x"]}}}');
  stage.write(join(stage.root, ".claude/skills/deploy/SKILL.md"), "---\nname: deploy\n---\n");
  const { code, stdout } = await stage.play(runTrust, ["trust", "--yes"]);
  expect(code).toBe(0);
  expect(stdout).toContain(".thndrs/config.toml: configuration");
  expect(stdout).toContain('    mcp.servers.hit.command = "touch"');
  expect(stdout).toContain("    evil: curl http://x");
  expect(stdout).toContain(".claude/skills/deploy/SKILL.md: a skill");
  expect((await stage.load()).config.mcp.servers.hit?.command).toBe("touch");
  expect((await stage.play(runTrust, ["trust", "--yes"])).stdout).toBe("already trusted as it is now\n");
  const store = openTrust(stage.home);
  expect(await store.state(join(stage.root, ".mcp.json"), await Bun.file(join(stage.root, ".mcp.json")).bytes())).toBe("trusted");
  stage.project(`${PROJECT}# edited\n`);
  expect((await stage.load()).config.model).toBeUndefined();
  const listed = JSON.parse((await stage.play(runTrust, ["trust", "--list", "--json"])).stdout) as {
    path: string;
    state: string;
  }[];
  expect(listed.map((entry) => entry.state).sort()).toEqual(["changed", "trusted", "trusted"]);
});

test("every server that would start is shown with its variables, whatever stands beside it in .mcp.json", async () => {
  using stage = makeStage();
  const servers = {
    broken: null,
    hit: { command: "npx", args: ["x"], cwd: "sub", env: { NODE_OPTIONS: "--require ./evil.js" } },
    far: { url: "https://far.example.org/mcp", headers: { "X-Team": "red" } },
  };
  stage.write(join(stage.root, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  const { stdout } = await stage.play(runTrust, ["trust", "--yes"]);
  expect(stdout).toContain("    hit: npx x\n        cwd sub\n        env NODE_OPTIONS=--require ./evil.js\n");
  expect(stdout).toContain("    far: https://far.example.org/mcp\n        header X-Team: red\n");
  expect(stdout).toContain("MCP server broken is left out: it is not an object");
});

test("trust is not given without a terminal and --yes, nor from inside a run", async () => {
  using stage = makeStage();
  stage.project(PROJECT);
  await expect(stage.play(runTrust, ["trust"])).rejects.toMatchObject({ exitCode: 3 });
  await expect(stage.play(runTrust, ["trust", "--yes"], { THNDRS_PROCESS: "mark" })).rejects.toMatchObject({ exitCode: 3 });
  expect((await stage.load()).config.model).toBeUndefined();
});

test("revoke forgets this workspace and no other", async () => {
  using stage = makeStage();
  stage.project(PROJECT);
  await stage.trust();
  const sibling = stage.write(`${stage.root}-other/.thndrs/config.toml`, PROJECT);
  await openTrust(stage.home).add([{ path: sibling, bytes: Buffer.from(PROJECT) }]);
  const { stdout } = await stage.play(runTrust, ["trust", "--revoke"]);
  expect(stdout).toBe(`no longer trusted: ${stage.projectFile}\n`);
  expect((await stage.load()).config.model).toBeUndefined();
  expect((await stage.play(runTrust, ["trust", "--list"])).stdout).toContain(`trusted  ${sibling}`);
  expect((await stage.play(runTrust, ["trust", "--revoke"])).stdout).toContain("was trusted");
});

test("what a variable overrides today is shown all the same", async () => {
  using stage = makeStage();
  stage.project('model = "a/b"\n[context]\nscan = "off"\n');
  const { stdout } = await stage.play(runTrust, ["trust", "--yes"], { THNDRS_MODEL: "c/d" });
  expect(stdout).toContain('    model = "a/b"\n');
  expect(stdout).toContain('    context.scan = "off"  (never counts in a project)\n');
});

test("skills in directories the project names are part of it", async () => {
  using stage = makeStage();
  stage.project('skill_dirs = ["../tools/skills", "/tmp", "../.agents/skills"]\n');
  stage.write(join(stage.root, "tools/skills/x/SKILL.md"), "---\nname: x\n---\n");
  stage.write(join(stage.root, ".agents/skills/y/SKILL.md"), "---\nname: y\n---\n");
  const { stdout } = await stage.play(runTrust, ["trust", "--yes"]);
  expect(stdout).toEndWith(
    'trusted: .thndrs/config.toml, .agents/skills/y/SKILL.md, tools/skills/x/SKILL.md (until the next edit; take it back with "thndrs trust --revoke")\n',
  );
});

test("nothing to trust; odd words; a broken file", async () => {
  using stage = makeStage();
  expect((await stage.play(runTrust, ["trust", "--yes"])).stdout).toContain("asks for trust");
  expect((await stage.play(runTrust, ["trust", "--list"])).stdout).toBe("nothing is trusted\n");
  await expect(stage.play(runTrust, ["trust", "all"])).rejects.toThrow("takes no words");
  stage.project("modle = 1\n");
  await expect(stage.play(runTrust, ["trust", "--yes"])).rejects.toThrow("unknown key");
  expect(await openTrust(stage.home).list()).toEqual([]);
});

test("what is shown cannot drive the terminal", async () => {
  using stage = makeStage();
  stage.project('[mcp.servers.x]\ncommand = "\\u001b[2Jls"\n');
  stage.write(join(stage.root, ".mcp.json"), '{"mcpServers":{"\\u001b[31m":{"command":"\\u202etxt"}}}');
  const { stdout } = await stage.play(runTrust, ["trust", "--yes"]);
  expect(stdout).not.toMatch(/[\u001b\u202e]/);
});
