/**
 * `thndrs skills list|doctor [--json]`: which skills there are, which one of a name counts, and what is wrong with the others.
 * Refuses: changing anything (trust is `thndrs trust`).
 */
import { relative } from "node:path";
import { demandSkillDirs, openSkills, rootsOf, type SkillPlace } from "../app/skills.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { loadConfig } from "../config/load.ts";
import type { Skill } from "../skills/skill.ts";
import type { Skills } from "../skills/skills.ts";
import { visible } from "../ui/sanitize.ts";
import { type CommandContext, tellUnread } from "./command.ts";
import { renderTable } from "./table.ts";

/** What a person sees in place of `trust`. */
function stateOf(skill: Skill): string {
  if (skill.trust === "trusted") return skill.source;
  return skill.trust === "changed" ? `${skill.source}, changed since trusted` : `${skill.source}, not trusted`;
}

function listJson(skills: Skills): unknown {
  const available = new Set(skills.available());
  return skills.list().map((skill) => ({
    name: skill.name,
    description: skill.description,
    path: skill.path,
    source: skill.source,
    trust: skill.trust,
    available: available.has(skill),
    content_hash: skill.contentHash,
    byte_count: skill.byteCount,
    license: skill.license ?? null,
    compatibility: skill.compatibility ?? null,
    metadata: skill.metadata,
    allowed_tools: skill.allowedTools,
    references: skill.references,
  }));
}

function list(context: CommandContext, skills: Skills): ExitCode {
  const { stdout, stderr } = context.output;
  if (context.flags.json) {
    stdout.line(JSON.stringify(listJson(skills), null, 2));
    return EXIT.ok;
  }
  const rows = skills.list().map((skill) => [skill.name, stateOf(skill), skill.path, skill.description]);
  if (rows.length === 0) stdout.line('no skills ("thndrs help skills" says where they are looked for)');
  else
    for (const line of renderTable(["NAME", "SOURCE", "PATH", "DESCRIPTION"], rows, {
      aligned: stdout.isTerminal,
      columns: stdout.columns,
    }))
      stdout.line(line);
  const waiting = skills.list().filter((skill) => skill.trust !== "trusted").length;
  if (waiting > 0)
    stderr.line(
      `thndrs: ${waiting === 1 ? "one skill waits" : `${waiting} skills wait`} for your trust: read, then "thndrs trust"`,
    );
  const errors = skills.problems().filter((problem) => problem.severity === "error").length;
  if (errors > 0)
    stderr.line(`thndrs: ${errors === 1 ? "one skill has an error" : `${errors} skills have errors`}: "thndrs skills doctor"`);
  return EXIT.ok;
}

function doctorText(context: CommandContext, skills: Skills, place: SkillPlace): void {
  const { stdout } = context.output;
  const shown = (path: string): string => {
    const inside = relative(place.root, path);
    return visible(inside === "" || inside.startsWith("..") ? path : inside);
  };
  const good = skills.list().length;
  stdout.line(`${good} skill${good === 1 ? "" : "s"} in ${rootsOf(place).length} places`);
  for (const { name, selected, ignored } of skills.duplicates()) {
    stdout.line(`duplicate ${name}: ${shown(selected)} counts`);
    for (const path of ignored) stdout.line(`    ignored: ${shown(path)}`);
    const used = skills.available().find((skill) => skill.name === name);
    if (used && used.path !== selected) stdout.line(`    until it is trusted, ${shown(used.path)} is used`);
  }
  for (const { severity, path = "", message, line } of skills.problems()) {
    const what = message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message;
    stdout.line(`${severity} ${shown(path)}${line === undefined ? "" : `:${line}`}: ${visible(what)}`);
  }
  for (const skill of skills.list())
    if (skill.trust !== "trusted") stdout.line(`${skill.trust} ${shown(skill.path)}: the model does not use it ("thndrs trust")`);
}

/** Exit 1 where a skill has an error; duplicates and warnings are no failure. */
function doctor(context: CommandContext, skills: Skills, place: SkillPlace): ExitCode {
  if (context.flags.json) {
    const report = {
      roots: rootsOf(place).map(({ path, source }) => ({ path, source })),
      skills: listJson(skills),
      duplicates: skills.duplicates(),
      problems: skills.problems(),
    };
    context.output.stdout.line(JSON.stringify(report, null, 2));
  } else doctorText(context, skills, place);
  return skills.problems().some((problem) => problem.severity === "error") ? EXIT.failed : EXIT.ok;
}

/** @throws UserError (exit 2) for usage and a broken configuration. */
export async function runSkills(context: CommandContext): Promise<ExitCode> {
  const { words, flags, env, cwd } = context;
  const [verb = "list", ...rest] = words;
  if (rest.length > 0 || (verb !== "list" && verb !== "doctor")) {
    throw new UserError(`unknown words "${words.join(" ")}": thndrs skills list|doctor`);
  }
  demandSkillDirs(cwd, flags.skillDir ?? []);
  const { root } = await openWorkspace(cwd);
  const loaded = await loadConfig({ env, flags, cwd, workspaceRoot: root });
  tellUnread(context, loaded.diagnostics);
  const place = { loaded, root, cwd, given: flags.skillDir ?? [], trustAll: flags.trustProject === true };
  const skills = await openSkills(place);
  return verb === "doctor" ? doctor(context, skills, place) : list(context, skills);
}
