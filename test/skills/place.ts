/** A workspace and a home with skills, and the skills of a run in them. */
import { join } from "node:path";
import type { TrustOf } from "../../src/skills/discover.ts";
import { skillRoots } from "../../src/skills/roots.ts";
import type { TrustState } from "../../src/skills/skill.ts";
import { Skills } from "../../src/skills/skills.ts";
import { type Files, type TempDir, tempDir } from "../support/temp.ts";

export type SkillPlace = AsyncDisposable & {
  readonly dir: TempDir;
  /** Absolute path below the workspace. */
  work(...parts: readonly string[]): string;
  /** Absolute path below the home. */
  home(...parts: readonly string[]): string;
  open(options?: {
    readonly trust?: (path: string, text: string) => TrustState;
    readonly configured?: readonly string[];
    readonly given?: readonly string[];
    readonly screen?: (text: string) => string | undefined;
  }): Promise<Skills>;
};

/** Text of a SKILL.md. */
export function skillText(name: string, more = "", body = `Body of ${name}.`): string {
  return `---\nname: ${name}\ndescription: What ${name} does.\n${more}---\n\n${body}\n`;
}

/** `files` are relative to a directory with `work/` and `home/` in it. */
export async function skillPlace(files: Files): Promise<SkillPlace> {
  const dir = await tempDir({ "work/x": "", "home/x": "", ...files });
  const work = (...parts: readonly string[]) => join(dir.at("work"), ...parts);
  const home = (...parts: readonly string[]) => join(dir.at("home"), ...parts);
  return {
    dir,
    work,
    home,
    async open({ trust = (): TrustState => "trusted", configured = [], given = [], screen = () => undefined } = {}) {
      const roots = skillRoots({ workspaceRoot: work(), home: home(), configured: [...given, ...configured], given });
      const trustOf: TrustOf = async (path, bytes) => trust(path, new TextDecoder().decode(bytes));
      const skills = new Skills({ roots, workspaceRoot: work(), trustOf, screen });
      await skills.refresh();
      return skills;
    },
    [Symbol.asyncDispose]: async () => dir.remove(),
  };
}
