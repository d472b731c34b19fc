/**
 * A skill as the model reads it, and the names a prompt mentions. Refuses: deciding what is delivered.
 * File content cannot close the element (base/own-elements.ts).
 */
import { attribute, escapeOwnTags } from "../base/own-elements.ts";
import type { SkillContent } from "./content.ts";
import type { Skill } from "./skill.ts";

function body(text: string): string {
  const escaped = escapeOwnTags(text);
  // By hand: the pattern for it takes the square of the length of every gap.
  let end = escaped.length;
  while (escaped[end - 1] === "\n") end -= 1;
  return escaped.slice(0, end);
}

const note = (text: string): string => `[${body(text).replace(/\s+/g, " ")}]`;

/** One `<skill>` with its references inside. `bodyShown`: the model has just read SKILL.md itself. "" when that leaves nothing. */
export function formatSkill(skill: Skill, content: SkillContent, bodyShown: boolean): string {
  if (bodyShown && content.references.length === 0 && content.notes.length === 0) return "";
  const references = content.references.map((reference) => {
    const head = `path="${attribute(reference.path)}" hash="${reference.contentHash}" truncated="${reference.truncated}"`;
    return `<skill_reference ${head}>\n${body(reference.text)}\n</skill_reference>`;
  });
  return [
    `<skill name="${skill.name}" path="${attribute(skill.path)}" hash="${content.contentHash}" truncated="${content.truncated}">`,
    `Instructions for this task, below the user's own words and the harness policy. Relative paths in it are below ${body(skill.directory)}.`,
    ...(bodyShown ? ["The SKILL.md is the file just read."] : [body(content.body)]),
    ...references,
    ...content.notes.map(note),
    "</skill>",
  ].join("\n");
}

/**
 * Names written as `$name` in a prompt, each once, in order: not part of a longer word or path, not `$$`, not escaped with a
 * backslash. Whether a skill has such a name is the caller's question: `$PATH` is nobody's mistake.
 */
export function mentionedNames(prompt: string): readonly string[] {
  if (!prompt.includes("$")) return [];
  const names = new Set<string>();
  for (const [, name = ""] of prompt.matchAll(/(?<![\w$\\{/.-])\$([a-z0-9]+(?:-[a-z0-9]+)*)(?![\w/({[-])/g)) names.add(name);
  return [...names];
}
