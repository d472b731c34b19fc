/**
 * The process and the session of an external agent: started with the first prompt, its session loaded again by its next
 * process (X03), ended with the commands it started through us. What it does wrong is said here, in its name. Refuses: prompts.
 */
import { type AgentHost, type AgentLink, startAgent } from "../acp/agent-link.ts";
import type { McpServer } from "../acp/protocol.ts";
import { AUTH_REQUIRED } from "../acp/refusal.ts";
import type { Terminals } from "../acp/terminals.ts";
import type { TurnContext } from "../agent/loop.ts";
import type { Stop } from "../agent/response.ts";
import type { ProcessOwner } from "../base/process.ts";
import type { AcpAgentSettings } from "../config/schema.ts";
import type { HostParts } from "./acp-host.ts";
import { version } from "./version.ts";

export type OuterParts = Pick<HostParts, "workspace" | "offers" | "emit" | "childEnv"> & {
  readonly agent: AcpAgentSettings;
  readonly processes: ProcessOwner;
  readonly redact: (text: string) => string;
  readonly localSessionId: string;
  /** The agent's session that an earlier run of this session had. */
  readonly previous: () => Promise<string | undefined>;
  /** Those it may have now; another list than the one it was started with is for another process. */
  readonly mcpServers: () => readonly McpServer[];
};

export type OuterSession = { readonly link: AgentLink; readonly id: string };

export type Opened =
  | { readonly ok: true; readonly session: OuterSession }
  /** Without `stop` it was cancelled. */
  | { readonly ok: false; readonly stop?: Stop };

export class OuterAgent {
  readonly #parts: OuterParts;
  readonly #host: AgentHost;
  readonly #terminals: Terminals;
  #session: OuterSession | undefined;
  /** Kept when the agent goes, so that its next process can load it. */
  #sessionId: string | undefined;
  #servers: readonly McpServer[] = [];
  #junkSaid = 0;

  constructor(parts: OuterParts, host: AgentHost, terminals: Terminals) {
    this.#parts = parts;
    this.#host = host;
    this.#terminals = terminals;
  }

  /** The agent's id of the session that is open now. */
  get sessionId(): string | undefined {
    return this.#session?.id;
  }

  /** The open session; a new process loads the session of the old one where the agent can. Never throws. */
  async open(context: TurnContext): Promise<Opened> {
    const servers = this.#parts.mcpServers();
    if (this.#session?.link.alive()) {
      if (servers === this.#servers) return { ok: true, session: this.#session };
      await this.end();
    }
    this.#session = undefined;
    this.#servers = servers;
    const { agent, workspace, processes, offers, childEnv } = this.#parts;
    const command = {
      name: agent.name,
      argv: [agent.command, ...agent.args],
      cwd: workspace.cwd,
      env: { ...childEnv(), ...agent.env },
      timeoutMs: agent.timeoutMs,
      version,
    };
    const offer = { write: offers("write"), terminal: offers("shell") };
    const started = await startAgent(command, this.#host, processes, offer, context.signal);
    if (context.signal.aborted) {
      if (started.ok) await started.link.end();
      return { ok: false };
    }
    if (!started.ok) return { ok: false, stop: { class: "protocol", message: this.says(started.message) } };
    const { link } = started;
    const opened = await this.#openSession(link, context);
    if (typeof opened === "object") {
      this.tellJunk(link);
      await link.end();
      return context.signal.aborted ? { ok: false } : { ok: false, stop: opened };
    }
    this.#record(link, opened);
    this.#sessionId = opened;
    this.#session = { link, id: opened };
    return { ok: true, session: this.#session };
  }

  /** Ends its process, and the commands it started through us: nobody else knows their terminals. */
  async end(): Promise<void> {
    const link = this.#session?.link;
    this.#session = undefined;
    await Promise.all([link?.end(), this.#terminals.releaseAll()]);
  }

  #record(link: AgentLink, id: string): void {
    const { agent, localSessionId } = this.#parts;
    const { agentInfo, protocolVersion } = link.info;
    this.#parts.emit({
      type: "acp_session",
      localSessionId,
      agentName: agent.name,
      acpSessionId: id,
      command: [agent.command, ...agent.args].join(" "),
      protocolVersion,
      ...(agentInfo && { agentInfo: { name: agentInfo.name, version: agentInfo.version } }),
    });
  }

  /** Its id, or why there is none. */
  async #openSession(link: AgentLink, { signal, messages }: TurnContext): Promise<string | Stop> {
    const { workspace } = this.#parts;
    const known = this.#sessionId ?? (await this.#parts.previous());
    const caps = link.info.agentCapabilities;
    const place = { cwd: workspace.cwd, mcpServers: this.#usable(caps?.mcpCapabilities) };
    if (known !== undefined) {
      // Resuming plays nothing back; loading does, and nobody listens meanwhile.
      const method = caps?.sessionCapabilities?.resume ? "session/resume" : caps?.loadSession ? "session/load" : undefined;
      const loaded = method && (await link.ask(method, { ...place, sessionId: known }, { signal }));
      if (loaded?.ok) return known;
      if (loaded && loaded.reason !== "refused") return { class: "protocol", message: this.says(loaded.message) };
      const why = loaded ? `could not load its session (${loaded.message})` : "cannot load sessions";
      this.warn("acp_session_lost", `${why}: it starts afresh and does not know the earlier conversation`);
    } else if (messages.some((message) => message.role === "assistant")) {
      this.warn("acp_session_lost", "has no session of this conversation: it does not know what was said before");
    }
    const made = await link.ask("session/new", place, { signal });
    if (made.ok) return made.value.sessionId;
    if (made.reason === "refused" && made.code === AUTH_REQUIRED) {
      const methods = Array.isArray(link.info.authMethods) ? link.info.authMethods : [];
      const ways = methods.map((method) => method.name).join(", ");
      const message = this.says(`wants you to log in first${ways === "" ? "" : ` (${ways})`}: ${made.message}`);
      return { class: "auth", message };
    }
    return { class: "protocol", message: this.says(made.message) };
  }

  /** The servers whose transport the agent knows; the others are named. */
  #usable(transports: { readonly http?: boolean; readonly sse?: boolean } | undefined): McpServer[] {
    const usable = this.#servers.filter((server) => !("type" in server) || transports?.[server.type] === true);
    const rest = this.#servers.filter((server) => !usable.includes(server)).map((server) => server.name);
    if (rest.length > 0) this.warn("mcp.passed", `takes no MCP servers over HTTP; not passed: ${rest.join(", ")}`);
    return usable;
  }

  /** A sentence about the agent. */
  says(message: string): string {
    return this.#parts.redact(`agent ${this.#parts.agent.name} ${message}`);
  }

  warn(code: string, message: string): void {
    this.#parts.emit({ type: "diagnostic", diagnostic: { severity: "warning", code, message: this.says(message) } });
  }

  /** Once, however much junk there is (X04). */
  tellJunk(link: AgentLink): void {
    const { lines, sample } = link.junk();
    if (lines <= this.#junkSaid) return;
    if (this.#junkSaid === 0) {
      const count = lines === 1 ? "a line" : `${lines} lines`;
      this.warn("acp_junk", `printed ${count} that are no protocol; skipped: ${JSON.stringify(sample)}`);
    }
    this.#junkSaid = lines;
  }
}
