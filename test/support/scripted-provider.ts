/** A provider that plays prepared events, one list per request, and keeps the requests it was given. */
import type { Provider, ProviderEvent, ProviderRequest } from "../../src/provider/provider.ts";
import type { Message } from "../../src/types/message.ts";

export type Script = readonly (
  | readonly ProviderEvent[]
  | ((request: ProviderRequest, signal: AbortSignal) => AsyncIterable<ProviderEvent>)
)[];

export type ScriptedProvider = Provider & {
  /** Snapshots: the message list as it was when the request left. */
  readonly requests: (Omit<ProviderRequest, "messages"> & { readonly messages: readonly Message[] })[];
};

export function scriptedProvider(script: Script): ScriptedProvider {
  const requests: ScriptedProvider["requests"] = [];
  return {
    name: "scripted",
    wire: "replay",
    requests,
    async *stream(request, signal) {
      const step = script[requests.length];
      requests.push({ ...request, messages: [...request.messages] });
      if (!step) yield { type: "failure", class: "replay", message: "the script has ended" };
      else if (typeof step === "function") yield* step(request, signal);
      else yield* step;
    },
  };
}

let counter = 0;

/** Events of one response with calls. */
export function calling(...calls: readonly [name: string, args: unknown][]): ProviderEvent[] {
  return [
    ...calls.map(
      ([name, args]): ProviderEvent => ({
        type: "tool_call",
        call: { id: `call_${++counter}`, name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
      }),
    ),
    { type: "stop", reason: "tool_calls" },
  ];
}

/** Events of one plain answer. */
export function saying(text: string, reason: "end" | "length" | "refusal" = "end"): ProviderEvent[] {
  return [...(text === "" ? [] : [{ type: "text", text } as const]), { type: "stop", reason }];
}
