/**
 * Facts about this run, said twice: to the person at start (C14) and to the model as `<thndrs_self_knowledge>` (seed).
 * Names, paths, hashes, counts and mode labels only: never file text, prompts or secrets.
 */

import { escapeElement } from "../agent/prompt.ts";
import { TOPICS } from "../base/help-topics.ts";
import type { Diagnostic, SourceInfo } from "../types/event.ts";

export type RunFacts = {
  readonly version: string;
  readonly workspace: string;
  readonly rendererMode: "print" | "direct-inline" | "acp";
  readonly provider: string;
  readonly model: string;
  readonly search: string;
  readonly authority: string;
  readonly tools: readonly string[];
  readonly skills: readonly { readonly name: string; readonly path: string; readonly source: string }[];
  readonly mcpServers: readonly string[];
  readonly contextEnabled: boolean;
  readonly sources: readonly SourceInfo[];
  readonly diagnostics: readonly Diagnostic[];
  readonly sessionDir: string | undefined;
};

function sourceLabel(source: SourceInfo): string {
  const marks = [
    ...(source.truncated ? ["truncated"] : []),
    ...(source.state === "path_only" ? ["path only"] : []),
    ...(source.state === "blocked" ? ["blocked"] : []),
  ];
  return marks.length === 0 ? source.path : `${source.path} (${marks.join(", ")})`;
}

const orNone = (items: readonly string[]): string => (items.length === 0 ? "(none)" : items.join(", "));

/** Stands behind the source of a skill that waits for trust. */
export const UNTRUSTED = "(not trusted)";

/** The startup display, one line a heading (C14). */
export function inventoryLines(facts: RunFacts): readonly string[] {
  const loaded = facts.sources.filter((source) => ["visible", "path_only", "blocked"].includes(source.state));
  const context = facts.contextEnabled ? orNone(loaded.map(sourceLabel)) : "(off)";
  const diagnostics = facts.diagnostics.filter((diagnostic) => diagnostic.severity !== "info");
  const spoken = diagnostics.map(({ message, path, line }) => {
    const where = path === undefined || message.includes(path) ? "" : `${path}${line === undefined ? "" : `:${line}`}: `;
    return `${where}${message}`;
  });
  return [
    `[Runtime] ${facts.provider} | ${facts.model} | search ${facts.search} | ${facts.rendererMode}`,
    `[Context] ${context}`,
    `[Search] ${facts.search}`,
    `[Skills] ${orNone(facts.skills.map(({ name, source }) => (source.endsWith(UNTRUSTED) ? `${name} ${UNTRUSTED}` : name)))}`,
    ...(spoken.length === 0 ? ["[Diagnostics] (none)"] : spoken.map((text) => `[Diagnostics] ${text}`)),
  ];
}

function element(name: string, attributes: Readonly<Record<string, string | number | boolean>>): string {
  const words = Object.entries(attributes).map(
    ([key, value]) => `${key}="${escapeElement(String(value)).replaceAll('"', "&quot;")}"`,
  );
  return `<${[name, ...words].join(" ")}/>`;
}

/** The snapshot's inner lines, without the element around them: what is compared to see whether it changed. */
export function selfKnowledge(facts: RunFacts): string {
  const sources = facts.sources.filter((source) => source.state !== "candidate");
  return [
    element("identity", {
      name: "thndrs",
      version: facts.version,
      capabilities: "read, search, edit, shell, project context, session log",
    }),
    element("runtime", {
      workspace: facts.workspace,
      renderer_mode: facts.rendererMode,
      provider: facts.provider,
      model: facts.model,
      search: facts.search,
      authority: facts.authority,
      sessions: facts.sessionDir ?? "(off)",
    }),
    element("tools", { names: facts.tools.join(" ") }),
    ...(facts.mcpServers.length > 0 ? [element("mcp", { servers: facts.mcpServers.join(" ") })] : []),
    element("docs", { command: "thndrs help TOPIC", topics: TOPICS.join(", ") }),
    ...facts.skills.map((skill) => element("skill", { name: skill.name, source: skill.source, path: skill.path })),
    ...(facts.contextEnabled ? [] : [element("project_context", { enabled: false })]),
    ...sources.map((source) =>
      element("source", {
        path: source.path,
        scope: source.scope,
        state: source.state,
        ...(source.contentHash !== "" && { hash: source.contentHash }),
        truncated: source.truncated,
        bytes: source.byteCount,
      }),
    ),
    ...facts.diagnostics
      .filter((diagnostic) => diagnostic.severity !== "info")
      .map((diagnostic) =>
        element("diagnostic", { severity: diagnostic.severity, code: diagnostic.code, message: diagnostic.message }),
      ),
  ].join("\n");
}

/** The element of the system prompt. */
export function selfKnowledgeElement(inner: string): string {
  return `<thndrs_self_knowledge>\n${inner}\n</thndrs_self_knowledge>`;
}

/** Sent at the head of a later user message when the snapshot changed: the system prompt's bytes stay. */
export function selfKnowledgeUpdate(inner: string): string {
  return `<thndrs_self_knowledge_update>\n${inner}\n</thndrs_self_knowledge_update>`;
}
