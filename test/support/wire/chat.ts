/** Frames of an OpenAI Chat Completions stream. */
import { type Answer, argumentText, DEFAULT_USAGE, deltas, frame, halves } from "./answer.ts";

const FINISH = { end: "stop", tool_calls: "tool_calls", length: "length", refusal: "content_filter" } as const;

export function chatFrames(answer: Answer, n: number): string[] {
  const head = { id: `chatcmpl-${n}`, object: "chat.completion.chunk", created: 1_700_000_000, model: "mock" };
  const chunk = (delta: object, finish: string | null = null) =>
    frame({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] });
  const calls = answer.calls ?? [];
  const frames = [chunk({ role: "assistant", content: "" })];
  for (const text of deltas(answer.reasoning)) frames.push(chunk({ reasoning_content: text }));
  for (const text of deltas(answer.text)) frames.push(chunk({ content: text }));
  calls.forEach((call, index) => {
    const id = call.id ?? `call_${n}_${index}`;
    frames.push(chunk({ tool_calls: [{ index, id, type: "function", function: { name: call.name, arguments: "" } }] }));
    for (const part of halves(argumentText(call))) frames.push(chunk({ tool_calls: [{ index, function: { arguments: part } }] }));
  });
  frames.push(chunk({}, FINISH[answer.stop ?? (calls.length > 0 ? "tool_calls" : "end")]));
  const usage = answer.usage === undefined ? DEFAULT_USAGE : answer.usage;
  if (usage !== null) {
    frames.push(
      frame({
        ...head,
        choices: [],
        usage: {
          prompt_tokens: usage.input ?? null,
          completion_tokens: usage.output ?? null,
          prompt_tokens_details: { cached_tokens: usage.cacheRead ?? null },
          completion_tokens_details: { reasoning_tokens: usage.reasoning ?? null },
        },
      }),
    );
  }
  frames.push("data: [DONE]\n\n");
  return frames;
}
