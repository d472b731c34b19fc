/**
 * What the REPL may do to an open conversation besides running turns: look, switch, rename, tidy the queue. Refuses: turns
 * (runtime.ts), text for people.
 */
import type { InputQueue, QueuedInput } from "../agent/queue.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { ContextEngine } from "../context/engine.ts";
import type { ServerStatus } from "../mcp/servers.ts";
import type { Provider, ProviderRequest } from "../provider/provider.ts";
import type { Skills } from "../skills/skills.ts";
import type { BackgroundProcess, BackgroundProcesses } from "../tools/background.ts";
import type { SourceInfo } from "../types/event.ts";
import type { Message } from "../types/message.ts";
import type { Approval, Authority } from "../types/settings.ts";
import type { ActiveModel } from "./active-model.ts";
import type { ContextControls } from "./context-controls.ts";
import type { Conversation } from "./conversation.ts";
import type { ChosenModel } from "./model.ts";

export type ReasoningEffort = NonNullable<ProviderRequest["reasoningEffort"]>;

/** Tokens of the next request as far as they are known. */
export type WindowUse = {
  readonly used: number;
  /** The window less the output reserve. */
  readonly available: number;
  readonly contextWindow: number;
  readonly source: string;
};

export interface Controls {
  /** Absolute real path that relative paths of prompts and commands start from. */
  readonly cwd: string;
  /** Where sessions are kept; undefined when ephemeral. */
  readonly sessionDir: string | undefined;
  /** Where the user's own settings and state are. */
  readonly homes: { readonly user?: string; readonly config?: string; readonly state?: string };
  readonly authority: Authority;
  readonly approval: Approval;
  readonly provider: Provider["name"];
  readonly reasoningEffort: ReasoningEffort | undefined;
  setReasoningEffort(effort: ReasoningEffort): void;
  /**
   * Another model from the next turn on; the conversation stays, and so does its model when `signal` comes first. Throws
   * UserError when it cannot be used, or a turn has begun meanwhile.
   */
  useModel(name: string, signal?: AbortSignal): Promise<void>;
  /** Records a new title; false when there is no log yet, or none at all. */
  retitle(title: string): boolean;
  readonly messages: readonly Message[];
  /** Resolves when the instructions that apply from the start are known. */
  discovered(): Promise<void>;
  readonly sources: readonly SourceInfo[];
  readonly tools: readonly string[];
  windowUse(): WindowUse;
  /** The ledger, pins, drops, recovery. */
  readonly context: ContextControls;
  /** For `/skills`: `pick` activates with the next message. */
  readonly skills: Pick<Skills, "byName" | "isActive" | "pick" | "refresh">;
  /** MCP servers of this run, with their state. */
  readonly mcp: () => readonly ServerStatus[];
  readonly background: {
    list(): readonly BackgroundProcess[];
    cancel(id: string): Promise<BackgroundProcess | undefined>;
  };
  readonly queue: {
    pending(): readonly QueuedInput[];
    takeFollowUp(): string | undefined;
    cancelSteering(): readonly QueuedInput[];
    /** Steering that came too late for its run becomes a follow-up. */
    retarget(): void;
    cancelAll(): readonly QueuedInput[];
  };
}

export type ControlParts = {
  readonly conversation: Conversation;
  readonly skills: Controls["skills"];
  readonly active: ActiveModel;
  readonly openOther: (name: string, signal?: AbortSignal) => Promise<ChosenModel>;
  readonly loaded: LoadedConfig;
  readonly cwd: string;
  readonly sessionDir: string | undefined;
  readonly queue: InputQueue;
  readonly mcp: Controls["mcp"];
  readonly background: BackgroundProcesses;
  readonly tools: () => readonly string[];
  readonly engine: ContextEngine;
  readonly context: ContextControls;
  /** Tokens of the next request: the ledger's `used`. */
  readonly used: () => number;
};

/** Joins the controls of one conversation. */
export function createControls(parts: ControlParts): Controls {
  const { conversation, active, loaded, queue, background } = parts;
  return {
    cwd: parts.cwd,
    sessionDir: parts.sessionDir,
    homes: loaded.homes,
    authority: loaded.config.authority,
    approval: loaded.config.approval,
    get provider() {
      return active.provider.name;
    },
    get reasoningEffort() {
      return active.reasoningEffort ?? loaded.config.reasoningEffort;
    },
    setReasoningEffort(effort) {
      active.reasoningEffort = effort;
    },
    async useModel(name, signal) {
      const next = await parts.openOther(name, signal);
      if (!signal?.aborted) active.use(next);
    },
    retitle: (title) => conversation.retitle(title),
    get messages() {
      return conversation.messages;
    },
    discovered: () => conversation.discovered(),
    get sources() {
      return parts.engine.sources();
    },
    get tools() {
      return parts.tools();
    },
    windowUse: () => ({
      used: parts.used(),
      available: active.budget.available,
      contextWindow: active.chosen.window.contextWindow,
      source: active.chosen.window.source,
    }),
    context: parts.context,
    skills: parts.skills,
    mcp: parts.mcp,
    background: { list: () => background.list(), cancel: (id) => background.cancel(id) },
    queue: {
      pending: () => queue.pending(),
      takeFollowUp: () => queue.takeFollowUp(),
      cancelSteering: () => queue.cancelSteering(),
      retarget: () => queue.retarget(),
      cancelAll: () => queue.cancelAll(),
    },
  };
}
