/**
 * One response as it arrives, in the words of the contract: text and reasoning joined per network chunk, calls and usage
 * held until the end, exactly one ending. The three wire decoders feed it. Refuses: JSON, HTTP.
 */
import type { Carry, Usage } from "../types/message.ts";
import { cleanName, freeId, type IdRule } from "./call-ids.ts";
import type { ProviderEvent, ProviderFailure, StopReason } from "./provider.ts";
import { newer } from "./usage.ts";
import { TextJoiner } from "./wire-text.ts";

export class Assembly {
  readonly #text = new TextJoiner();
  readonly #reasoning = new TextJoiner();
  readonly #used: () => Set<string>;
  readonly #rule: IdRule | undefined;
  #pending: ProviderEvent[] = [];
  #buffer = "";
  #bufferKind: "text" | "reasoning" = "text";
  #usage: Usage | undefined;
  #ended = false;
  /** UTF-16 units of text so far. */
  textLength = 0;
  /** UTF-16 units of reasoning so far. */
  reasoningLength = 0;
  /** Grows with every piece of a call, and with every call that begins. */
  callLength = 0;
  #ids: Set<string> | undefined;

  /** `used` yields the call ids of the conversation; asked only when there is a call. */
  constructor(used: () => Set<string>, rule?: IdRule) {
    this.#used = used;
    this.#rule = rule;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Grows with whatever is part of an answer. */
  get length(): number {
    return this.textLength + this.reasoningLength + this.callLength;
  }

  text(piece: string): void {
    this.#append("text", this.#text.push(piece));
  }

  reasoning(piece: string): void {
    this.#append("reasoning", this.#reasoning.push(piece));
  }

  usage(usage: Usage): void {
    this.#usage = newer(this.#usage ?? {}, usage);
  }

  /** Ends half surrogates: no more of the same text follows. Decoders call it where a block of text ends. */
  settle(): void {
    this.#append("reasoning", this.#reasoning.flush());
    this.#append("text", this.#text.flush());
  }

  /** Emits one complete call, its arguments as the model wrote them (whoever sends or stores them mends them), and returns its id. */
  call(id: string, name: string, args: string): string {
    this.settle();
    this.#flush();
    this.#ids ??= this.#used();
    const free = freeId(id, this.#ids, this.#rule);
    this.#pending.push({ type: "tool_call", call: { id: free, name: cleanName(name), arguments: args } });
    return free;
  }

  stop(reason: StopReason, carry: Carry | undefined, unknown?: string): void {
    if (this.#ended) return;
    this.settle();
    this.#flush();
    if (this.#usage !== undefined && Object.keys(this.#usage).length > 0)
      this.#pending.push({ type: "usage", usage: this.#usage });
    this.#pending.push({ type: "stop", reason, ...(unknown !== undefined && { unknown }), ...(carry && { carry }) });
    this.#ended = true;
  }

  fail(failure: ProviderFailure): void {
    if (this.#ended) return;
    this.settle();
    this.#flush();
    if (this.#usage !== undefined && Object.keys(this.#usage).length > 0)
      this.#pending.push({ type: "usage", usage: this.#usage });
    this.#pending.push(failure);
    this.#ended = true;
  }

  /** Everything to say since the last time. */
  drain(): readonly ProviderEvent[] {
    this.#flush();
    if (this.#pending.length === 0) return this.#pending;
    const events = this.#pending;
    this.#pending = [];
    return events;
  }

  #append(kind: "text" | "reasoning", piece: string): void {
    if (piece === "") return;
    if (kind === "text") this.textLength += piece.length;
    else this.reasoningLength += piece.length;
    if (this.#bufferKind !== kind) this.#flush();
    this.#bufferKind = kind;
    this.#buffer += piece;
  }

  #flush(): void {
    if (this.#buffer === "") return;
    this.#pending.push({ type: this.#bufferKind, text: this.#buffer });
    this.#buffer = "";
  }
}
