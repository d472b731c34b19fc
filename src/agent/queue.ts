/** Input typed while a turn runs (seed: Running Input). Audited first, then held; the audit decides whether it is taken. */
import type { Emit, QueueKind } from "../types/event.ts";

export type QueuedInput = { readonly id: string; readonly kind: QueueKind; readonly text: string };

export interface InputQueue {
  /** False when the audit record could not be written: the caller keeps the text. */
  add(kind: QueueKind, text: string): boolean;
  /** Whether there is steering to take. */
  steeringWaits(): boolean;
  /** Steering for the next request of the active run, oldest first; marked sent. */
  takeSteering(): readonly string[];
  /** The next follow-up, to be submitted as a turn of its own; marked sent. */
  takeFollowUp(): string | undefined;
  pending(): readonly QueuedInput[];
  /** Esc: clears pending steering (marked cancelled); follow-ups stay. Returns what was cleared. */
  cancelSteering(): readonly QueuedInput[];
  /** The run is over: steering that came too late becomes a follow-up (L09). */
  retarget(): void;
  /** `/clear` while idle, quitting: clears everything. */
  cancelAll(): readonly QueuedInput[];
}

/** `emit` writes the record, `healthy` says whether it was kept. */
export function createQueue(emit: Emit, healthy: () => boolean): InputQueue {
  let held: QueuedInput[] = [];
  let counter = 0;
  const record = (input: QueuedInput, action: "add" | "retarget" | "sent" | "cancelled"): void =>
    emit({ type: "queued", queueId: input.id, kind: input.kind, action, text: input.text });
  const remove = (match: (input: QueuedInput) => boolean, action: "sent" | "cancelled"): QueuedInput[] => {
    const taken = held.filter(match);
    held = held.filter((input) => !match(input));
    for (const input of taken) record(input, action);
    return taken;
  };
  return {
    add(kind, text) {
      const input = { id: `q${++counter}`, kind, text };
      record(input, "add");
      if (!healthy()) return false;
      held.push(input);
      return true;
    },
    steeringWaits: () => held.some((input) => input.kind === "steering"),
    takeSteering: () => remove((input) => input.kind === "steering", "sent").map((input) => input.text),
    takeFollowUp() {
      const next = held.find((input) => input.kind === "follow-up");
      if (!next) return undefined;
      remove((input) => input === next, "sent");
      return next.text;
    },
    pending: () => held,
    cancelSteering: () => remove((input) => input.kind === "steering", "cancelled"),
    retarget() {
      held = held.map((input) => {
        if (input.kind !== "steering") return input;
        const later: QueuedInput = { ...input, kind: "follow-up" };
        record(later, "retarget");
        return later;
      });
    },
    cancelAll: () => remove(() => true, "cancelled"),
  };
}
