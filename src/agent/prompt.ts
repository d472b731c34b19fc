/**
 * The system prompt: harness policy, environment, skills, self-knowledge (C9.1). Byte-stable over a run, so a provider's
 * prompt cache keeps hitting. Refuses: instruction text of any project.
 */
import policy from "./prompt.md" with { type: "text" };

export type PromptFacts = {
  readonly workspace: string;
  readonly cwd: string;
  /** YYYY-MM-DD: rounded to the day for the cache. */
  readonly date: string;
  readonly platform: string;
  readonly model: string;
  /** True when nobody can answer a question (print mode). */
  readonly nonInteractive: boolean;
  readonly skills: readonly { readonly name: string; readonly description: string; readonly path: string }[];
  /** The `<thndrs_self_knowledge>` element. */
  readonly selfKnowledge: string;
};

export type SystemPrompt = { readonly text: string; readonly fragments: readonly string[] };

/** Values inside our own elements cannot close them. */
export function escapeElement(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function environment(facts: PromptFacts): string {
  return [
    "<environment>",
    `workspace: ${escapeElement(facts.workspace)}`,
    ...(facts.cwd === facts.workspace ? [] : [`started in: ${escapeElement(facts.cwd)}`]),
    `platform: ${facts.platform}`,
    `date: ${facts.date}`,
    `model: ${escapeElement(facts.model)}`,
    `mode: ${facts.nonInteractive ? "print (non-interactive: nobody answers questions)" : "interactive"}`,
    "</environment>",
  ].join("\n");
}

function skillList(facts: PromptFacts): string[] {
  if (facts.skills.length === 0) return [];
  const lines = facts.skills.map(
    (skill) => `- ${escapeElement(skill.name)}: ${escapeElement(skill.description)} (${escapeElement(skill.path)})`,
  );
  return [["<available_skills>", "Read a skill's file before a task it fits.", ...lines, "</available_skills>"].join("\n")];
}

/** Builds the prompt and names its fragments (`prompt_metadata.prompt_fragments`). */
export function buildSystemPrompt(facts: PromptFacts): SystemPrompt {
  const sections = policy.trim().split(/^## /m).slice(1);
  const names = sections.map((section) => section.slice(0, section.indexOf("\n")).trim());
  const bodies = sections.map((section) => section.slice(section.indexOf("\n") + 1).trim());
  const skills = skillList(facts);
  return {
    text: [...bodies, environment(facts), ...skills, facts.selfKnowledge].join("\n\n"),
    fragments: [...names, "environment", ...(skills.length > 0 ? ["skills"] : []), "self_knowledge"],
  };
}
