/** Frames of an Anthropic Messages stream. */
import { type Answer, argumentText, DEFAULT_USAGE, deltas, frame, halves, signatureOf } from "./answer.ts";

const STOP = { end: "end_turn", tool_calls: "tool_use", length: "max_tokens", refusal: "refusal" } as const;

export function anthropicFrames(answer: Answer, n: number): string[] {
  const frames: string[] = [];
  const event = (type: string, rest: object) => frames.push(frame({ type, ...rest }, type));
  let index = 0;
  const block = (content_block: object, parts: readonly object[]) => {
    event("content_block_start", { index, content_block });
    for (const delta of parts) event("content_block_delta", { index, delta });
    event("content_block_stop", { index });
    index += 1;
  };
  const usage = answer.usage === undefined ? DEFAULT_USAGE : answer.usage;
  const read = usage?.cacheRead;
  const write = usage?.cacheWrite;
  // Anthropic counts cache traffic apart from input_tokens.
  const input = typeof usage?.input === "number" ? usage.input - (read ?? 0) - (write ?? 0) : usage?.input;
  event("message_start", {
    message: {
      id: `msg_${n}`,
      type: "message",
      role: "assistant",
      content: [],
      model: "mock",
      ...(usage === null
        ? {}
        : {
            usage: {
              input_tokens: input ?? null,
              cache_read_input_tokens: read ?? null,
              cache_creation_input_tokens: write ?? null,
              output_tokens: 1,
            },
          }),
    },
  });
  event("ping", {});
  const thinking = deltas(answer.reasoning);
  if (thinking.length > 0) {
    const signature = { type: "signature_delta", signature: signatureOf(answer, n) };
    block({ type: "thinking", thinking: "", signature: "" }, [
      ...thinking.map((t) => ({ type: "thinking_delta", thinking: t })),
      signature,
    ]);
  }
  const texts = deltas(answer.text);
  if (texts.length > 0)
    block(
      { type: "text", text: "" },
      texts.map((text) => ({ type: "text_delta", text })),
    );
  (answer.calls ?? []).forEach((call, position) => {
    const id = call.id ?? `toolu_${n}_${position}`;
    const parts = halves(argumentText(call)).map((partial_json) => ({ type: "input_json_delta", partial_json }));
    block({ type: "tool_use", id, name: call.name, input: {} }, parts);
  });
  const stop = answer.stop ?? ((answer.calls ?? []).length > 0 ? "tool_calls" : "end");
  event("message_delta", {
    delta: { stop_reason: STOP[stop], stop_sequence: null },
    ...(usage === null ? {} : { usage: { output_tokens: usage.output ?? null } }),
  });
  event("message_stop", {});
  return frames;
}
