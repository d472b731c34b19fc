/**
 * The door to outside tools of a run: whether there are any, their start beside everything else, what changes between turns,
 * their end. Without a configured server nothing of mcp/ is loaded. Refuses: knowing the protocol.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ToolEntry } from "../agent/toolbox.ts";
import { contentHash } from "../base/hash.ts";
import type { ProcessOwner } from "../base/process.ts";
import { redact } from "../base/redact.ts";
import { UserError } from "../base/user-error.ts";
import type { Credentials } from "../config/credentials.ts";
import { configPaths } from "../config/homes.ts";
import type { LoadedConfig } from "../config/load.ts";
import { readSettingsFile } from "../config/settings-file.ts";
import type { Plans } from "../mcp/plans.ts";
import type { McpServers, ServerStatus } from "../mcp/servers.ts";
import type { Emit } from "../types/event.ts";
import { version } from "./version.ts";

export type OutsideOptions = {
  readonly loaded: LoadedConfig;
  /** Reads the configuration anew. @throws UserError */
  readonly reload: () => Promise<LoadedConfig>;
  readonly env: Readonly<Record<string, string>>;
  /** Real path of the workspace. */
  readonly root: string;
  readonly processes: ProcessOwner;
  readonly credentials: Credentials;
  /** `--no-mcp`, or an authority under which no outside tool exists. */
  readonly off: boolean;
  readonly trustProject: boolean;
  /** Whether there may be a second turn, before which the configuration can have changed. */
  readonly watch: boolean;
  /** What has to have ended before servers start; nothing where it is undefined. */
  readonly after?: Promise<void> | undefined;
  readonly emit: Emit;
};

export interface OutsideTools {
  /** The same array object while nothing changed. */
  entries(): readonly ToolEntry[];
  /** Before a turn's first request: what changed since the last turn, then servers that are starting. */
  ready(turnId: string, signal: AbortSignal): Promise<void>;
  /** Servers whose tools are there. */
  names(): readonly string[];
  /** Servers that are configured or there, ready or not: what a template may know before anything has started. */
  declared(): readonly string[];
  /** Values that must not be shown or logged. */
  secrets(): readonly string[];
  status(): readonly ServerStatus[];
  close(): Promise<void>;
}

const NONE: readonly never[] = [];

/** Everything that decides which servers there are, as one text; a trust given elsewhere counts too. */
function fingerprint(options: OutsideOptions): string {
  const { homes } = options.loaded;
  const { user, project } = configPaths(homes, options.root);
  const trust = homes.config === undefined ? undefined : join(homes.config, "trust.json");
  return [user, project, join(options.root, ".mcp.json"), trust]
    .map((path) => {
      const read = path === undefined ? undefined : readSettingsFile(path);
      return read?.kind === "bytes" ? contentHash(read.bytes) : (read?.kind ?? "none");
    })
    .join(" ");
}

class Outside implements OutsideTools {
  readonly #options: OutsideOptions;
  #servers: McpServers | undefined;
  #plans: Plans | undefined;
  #booting: Promise<void> | undefined;
  #seen: string | undefined;
  #closed = false;

