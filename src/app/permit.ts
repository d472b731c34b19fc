/** Whether a call may run: policy first, then the approval setting (security.md 5). Refuses: asking by itself. */
import type { Permit } from "../agent/calls.ts";
import type { ToolPolicy } from "../agent/policy.ts";
import type { Stop } from "../agent/response.ts";
import type { ToolEntry } from "../agent/toolbox.ts";
import type { Emit } from "../types/event.ts";
import type { Approval } from "../types/settings.ts";

/** Asks a person; absent in print mode, where what would be asked is denied. */
export type AskApproval = (
  name: string,
  input: Readonly<Record<string, unknown>>,
  entry: ToolEntry,
  signal: AbortSignal,
) => Promise<Permit>;

export interface PermitGate {
  check(name: string, input: Readonly<Record<string, unknown>>, entry: ToolEntry, signal: AbortSignal): Permit | Promise<Permit>;
  /** A tool that the policy does not offer was called all the same: denied like any other. Answers with the reason. */
  withhold(name: string): string;
  /** What a failure comes to when calls denied since the last `reset` explain it: the run was stopped by policy (exit 3). */
  stopped(failure: Stop): Stop | undefined;
  reset(): void;
}

function asks(approval: Approval, entry: ToolEntry): boolean {
  if (entry.effect === "read") return false;
  if (approval === "all") return true;
  if (approval === "writes") return entry.effect !== "net" || entry.mcp !== undefined;
  return approval === "shell" && entry.effect === "shell";
}

/** Failures that a denied call explains: the run could not go on without it. */
const POLICY_ENDS: ReadonlySet<string> = new Set(["no_progress", "empty_answer", "refusal"]);

/** Builds the gate of one run. */
export function createPermitGate(policy: ToolPolicy, approval: Approval, ask: AskApproval | undefined, emit: Emit): PermitGate {
  const denied = new Set<string>();
  const deny = (name: string, reason: string): Permit => {
    denied.add(name);
    emit({ type: "diagnostic", diagnostic: { severity: "warning", code: "tool_denied", message: `${name} denied: ${reason}` } });
    return { allowed: false, reason: `${name} was not run. ${reason}` };
  };
  return {
    stopped(failure) {
      if (denied.size === 0 || !POLICY_ENDS.has(failure.class)) return undefined;
      const names = [...denied];
      const which = `${names.join(", ")} ${names.length === 1 ? "was" : "were"} denied`;
      return { class: "policy", behind: failure.class, message: `stopped by policy: ${which}, and ${failure.message}` };
    },
    reset() {
      denied.clear();
    },
    withhold(name) {
      const permit = deny(name, "The policy of this run (authority, allowed and denied tools) leaves it out.");
      return permit.allowed ? "" : permit.reason;
    },
    check(name, input, entry, signal) {
      const refusal = policy.refuses(name, input);
      if (refusal !== undefined) return deny(name, refusal);
      if (!asks(approval, entry)) return { allowed: true };
      if (!ask) return deny(name, `Approval is required (approval = "${approval}") and nobody can be asked here.`);
      return ask(name, input, entry, signal).then((permit) =>
        permit.allowed || signal.aborted ? permit : deny(name, permit.reason),
      );
    },
  };
}
