/**
 * The built-in tools by name. Light: reads the generated catalog and loads neither a schema library nor a tool until a tool
 * is called. A tool joins by one line in LOADERS and one run of scripts/catalog.ts. Refuses: running tools, outside tools.
 */
import type { ToolSpec } from "../types/message.ts";
import catalogFile from "./catalog.json";
import type { EffectKind, Tool } from "./tool.ts";

export type CatalogEntry = {
  readonly name: string;
  readonly effect: EffectKind;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
};

/** In the order models see them. */
const LOADERS: Readonly<Record<string, () => Promise<Tool>>> = {
  find_files: async () => (await import("./find.ts")).findFiles as Tool,
  list_searchable_files: async () => (await import("./find.ts")).listSearchableFiles as Tool,
  search_text: async () => (await import("./search.ts")).searchText as Tool,
  read_file_range: async () => (await import("./read.ts")).readFileRange as Tool,
  create_file: async () => (await import("./write.ts")).createFileTool as Tool,
  replace_range: async () => (await import("./edit.ts")).replaceRange as Tool,
  write_patch: async () => (await import("./write.ts")).writePatch as Tool,
  run_shell: async () => (await import("./shell.ts")).runShell as Tool,
  background_process: async () => (await import("./background-process.ts")).backgroundProcess as Tool,
  read_url: async () => (await import("./read-url.ts")).readUrl as Tool,
  web_search: async () => (await import("./web-search.ts")).webSearch as Tool,
};

/** Names in catalog order. */
export function toolNames(): readonly string[] {
  return Object.keys(LOADERS);
}

/** What scripts/catalog.ts wrote, in catalog order. */
export function catalog(): readonly CatalogEntry[] {
  return catalogFile as readonly CatalogEntry[];
}

/** What a provider is told of the tools that pass `filter`; all without one. */
export function toolSpecs(filter: (name: string, effect: EffectKind) => boolean = () => true): ToolSpec[] {
  return catalog()
    .filter((entry) => filter(entry.name, entry.effect))
    .map(({ name, description, parameters }) => ({ name, description, parameters }));
}

/** Undefined for a name that is no built-in tool. */
export function effectOf(name: string): EffectKind | undefined {
  return catalog().find((entry) => entry.name === name)?.effect;
}

/** Loads a tool with its schema and executor; undefined for a name that is no built-in tool. */
export async function loadTool(name: string): Promise<Tool | undefined> {
  return Object.hasOwn(LOADERS, name) ? LOADERS[name]?.() : undefined;
}
