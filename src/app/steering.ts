/**
 * Input that a running turn takes up: from the queue into the user's messages, the skills it names at their head, as in a prompt.
 * Refuses: when that is (agent/loop.ts), instruction files (they are looked at when a turn begins).
 */
import type { InputQueue } from "../agent/queue.ts";
import type { Skills } from "../skills/skills.ts";
import type { Emit } from "../types/event.ts";
import type { Message } from "../types/message.ts";

export type SteeringParts = {
  readonly queue: Pick<InputQueue, "takeSteering">;
  /** Undefined where somebody else's skills count (an external agent). */
  readonly skills: Pick<Skills, "steer"> | undefined;
  readonly emit: Emit;
  /** Seq of the last record in the log; undefined where nothing is recorded. */
  readonly lastSeq: () => number | undefined;
  /** Told which record a message stands in. */
  readonly onMessage: (message: Message, seq: number) => void;
};

/** What waits, oldest first. */
export async function takeSteering(turnId: string, parts: SteeringParts): Promise<readonly Message[]> {
  const { skills, emit } = parts;
  const texts = parts.queue.takeSteering();
  // One record each, just now.
  const last = parts.lastSeq();
  const messages: Message[] = [];
  for (const [index, text] of texts.entries()) {
    const due = await skills?.steer(text);
    for (const diagnostic of due?.diagnostics ?? []) emit({ type: "diagnostic", diagnostic });
    for (const effect of due?.effects ?? []) emit({ type: "effect", turnId, callId: "", effect });
    const message: Message = { role: "user", text: due && due.text !== "" ? `${due.text}\n\n${text}` : text };
    if (last !== undefined) parts.onMessage(message, last - (texts.length - 1 - index));
    messages.push(message);
  }
  return messages;
}
