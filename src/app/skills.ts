/**
 * Joins skills to a run: roots from the configuration, trust, the scan for what is not trusted, and reading a skill's files
 * with read_file_range. Refuses: what a skill is, when it is delivered (skills/).
 */
import { isAbsolute, relative, resolve } from "node:path";
import type { Toolbox, ToolEntry } from "../agent/toolbox.ts";
import { lookAt } from "../base/look.ts";
import { UserError } from "../base/user-error.ts";
import { confineTo } from "../base/workspace.ts";
import type { LoadedConfig } from "../config/load.ts";
import { scanText } from "../context/scan.ts";
import { skillRoots } from "../skills/roots.ts";
import type { SkillRoot } from "../skills/skill.ts";
import { Skills } from "../skills/skills.ts";
import type { Tool, ToolContext, ToolResult } from "../tools/tool.ts";
import type { Diagnostic } from "../types/event.ts";
import { type RunFacts, UNTRUSTED } from "./inventory.ts";

export type SkillPlace = {
  readonly loaded: LoadedConfig;
  /** Real path of the workspace. */
  readonly root: string;
  readonly cwd: string;
  /** `--skill-dir` as typed. */
  readonly given: readonly string[];
  /** `--trust-project`. */
  readonly trustAll: boolean;
};

/** Every place that is searched, in order. */
export function rootsOf({ loaded, root, cwd, given }: SkillPlace): readonly SkillRoot[] {
  return skillRoots({
    workspaceRoot: root,
    home: loaded.homes.user,
    configured: loaded.config.skillDirs,
    given: given.map((path) => resolve(cwd, path)),
  });
}

function screen(text: string): string | undefined {
  const finding = scanText(text.replaceAll("\r\n", "\n")).findings.find((found) => !found.inCode);
  return finding && `line ${finding.line} looks like an attack (${finding.kind})`;
}

/** @throws UserError for a `--skill-dir` that is no directory: somebody who names one counts on its skills. */
export function demandSkillDirs(cwd: string, given: readonly string[]): void {
  for (const path of given) {
    const found = lookAt(resolve(cwd, path));
    if (found?.isDirectory() !== true)
      throw new UserError(`--skill-dir ${path}: ${found ? "is not a" : "there is no such"} directory`);
  }
}

/** The skills of a run, discovered. */
export async function openSkills(place: SkillPlace): Promise<Skills> {
  const skills = new Skills({
    roots: rootsOf(place),
    workspaceRoot: place.root,
    trustOf: async (path, bytes) => {
      if (place.trustAll) return "trusted";
      // Lazy door: only where a repository brings skills.
      const { trustOf } = await import("../config/project.ts");
      return trustOf(place.loaded.homes.config, path, bytes);
    },
    screen,
  });
  await skills.refresh();
  return skills;
}

/** For the startup display and the self-knowledge: every skill there is, and which wait for trust. */
export function skillFacts(skills: Skills): RunFacts["skills"] {
  return skills.list().map(({ name, path, source, trust }) => ({
    name,
    path,
    source: trust === "trusted" ? source : `${source} ${UNTRUSTED}`,
  }));
}

/** One line for all that is wrong: details are `thndrs skills doctor`'s. */
export function skillNotices(skills: Skills): readonly Diagnostic[] {
  const errors = skills.problems().filter((problem) => problem.severity === "error");
  const [first] = errors;
  if (!first) return [];
  const more = errors.length > 1 ? `; ${errors.length - 1} more of the kind` : "";
  const message = `a skill cannot be used: ${first.message}${more} ("thndrs skills doctor" lists them)`;
  return [{ severity: "warning", code: "skills.invalid", message }];
}

type ReadInput = { readonly path: string; readonly start_line?: number; readonly end_line?: number };

/** Outside the workspace only what lies below a usable skill of the user's own is read; that directory is then the workspace. */
function ownerOf(skills: Skills, path: string): { readonly directory: string; readonly path: string } | undefined {
  const absolute = isAbsolute(path) ? resolve(path) : undefined;
  const owner = absolute === undefined ? undefined : skills.owning(absolute);
  return owner && { directory: owner.skill.directory, path: `./${relative(owner.base, absolute ?? "")}` };
}

async function readAndActivate(
  tool: Tool<ReadInput>,
  skills: Skills,
  input: ReadInput,
  context: ToolContext,
): Promise<ToolResult> {
  const owner = ownerOf(skills, input.path);
  const result = owner
    ? await tool.run({ ...input, path: owner.path }, { ...context, workspace: confineTo(owner.directory) })
    : await tool.run(input, context);
  const [touched] = result.touched;
  const skill = result.status === "ok" && touched ? skills.at(touched.path) : undefined;
  // Places outside the workspace have no project instructions to look for.
  const plain = owner ? { ...result, touched: [] } : result;
  if (!skill) return plain;
  const complete = touched?.completeHash !== undefined;
  // A look at some lines is not yet the wish to use it.
  if (!complete && (input.start_line !== undefined || input.end_line !== undefined)) return plain;
  const { text, effects } = await skills.activate(skill, "model", complete);
  return { ...plain, text: text === "" ? plain.text : `${plain.text}\n\n${text}`, effects: [...plain.effects, ...effects] };
}

/** The toolbox whose read_file_range also knows skills: reading a SKILL.md activates it. */
export function withSkills(toolbox: Toolbox, skills: Skills): Toolbox {
  const wrap = (entry: ToolEntry): ToolEntry => ({
    ...entry,
    load: async () => {
      const tool = (await entry.load()) as Tool<ReadInput>;
      return { ...tool, run: (input: ReadInput, context: ToolContext) => readAndActivate(tool, skills, input, context) } as Tool;
    },
  });
  return {
    specs: () => toolbox.specs(),
    find(name) {
      const entry = toolbox.find(name);
      return entry && name === "read_file_range" ? wrap(entry) : entry;
    },
    withheld: (name) => toolbox.withheld(name),
  };
}
