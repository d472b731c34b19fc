/** A `.mcp.json` that is a link could not be revoked by `thndrs mcp revoke`; a skill that is a link was never offered by `thndrs trust`. */
import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { runThndrs } from "../support/run.ts";
import { initGit, tempDir } from "../support/temp.ts";

test("what is trusted by its place is revoked by its place", async () => {
  await using home = await tempDir();
  await using dir = await tempDir({ "shared/servers.json": '{"mcpServers":{"m":{"command":"true"}}}' });
  initGit(dir.path);
  symlinkSync("shared/servers.json", dir.at(".mcp.json"));
  const run = (...args: string[]) => runThndrs({ args, cwd: dir.path, env: { THNDRS_HOME: home.path } });
  expect((await run("mcp", "trust", "--yes")).stdout).toContain("trusted: .mcp.json");
  expect((await run("mcp", "revoke")).stdout).toContain("no longer trusted");
  expect((await run("trust", "--list")).stdout).toBe("nothing is trusted\n");
});

test("a skill that is a link inside the workspace is offered, one that leads out is not", async () => {
  const skill = "---\nname: x\ndescription: does x\n---\nDo x.\n";
  await using home = await tempDir();
  await using outside = await tempDir({ "far/SKILL.md": skill });
  await using dir = await tempDir({ "shared/near/SKILL.md": skill });
  initGit(dir.path);
  mkdirSync(dir.at(".agents/skills"), { recursive: true });
  symlinkSync("../../shared/near", dir.at(".agents/skills/near"));
  symlinkSync(outside.at("far"), dir.at(".agents/skills/far"));
  const { stdout } = await runThndrs({ args: ["trust", "--yes"], cwd: dir.path, env: { THNDRS_HOME: home.path } });
  expect(stdout).toContain("trusted: .agents/skills/near/SKILL.md");
  expect(stdout).not.toContain("far");
});
