/**
 * The order of roles that strict servers and chat templates insist on: no two neighbours of one role, and between a tool's
 * result and the user a word of the assistant. What is said stays as it is. Refuses: repairing a history (conversation.ts),
 * wire formats.
 */
import type { AssistantMessage, Message } from "../types/message.ts";
import type { ProviderSettings } from "../types/settings.ts";
import type { ProviderEvent } from "./provider.ts";
import { wantsBridge } from "./quirks.ts";

/** What stands where an answer would be: a turn that was steered, cancelled, limited or failed behind a tool has none. */
const BRIDGE: AssistantMessage = { role: "assistant", text: "(interrupted)", calls: [] };

type OrderRules = {
  /** Neighbours of one role become one message. */
  readonly merge: boolean;
  /** A word of the assistant stands between a tool's result and the user. */
  readonly bridge: boolean;
};

/** The same array when there is nothing to do. A message only ever grows at its end, so that what a server has cached holds. */
export function inOrder(messages: readonly Message[], { merge, bridge }: OrderRules): readonly Message[] {
  const ordered: Message[] = [];
  for (const message of messages) {
    const last = ordered.at(-1);
    if (bridge && last?.role === "tool" && message.role === "user") ordered.push(BRIDGE);
    const joined = merge && last !== undefined ? join(last, message) : undefined;
    if (joined === undefined) ordered.push(message);
    else ordered[ordered.length - 1] = joined;
  }
  const same = ordered.length === messages.length && ordered.every((message, at) => message === messages[at]);
  return same ? messages : ordered;
}

function join(first: Message, second: Message): Message | undefined {
  if (first.role === "user" && second.role === "user") return { role: "user", text: `${first.text}\n\n${second.text}` };
  if (first.role !== "assistant" || second.role !== "assistant" || first.calls.length > 0) return undefined;
  const reasoning = second.reasoning ?? first.reasoning;
  const texts = [first.text, second.text].filter((text) => text !== "");
  // Private state fits neither text any more.
  return { role: "assistant", text: texts.join("\n\n"), ...(reasoning !== undefined && { reasoning }), calls: second.calls };
}

type Ask = (messages: readonly Message[]) => AsyncIterable<ProviderEvent>;

/** Asks with the messages in an order the server takes; one that refuses it is asked again, in the strictest one from then on. */
export function serversOrder(settings: ProviderSettings) {
  const strict = new Set<string>();
  const chat = settings.wire === "openai-chat";
  return async function* (messages: readonly Message[], model: string, ask: Ask): AsyncGenerator<ProviderEvent> {
    const bridge = strict.has(model) || wantsBridge(settings, model);
    const ordered = inOrder(messages, { merge: chat || bridge, bridge });
    for await (const event of ask(ordered)) {
      const stricter =
        !bridge && event.type === "failure" && event.refuses === "order"
          ? inOrder(messages, { merge: true, bridge: true })
          : undefined;
      // Not by their number: one message less here and one more there leave it as it was.
      if (stricter === undefined || Bun.deepEquals(stricter, ordered)) yield event;
      else {
        strict.add(model);
        return yield* ask(stricter);
      }
    }
  };
}
