/**
 * The words servers have for why an answer ended, and what each of them means. One table for the wires that name a reason:
 * gateways mix the words of all; and whether what a stream says of its end is to be relied on. Refuses: reading frames.
 */
import { oneLine } from "../base/text.ts";
import type { FailureClass } from "../types/event.ts";
import { failure } from "./failure.ts";
import type { ProviderFailure, StopReason } from "./provider.ts";

const STOPS: Readonly<Record<string, StopReason>> = {
  stop: "end",
  end_turn: "end",
  stop_sequence: "end",
  pause_turn: "end",
  eos: "end",
  complete: "end",
  tool_calls: "tool_calls",
  tool_use: "tool_calls",
  function_call: "tool_calls",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  model_context_window_exceeded: "length",
  content_filter: "refusal",
  refusal: "refusal",
  safety: "refusal",
  recitation: "refusal",
  blocklist: "refusal",
  prohibited_content: "refusal",
  spii: "refusal",
  sensitive: "refusal",
};

/** The server gave up, or the model wrote what the server cannot hand on: no answer, and the next one may be whole. */
const BROKEN: Readonly<Record<string, FailureClass>> = {
  insufficient_system_resource: "overloaded",
  network_error: "overloaded",
  abort: "truncated",
  function_call_filter: "truncated",
  malformed_function_call: "truncated",
  unexpected_tool_call: "truncated",
};

const MAX_WORD = 100;

/** What stands before a colon is the reason, what follows it details (`content_filter: RECITATION`). */
function wordOf(said: string): string {
  return (said.split(":")[0] ?? "").trim().toLowerCase();
}

/** Why the answer ended. A word that nobody knows is an ordinary end that keeps its name, should there be no answer. */
export function stopOf(said: string | undefined, calls: number): { readonly reason: StopReason; readonly unknown?: string } {
  const known = said === undefined ? "end" : STOPS[wordOf(said)];
  if (known === "length" || known === "refusal") return { reason: known };
  const reason = calls > 0 ? "tool_calls" : "end";
  return said === undefined || known !== undefined ? { reason } : { reason, unknown: oneLine(said, MAX_WORD) };
}

/** The failure that a reason stands for, if it stands for one. */
export function brokenEnd(host: string, said: string | undefined): ProviderFailure | undefined {
  const kind = said === undefined ? undefined : BROKEN[wordOf(said)];
  return kind && failure(kind, `${host} broke the answer off (${oneLine(said ?? "", MAX_WORD)})`);
}

/** Whether a reason to end is to be relied on: some servers send one with every piece of an answer. */
export class EndTrust {
  #pieces = false;
  #open = false;
  #quiet = false;
  #denied = false;

  /** An event came: whether a reason had been said before it, whether one is said now, and whether the answer grew. */
  event(before: boolean, now: boolean, grew: boolean): void {
    if (grew) {
      this.#pieces = true;
      if (before) this.#denied = true;
      else if (!now) this.#open = true;
    } else if (!now) this.#quiet = true;
  }

  /** The answer went on behind a reason: on this stream none of them means anything before its end. */
  get denied(): boolean {
    return this.#denied;
  }

  /** There were pieces without a reason (or no pieces, and events without one), and none behind one. */
  get reliable(): boolean {
    return !this.#denied && (this.#open || (this.#quiet && !this.#pieces));
  }
}
