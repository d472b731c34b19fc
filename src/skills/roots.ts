/** Where skills are looked for, nearest first (integrations.md, Skills). Refuses: looking. */
import { join } from "node:path";
import { isBelow, realOf } from "../base/below.ts";
import type { SkillRoot } from "./skill.ts";

/** Below the workspace, then below the user's home. */
const PLACES = [join(".thndrs", "skills"), join(".agents", "skills"), join(".claude", "skills")] as const;

export type RootOptions = {
  /** Real path. */
  readonly workspaceRoot: string;
  readonly home: string | undefined;
  /** `skill_dirs` of all configuration files, absolute. */
  readonly configured: readonly string[];
  /** `--skill-dir`, absolute: the user's own word, wherever it lies. */
  readonly given: readonly string[];
};

/** Every root in order of precedence, whether it exists or not. What belongs to the repository waits for trust. */
export function skillRoots(options: RootOptions): readonly SkillRoot[] {
  const { workspaceRoot, home } = options;
  // Somebody working in the home directory itself: those skills are the user's own.
  const atHome = home !== undefined && realOf(home) === workspaceRoot;
  const project = PLACES.map((place): SkillRoot => ({ path: join(workspaceRoot, place), source: "project", needsTrust: true }));
  const user =
    home === undefined ? [] : PLACES.map((place): SkillRoot => ({ path: join(home, place), source: "user", needsTrust: false }));
  const given = new Set(options.given);
  const configured = [...new Set([...options.given, ...options.configured])].map(
    (path): SkillRoot => ({ path, source: "configured", needsTrust: !given.has(path) && isBelow(realOf(path), workspaceRoot) }),
  );
  return [...(atHome ? [] : project), ...user, ...configured];
}
