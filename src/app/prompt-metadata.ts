/** The `prompt_metadata` record of a turn: what its first request is made of. Refuses: the texts themselves. */
import type { SystemPrompt } from "../agent/prompt.ts";
import { contentHash } from "../base/hash.ts";
import type { RunEvent } from "../types/event.ts";
import type { ConversationParts } from "./conversation.ts";

type Parts = Pick<ConversationParts, "model" | "provider" | "toolbox" | "cwd" | "skills" | "diagnostics" | "context" | "today">;

export function promptMetadata(parts: Parts, turnId: string, system: SystemPrompt): RunEvent {
  const { toolbox, skills, context } = parts;
  const specs = toolbox.specs();
  return {
    ...about(parts, turnId),
    promptFragments: system.fragments,
    toolNames: specs.map((spec) => spec.name),
    skillNames: skills.available().map((skill) => skill.name),
    contextSources: context.sources().flatMap((source) => (source.state === "visible" ? [source.path] : [])),
    systemPromptHash: contentHash(system.text),
    toolCatalogHash: contentHash(JSON.stringify(specs)),
  };
}

/** Nothing of ours is sent to an external agent but the prompt. */
export function externalMetadata(parts: Parts, turnId: string): RunEvent {
  const nothing = contentHash("");
  return {
    ...about(parts, turnId),
    promptFragments: [],
    toolNames: [],
    skillNames: [],
    contextSources: [],
    systemPromptHash: nothing,
    toolCatalogHash: nothing,
  };
}

function about({ model, provider, cwd, diagnostics, today }: Parts, turnId: string) {
  return {
    type: "prompt_metadata",
    turnId,
    model,
    provider: provider.name,
    date: today(),
    cwd,
    diagnostics: diagnostics(),
  } as const;
}
