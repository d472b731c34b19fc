/** Frames of an OpenAI Responses stream. */
import { type Answer, argumentText, DEFAULT_USAGE, deltas, frame, halves, signatureOf } from "./answer.ts";

export function responsesFrames(answer: Answer, n: number): string[] {
  const frames: string[] = [];
  const output: object[] = [];
  let sequence = 0;
  const event = (type: string, rest: object) => frames.push(frame({ type, sequence_number: sequence++, ...rest }, type));
  const response = (status: string, more: object = {}) => ({
    id: `resp_${n}`,
    object: "response",
    status,
    model: "mock",
    ...more,
  });
  const item = (start: object, done: object, body: (index: number) => void) => {
    const index = output.length;
    event("response.output_item.added", { output_index: index, item: start });
    body(index);
    event("response.output_item.done", { output_index: index, item: done });
    output.push(done);
  };

  event("response.created", { response: response("in_progress") });
  event("response.in_progress", { response: response("in_progress") });
  const reasoning = deltas(answer.reasoning);
  if (reasoning.length > 0) {
    const id = `rs_${n}`;
    const encrypted_content = signatureOf(answer, n);
    const done = { id, type: "reasoning", encrypted_content, summary: [{ type: "summary_text", text: reasoning.join("") }] };
    item({ id, type: "reasoning", summary: [] }, done, (index) => {
      for (const delta of reasoning)
        event("response.reasoning_summary_text.delta", { item_id: id, output_index: index, summary_index: 0, delta });
    });
  }
  const texts = deltas(answer.text);
  if (texts.length > 0) messageItem(texts, n, item, event, answer.stop === "refusal");
  (answer.calls ?? []).forEach((call, position) => {
    const id = `fc_${n}_${position}`;
    const full = { id, type: "function_call", call_id: call.id ?? `call_${n}_${position}`, name: call.name };
    item(
      { ...full, status: "in_progress", arguments: "" },
      { ...full, status: "completed", arguments: argumentText(call) },
      (index) => {
        for (const delta of halves(argumentText(call)))
          event("response.function_call_arguments.delta", { item_id: id, output_index: index, delta });
        event("response.function_call_arguments.done", { item_id: id, output_index: index, arguments: argumentText(call) });
      },
    );
  });
  const usage = usageOf(answer);
  if (answer.stop === "length") {
    event("response.incomplete", {
      response: response("incomplete", { output, usage, incomplete_details: { reason: "max_output_tokens" } }),
    });
  } else event("response.completed", { response: response("completed", { output, usage }) });
  return frames;
}

function messageItem(
  texts: readonly string[],
  n: number,
  item: (start: object, done: object, body: (index: number) => void) => void,
  event: (type: string, rest: object) => void,
  refusal: boolean,
): void {
  const id = `msg_${n}`;
  const kind = refusal ? "refusal" : "output_text";
  const text = texts.join("");
  const part = refusal ? { type: kind, refusal: text } : { type: kind, text, annotations: [] };
  const done = { id, type: "message", role: "assistant", status: "completed", content: [part] };
  item({ id, type: "message", role: "assistant", status: "in_progress", content: [] }, done, (index) => {
    const place = { item_id: id, output_index: index, content_index: 0 };
    event("response.content_part.added", { ...place, part: refusal ? { type: kind, refusal: "" } : { type: kind, text: "" } });
    for (const delta of texts) event(`response.${kind}.delta`, { ...place, delta });
    event(`response.${kind}.done`, refusal ? { ...place, refusal: text } : { ...place, text });
  });
}

function usageOf(answer: Answer): object | null {
  const usage = answer.usage === undefined ? DEFAULT_USAGE : answer.usage;
  if (usage === null) return null;
  return {
    input_tokens: usage.input ?? null,
    output_tokens: usage.output ?? null,
    input_tokens_details: { cached_tokens: usage.cacheRead ?? null },
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? null },
  };
}
