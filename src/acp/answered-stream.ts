/**
 * The messages of an editor's connection, whose end is held back until what was asked before it is answered: who pipes a
 * request in and closes the pipe reads the answer all the same. Prompts are not waited for, they end with their client.
 * Refuses: meaning.
 */
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { bounded } from "./wait.ts";

/** The rest is given up then. */
const LAST_ANSWERS_MS = 1000;

/** The same stream for the library, watched on both sides. */
export function answeredStream({ readable, writable }: Stream): Stream {
  const open = new Set<unknown>();
  const settled = Promise.withResolvers<void>();
  let over = false;
  const settle = (): void => {
    if (over && open.size === 0) settled.resolve();
  };
  const incoming = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      if ("method" in message && "id" in message && message.method !== "session/prompt") open.add(message.id);
      controller.enqueue(message);
    },
    async flush() {
      over = true;
      settle();
      await bounded(settled.promise, { ms: LAST_ANSWERS_MS });
    },
  });
  const writer = writable.getWriter();
  const outgoing = new WritableStream<AnyMessage>({
    async write(message) {
      try {
        await writer.write(message);
        if (!("method" in message)) open.delete(message.id);
      } catch (error) {
        // Nobody reads answers any more.
        open.clear();
        throw error;
      } finally {
        settle();
      }
    },
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason),
  });
  return { readable: readable.pipeThrough(incoming), writable: outgoing };
}
