/**
 * Sends one session's updates in order, at the speed of the reader: text that waits is joined, so a slow editor costs
 * messages, not memory for each token. Refuses: meaning.
 */
import type { SessionUpdate } from "@agentclientprotocol/sdk";

export type Sender = {
  push(update: SessionUpdate): void;
  /** Resolves when everything pushed so far has been sent, or the client is gone. */
  settled(): Promise<void>;
};

function joined(last: SessionUpdate | undefined, next: SessionUpdate): SessionUpdate | undefined {
  if (last === undefined || last.sessionUpdate !== next.sessionUpdate) return undefined;
  if (!("content" in last) || !("content" in next) || !("messageId" in last) || !("messageId" in next)) return undefined;
  if (last.messageId !== next.messageId) return undefined;
  const [before, after] = [last.content, next.content];
  if (!before || !after || Array.isArray(before) || Array.isArray(after)) return undefined;
  if (before.type !== "text" || after.type !== "text") return undefined;
  return { ...last, content: { type: "text", text: before.text + after.text } } as SessionUpdate;
}

/** @param send resolves when the update has left; a rejection ends everything: nobody listens any more */
export function createSender(send: (update: SessionUpdate) => Promise<void>): Sender {
  let queue: SessionUpdate[] = [];
  let pump: Promise<void> | undefined;
  let gone = false;
  const run = async (): Promise<void> => {
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await send(next);
    } catch {
      gone = true;
      queue = [];
    } finally {
      pump = undefined;
    }
  };
  return {
    push(update) {
      if (gone) return;
      const merged = joined(queue.at(-1), update);
      if (merged) queue[queue.length - 1] = merged;
      else queue.push(update);
      pump ??= run();
    },
    async settled() {
      while (pump) await pump;
    },
  };
}
