/**
 * Trust is of the place where a file stands, and links are not followed. A skill below a linked directory of the workspace has two
 * places there: the user's word about either counts, another repository's file borrows nothing, and an edit takes it back.
 */
import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { runThndrs } from "../support/run.ts";
import { type TempDir, tempDir } from "../support/temp.ts";

const skill = (name: string, body = "Body") => `---\nname: ${name}\ndescription: d\nreferences: [more.md]\n---\n${body}\n`;

function link(dir: TempDir, target: string, path: string): void {
  mkdirSync(dirname(dir.at(path)), { recursive: true });
  symlinkSync(target, dir.at(path));
}

test("a skill below a linked directory is trusted with the workspace; the same file by a link from elsewhere is not", async () => {
  await using home = await tempDir();
  await using dir = await tempDir({
    "docs/skills/far/SKILL.md": skill("far"),
    "docs/skills/far/more.md": "more\n",
    ".agents/skills/near/SKILL.md": skill("near"),
    ".agents/skills/near/more.md": "more\n",
  });
  link(dir, "../docs/skills", ".claude/skills");
  link(dir, "../.agents/skills", ".thndrs/skills");
  const env = { THNDRS_HOME: home.path };
  const trustOf = async (cwd: string): Promise<Record<string, string>> => {
    const { stdout } = await runThndrs({ args: ["skills", "list", "--json"], cwd, env });
    return Object.fromEntries(JSON.parse(stdout).map(({ name, trust }: { name: string; trust: string }) => [name, trust]));
  };
  expect(await trustOf(dir.path)).toEqual({ near: "untrusted", far: "untrusted" });
  expect((await runThndrs({ args: ["trust", "--yes"], cwd: dir.path, env })).code).toBe(0);
  expect(await trustOf(dir.path)).toEqual({ near: "trusted", far: "trusted" });

  await using other = await tempDir({ "README.md": "" });
  link(other, dir.at("docs/skills"), ".claude/skills");
  link(other, dir.at("docs/skills/far/SKILL.md"), ".agents/skills/far/SKILL.md");
  expect(await trustOf(other.path)).toEqual({});

  writeFileSync(dir.at("docs/skills/far/SKILL.md"), skill("far", "Other"));
  expect(await trustOf(dir.path)).toEqual({ near: "trusted", far: "changed" });
});
