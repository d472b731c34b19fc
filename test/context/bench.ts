/** A workspace and an engine on it, for tests of context/. Refuses: anything outside its temporary directory. */
import { mkdir } from "node:fs/promises";
import { type ContextEngine, type ContextOptions, openContext } from "../../src/context/engine.ts";
import type { Diagnostic } from "../../src/types/event.ts";
import type { ContextSettings } from "../../src/types/settings.ts";
import { type Files, type TempDir, tempDir } from "../support/temp.ts";

export const SETTINGS: ContextSettings = {
  enabled: true,
  filenames: ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md"],
  maxChars: 20_000,
  ownMaxChars: 20_000,
  maxDiscoveredChars: 8_000,
  maxTotalChars: 100_000,
  ancestors: true,
  scan: "block",
};

export const FACTS = {
  model_name: "claude-sonnet-4",
  model_id: "anthropic",
  session_id: "session-1",
  current_date: "2026-01-02",
  is_non_interactive: true,
  supports_vision: false,
  available_tools: ["read_file_range", "run_shell"],
  available_mcp_servers: ["docs"],
  available_skills: ["release-notes"],
};

export type Bench = AsyncDisposable & {
  readonly dir: TempDir;
  readonly root: string;
  readonly engine: ContextEngine;
  readonly diagnostics: Diagnostic[];
  /** Codes of the diagnostics so far. */
  codes(): string[];
  /** Another engine on the same directories. */
  reopen(more?: Partial<ContextOptions>): ContextEngine;
  /** Absolute path below the root. */
  at(...parts: string[]): string;
};

/** `files` are relative to the directory that holds `repo` (the root), `config` (the config home) and whatever else. */
export async function bench(
  files: Files,
  settings: Partial<ContextSettings> = {},
  more: Partial<ContextOptions> = {},
): Promise<Bench> {
  const dir = await tempDir(files);
  const root = dir.at("repo");
  await mkdir(root, { recursive: true });
  const diagnostics: Diagnostic[] = [];
  const open = (extra: Partial<ContextOptions> = {}): ContextEngine =>
    openContext({
      root,
      cwd: root,
      configHome: dir.at("config"),
      settings: { ...SETTINGS, ...settings },
      facts: () => FACTS,
      diagnose: (diagnostic) => diagnostics.push(diagnostic),
      ...more,
      ...extra,
    });
  const engines = [open(more)];
  const engine = engines[0] ?? open();
  return {
    dir,
    root,
    engine,
    diagnostics,
    codes: () => diagnostics.map((diagnostic) => diagnostic.code),
    reopen: (extra) => {
      const another = open(extra);
      engines.push(another);
      return another;
    },
    at: (...parts) => dir.at("repo", ...parts),
    [Symbol.asyncDispose]: async () => {
      for (const each of engines) {
        each.close();
        await each.indexed();
      }
      dir.remove();
    },
  };
}

/** Paths of a delivery's sources below the bench's directory. */
export function paths(from: Bench, delivery: { readonly sources: readonly { readonly path: string }[] }): string[] {
  return delivery.sources.map((source) => source.path.replace(`${from.dir.path}/`, ""));
}

/** `path → state` of the ledger. */
export function states(from: Bench, engine = from.engine): Record<string, string> {
  return Object.fromEntries(engine.sources().map((source) => [source.path.replace(`${from.dir.path}/`, ""), source.state]));
}
