/**
 * Bytes of a response body to server-sent events: any chunking, LF, CRLF or CR, comments, a last frame without a blank
 * line. Bodies that are no event stream at all (JSON, a web page) are kept, bounded, for the failure message.
 * Refuses: meaning of events.
 */
import { createParser, type EventSourceParser } from "eventsource-parser";
import { FrameRuns, type TextIn } from "./frame-runs.ts";

/** One event may be this many characters; a server that sends more is broken or hostile. */
const MAX_EVENT = 32 * 1024 * 1024;
/** How much of a body that is no event stream is kept. */
export const MAX_BODY = 64 * 1024;

type OnEvent = (event: string | undefined, data: string) => void;

export class EventStream {
  readonly #decoder = new TextDecoder("utf-8");
  readonly #parser: EventSourceParser;
  readonly #onEvent: OnEvent;
  readonly #runs: FrameRuns | undefined;
  /** Between two events the parser holds nothing: what comes next may be taken past it. */
  #between = false;
  #mode: "unknown" | "events" | "body" = "unknown";
  #body = "";
  /** True once a single event was larger than the bound; nothing more is read. */
  overflowed = false;
  /** True while the rest after the last line break is read: what it holds may be cut. */
  ending = false;

  /** With `textIn`, frames that differ in their text alone may come as one. */
  constructor(onEvent: OnEvent, textIn?: TextIn) {
    this.#onEvent = onEvent;
    this.#runs = textIn && new FrameRuns(textIn);
    this.#parser = createParser({
      maxBufferSize: MAX_EVENT,
      onEvent: ({ event, data }) => {
        onEvent(event, data);
        this.#runs?.learn(event, data);
      },
      onError: (error) => {
        if (error.type === "max-buffer-size-exceeded") this.overflowed = true;
      },
    });
  }

  feed(bytes: Uint8Array): void {
    this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The body is over: hands out a last event that had no blank line behind it. */
  end(): void {
    this.ending = true;
    this.#take(this.#decoder.decode());
    if (this.#mode !== "body" && !this.overflowed) this.#parser.feed("\n\n");
  }

  /** The text of a body that is no event stream; undefined when events (or nothing but comments) came. */
  get foreignBody(): string | undefined {
    return this.#mode === "events" ? undefined : this.#body;
  }

  #take(text: string): void {
    if (text === "" || this.overflowed) return;
    if (this.#mode === "events") {
      this.#events(text);
      return;
    }
    if (this.#mode === "body") {
      this.#body = (this.#body + text).slice(0, MAX_BODY);
      return;
    }
    // Only white space so far: it may be a body of either kind.
    const first = /\S/.exec(text)?.[0];
    if (first === undefined) return;
    if (first === "{" || first === "[" || first === "<") {
      this.#mode = "body";
      this.#body = text.slice(0, MAX_BODY);
      return;
    }
    this.#mode = "events";
    this.#events(text);
  }

  #events(text: string): void {
    const runs = this.#runs;
    if (runs === undefined) {
      this.#parser.feed(text);
      return;
    }
    let at = 0;
    while (at < text.length && !this.overflowed) {
      const run = this.#between ? runs.take(text, at) : undefined;
      if (run !== undefined) {
        this.#onEvent(run.event, run.data);
        at = run.end;
        continue;
      }
      const blank = text.indexOf("\n\n", at);
      this.#between = blank >= 0;
      const end = blank < 0 ? text.length : blank + 2;
      this.#parser.feed(text.slice(at, end));
      at = end;
    }
  }
}
