/**
 * What a scripted model says, independent of the wire; chat.ts, responses.ts and anthropic.ts turn it into frames.
 * Refuses: transport (loopback.ts), validation of requests (validate.ts).
 */

export type ScriptedCall = {
  readonly name: string;
  /** An object is sent as JSON; a string is sent as it is (to script malformed arguments). */
  readonly arguments?: Readonly<Record<string, unknown>> | string;
  readonly id?: string;
};

/** Token counts in the provider's own terms: `input` includes cache reads and writes. */
export type ScriptedUsage = {
  readonly input?: number | null;
  readonly output?: number | null;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
};

export type Answer = {
  /** One delta, or several. */
  readonly text?: string | readonly string[];
  readonly reasoning?: string | readonly string[];
  /** Signature / encrypted content that must come back (anthropic, responses). Default when there is reasoning: a stable one. */
  readonly signature?: string;
  readonly calls?: readonly ScriptedCall[];
  /** `null`: the stream says nothing of usage. Default: small fixed numbers. */
  readonly usage?: ScriptedUsage | null;
  readonly stop?: "end" | "tool_calls" | "length" | "refusal";
};

export type Wire = "chat" | "responses" | "anthropic";

export const DEFAULT_USAGE: ScriptedUsage = { input: 100, output: 20 };

export function deltas(text: string | readonly string[] | undefined): readonly string[] {
  if (text === undefined) return [];
  return typeof text === "string" ? [text] : text;
}

export function argumentText(call: ScriptedCall): string {
  if (typeof call.arguments === "string") return call.arguments;
  return JSON.stringify(call.arguments ?? {});
}

/** One SSE frame. `event` is the event name where the wire has one. */
export function frame(data: unknown, event?: string): string {
  const line = `data: ${JSON.stringify(data)}\n\n`;
  return event === undefined ? line : `event: ${event}\n${line}`;
}

/** Cuts argument text in two, so that every scripted call arrives as fragments. */
export function halves(text: string): readonly string[] {
  if (text.length < 2) return [text];
  const middle = text.length >> 1;
  return [text.slice(0, middle), text.slice(middle)];
}

export function signatureOf(answer: Answer, n: number): string {
  return answer.signature ?? `sig-${n}`;
}
