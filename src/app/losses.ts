/**
 * Instruction texts that leave a conversation when room is made in it are due again; one that the model has not seen yet comes
 * again at once. Refuses: finding them (lost-texts.ts), making room.
 */
import type { ContextEngine } from "../context/engine.ts";
import type { SourceInfo } from "../types/event.ts";
import type { Message } from "../types/message.ts";
import { lostTexts } from "./lost-texts.ts";

export type LossParts = {
  /** The conversation itself. */
  readonly messages: Message[];
  readonly workspace: string;
  readonly context: Pick<ContextEngine, "lost">;
  /** Whether the next request would fit as the conversation is now. */
  readonly fits: () => boolean;
  /** What came again. */
  readonly onSources: (sources: readonly SourceInfo[]) => void;
};

/** What the model has not answered to. */
function unseen(messages: readonly Message[]): readonly Message[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
}

export async function noteLosses<T>(parts: LossParts, makeRoom: () => Promise<T>): Promise<T> {
  const { messages, workspace, context } = parts;
  const before = [...messages];
  const made = await makeRoom();
  const lost = lostTexts(before, messages, workspace);
  if (lost.length === 0) return made;
  const place = unseen(messages).findLast(({ role }) => role === "tool");
  const fresh = place ? lostTexts(unseen(before), messages, workspace) : [];
  const { text, sources } = await context.lost(lost, fresh);
  if (place && text !== "") await sendAgain(parts, place, text, sources);
  return made;
}

/** At the end of the newest result, which has not been sent. Where there is no room for it, the next touch brings it. */
async function sendAgain(parts: LossParts, place: Message, text: string, sources: readonly SourceInfo[]): Promise<void> {
  const { messages, context, fits, onSources } = parts;
  const at = messages.indexOf(place);
  messages[at] = { ...place, text: `${place.text}\n\n${text}` };
  if (fits()) return onSources(sources);
  messages[at] = place;
  await context.lost(sources);
}