  constructor(options: OutsideOptions) {
    this.#options = options;
    // Before anything is read: what changes from here on is a change.
    if (options.watch) this.#seen = fingerprint(options);
    if (!options.after) this.#begin();
    else void options.after.then(() => this.#begin());
  }

  #begin(): void {
    const { loaded } = this.#options;
    if (!this.#closed && this.#isWanted(loaded)) this.#booting = this.#boot(loaded);
  }

  #isWanted(loaded: LoadedConfig): boolean {
    return Object.keys(loaded.config.mcp.servers).length > 0 || existsSync(join(this.#options.root, ".mcp.json"));
  }

  async #read(loaded: LoadedConfig): Promise<Plans> {
    const { env, root, trustProject } = this.#options;
    // Lazy door: only a workspace with servers, or with a file that declares some.
    const { readPlans } = await import("../mcp/plans.ts");
    return readPlans({ loaded, env, root, trustProject });
  }

  async #boot(loaded: LoadedConfig): Promise<void> {
    const plans = await this.#read(loaded);
    this.#plans = plans;
    const { emit } = this.#options;
    for (const diagnostic of plans.diagnostics) emit({ type: "diagnostic", diagnostic });
    if (this.#closed || !plans.listed.some((server) => server.plan)) return;
    const { env, root, processes, credentials } = this.#options;
    const [{ openServers }, { storedLogin }] = await Promise.all([import("../mcp/servers.ts"), import("../mcp/held-login.ts")]);
    if (this.#closed) return;
    this.#servers = openServers(plans, {
      version,
      root,
      processes,
      inherit: env,
      startTimeoutMs: loaded.config.mcp.startTimeoutMs,
      authOf: (plan) => storedLogin(plan, credentials),
      // A server's own words may be in it.
      diagnose: (diagnostic) =>
        emit({ type: "diagnostic", diagnostic: { ...diagnostic, message: this.#hide(diagnostic.message) } }),
    });
  }

  #hide(text: string): string {
    return redact(text, { exact: [...this.#options.credentials.knownValues(), ...this.secrets()] });
  }

  entries(): readonly ToolEntry[] {
    return this.#servers?.entries() ?? NONE;
  }
  names(): readonly string[] {
    return this.#servers?.names() ?? NONE;
  }
  declared(): readonly string[] {
    const configured = Object.values(this.#options.loaded.config.mcp.servers).filter((server) => server.enabled);
    return [...new Set([...configured.map((server) => server.name), ...this.status().map((server) => server.name)])];
  }
  readonly secrets = (): readonly string[] => this.#servers?.secrets() ?? NONE;
  readonly status = (): readonly ServerStatus[] =>
    this.#servers?.status().map((server) => ({ ...server, reason: this.#hide(server.reason) })) ?? NONE;

  async ready(turnId: string, signal: AbortSignal): Promise<void> {
    await this.#options.after;
    if (this.#options.watch) await this.#lookForChanges(turnId);
    await this.#booting;
    await this.#servers?.ready(signal);
  }

  async #lookForChanges(turnId: string): Promise<void> {
    const now = fingerprint(this.#options);
    const before = this.#seen;
    this.#seen = now;
    if (before === undefined || before === now) return;
    await this.#booting;
    const { emit } = this.#options;
    let loaded: LoadedConfig;
    try {
      loaded = await this.#options.reload();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const message = `the configuration has changed and cannot be read; MCP servers stay as they are: ${error.message}`;
      emit({ type: "diagnostic", diagnostic: { severity: "warning", code: "mcp.config", message } });
      return;
    }
    await this.#change(turnId, loaded);
  }

  async #change(turnId: string, loaded: LoadedConfig): Promise<void> {
    const { emit } = this.#options;
    const previous = this.#plans;
    if (!previous && !this.#isWanted(loaded)) return;
    const current = await this.#read(loaded);
    if (previous && JSON.stringify(previous.listed) === JSON.stringify(current.listed)) return;
    emit({
      type: "mcp_config_changed",
      turnId,
      previous: previous?.files ?? [],
      current: current.files,
      diagnostics: current.diagnostics.map((diagnostic) => diagnostic.message),
    });
    if (!this.#servers) {
      this.#booting = this.#boot(loaded);
      return;
    }
    this.#plans = current;
    for (const diagnostic of current.diagnostics) emit({ type: "diagnostic", diagnostic });
    await this.#servers.update(current);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#booting;
    await this.#servers?.close();
  }
}

const NO_TOOLS: OutsideTools = {
  entries: () => NONE,
  ready: async () => undefined,
  names: () => NONE,
  declared: () => NONE,
  secrets: () => NONE,
  status: () => NONE,
  close: async () => undefined,
};

/** Servers begin to start now, or behind `after`; nothing is waited for. */
export function openOutside(options: OutsideOptions): OutsideTools {
  return options.off ? NO_TOOLS : new Outside(options);
}
