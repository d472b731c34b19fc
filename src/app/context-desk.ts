/** Joins the ledger, the decisions of an earlier run and `--pin` to one conversation. Refuses: logic of its own. */
import type { ContextEngine } from "../context/engine.ts";
import type { Skills } from "../skills/skills.ts";
import type { ActiveModel } from "./active-model.ts";
import type { Bus } from "./bus.ts";
import { type ContextControls, createContextControls, pinAll, restoreDecisions } from "./context-controls.ts";
import type { Conversation } from "./conversation.ts";
import { createHeldSkills } from "./held-skills.ts";
import { buildLedger, type LedgerInput, usedTokens } from "./ledger.ts";
import type { OpenedSession } from "./session.ts";

export type ContextDesk = {
  readonly context: ContextControls;
  /** The ledger's `used`, without the rest. */
  readonly used: () => number;
};

export type DeskParts = {
  readonly engine: ContextEngine;
  readonly bus: Bus;
  /** Real path of the workspace. */
  readonly root: string;
  readonly redact: (text: string) => string;
  readonly session: Pick<OpenedSession, "path" | "sources" | "decisions">;
  readonly active: ActiveModel;
  readonly skills: Skills;
  /** `--pin`, as typed. */
  readonly pins: readonly string[];
  readonly harness: () => LedgerInput["harness"];
  readonly conversation: () => Pick<Conversation, "messages" | "pendingCompaction">;
};

/** Before the engine starts. @throws UserError for a path of `--pin` that cannot be pinned. */
export async function openContextDesk(parts: DeskParts): Promise<ContextDesk> {
  const { engine, bus, root, redact, session, active, harness, conversation } = parts;
  if (session.sources.length > 0) engine.resumed(session.sources);
  const held = createHeldSkills(parts.skills);
  bus.taps.push(held.event);
  // A skill that came beside a tool result goes with it when old results give way.
  parts.skills.watch((hash) => conversation().messages.some(({ text }) => text.includes(hash)));
  await restoreDecisions(engine, root, session.decisions);
  const context = createContextControls({
    engine,
    root,
    emit: bus.emit,
    redact,
    sessionPath: session.path,
    ledger: () =>
      buildLedger({
        budget: active.budget,
        limitSource: active.chosen.window.source,
        harness: harness(),
        sources: engine.sources(),
        skills: held.read(),
        messages: conversation().messages,
        pending: conversation().pendingCompaction,
      }),
  });
  await pinAll(context, parts.pins, bus.emit);
  return { context, used: () => usedTokens(active.budget, harness(), conversation().messages) };
}
