/**
 * What a wire format is: how a request is written and how a stream is read. One implementation per file
 * (openai-chat.ts, openai-responses.ts, anthropic.ts). Refuses: HTTP, retries.
 */

import type { Json } from "../base/json.ts";
import type { Message } from "../types/message.ts";
import type { Assembly } from "./assembly.ts";
import type { IdRule } from "./call-ids.ts";
import type { TextIn } from "./frame-runs.ts";
import type { ModelInfo, ProviderRequest } from "./provider.ts";

/** What a request is made from. */
export type WireContext = {
  readonly request: ProviderRequest;
  readonly info: ModelInfo;
  /** The form of call ids. */
  readonly ids: IdRule;
  /** The conversation as everybody else knows it: ids may have another form there. */
  readonly history?: readonly Message[];
};

export interface Decoder {
  /** Takes one server-sent event. The assembly's `ended` says when the response is complete. */
  take(event: string | undefined, data: string): void;
  /** Takes a body that is one whole answer instead of a stream; false when it is none. */
  whole(body: Json): boolean;
  /** The stream is over (cleanly or not) and the assembly has not ended: true when what came is a whole response. */
  close(): boolean;
  /**
   * The text of a frame that only adds it: frames that differ in nothing else may be taken as one with all their text. Not there
   * where frames are numbered.
   */
  readonly textIn?: TextIn;
  /** True when the answer is complete and only trailing numbers (usage) may follow. */
  readonly finishing: boolean;
}

export interface Wire {
  /** Appended to the base URL. */
  readonly path: string;
  headers(apiKey: string | undefined): Readonly<Record<string, string>>;
  /** JSON text with the list of messages last, so that the next request of the conversation begins with the same bytes. */
  body(context: WireContext): string;
  decoder(context: WireContext, into: Assembly, host: string): Decoder;
}
