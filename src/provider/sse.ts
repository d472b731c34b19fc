/**
 * Bytes of a response body to server-sent events: any chunking, LF, CRLF or CR, comments, a last frame without a blank
 * line. Bodies that are no event stream at all (JSON, a web page, plain text) are kept, bounded: they say what went wrong, or
 * are the whole answer of a server that does not stream.
 * Refuses: meaning of events.
 */
import { createParser, type EventSourceParser } from "eventsource-parser";
import { FrameRuns, type TextIn } from "./frame-runs.ts";

/** One event may be this many characters; a server that sends more is broken or hostile. */
const MAX_EVENT = 32 * 1024 * 1024;
/** How much is kept of a body that only tells what went wrong. */
export const MAX_BODY = 64 * 1024;
/** How much is kept of what follows the last event. */
const MAX_STRAY = 4 * 1024;
/** A line of an event stream, whole or cut. */
const LINE = /^(?::|(?:data|event|id|retry)(?::|$)|d(?:at?)?$|e(?:v(?:en?)?)?$|i$|r(?:e(?:tr?)?)?$)/;

/** Where the line before the last blank one ends, however lines end; -1 where there is none. */
function lastBlankLine(text: string): number {
  return Math.max(text.lastIndexOf("\n\n"), text.lastIndexOf("\n\r"), text.lastIndexOf("\r\r"));
}

type OnEvent = (event: string | undefined, data: string) => void;

export class EventStream {
  readonly #decoder = new TextDecoder("utf-8");
  readonly #parser: EventSourceParser;
  readonly #onEvent: OnEvent;
  readonly #runs: FrameRuns | undefined;
  /** Between two events the parser holds nothing: what comes next may be taken past it. */
  #between = false;
  #mode: "unknown" | "events" | "body" = "unknown";
  readonly #body: string[] = [];
  #bodyRoom = MAX_BODY;
  /** The text since the last event; `#isMixed`: with what came before it in its piece. Who ends well is never asked for it. */
  #since = "";
  #isMixed = false;
  #events = 0;
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
        this.#events += 1;
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
    if (this.#mode !== "events") return this.#body.join("");
    return this.#events > 0 || this.stray === "" ? undefined : this.stray;
  }

  /** What follows the last event and is no part of one. */
  get stray(): string {
    this.#part();
    const lines = this.#since.split(/\r\n|\r|\n/);
    return lines.filter((line) => line !== "" && !LINE.test(line)).join("\n");
  }

  #take(text: string): void {
    if (text === "" || this.overflowed) return;
    if (this.#mode === "events") {
      this.#read(text);
      return;
    }
    if (this.#mode === "body") {
      this.#keep(text);
      return;
    }
    // Only white space so far: it may be a body of either kind.
    const first = /\S/.exec(text)?.[0];
    if (first === undefined) return;
    if (first === "{" || first === "[" || first === "<") {
      this.#mode = "body";
      if (first === "{") this.#bodyRoom = MAX_EVENT;
      this.#keep(text);
      return;
    }
    this.#mode = "events";
    this.#read(text);
  }

  #keep(text: string): void {
    const kept = text.slice(0, this.#bodyRoom);
    this.#bodyRoom -= kept.length;
    if (kept !== "") this.#body.push(kept);
  }

  #read(text: string): void {
    const before = this.#events;
    this.#parse(text);
    if (this.#events > before) {
      this.#since = text;
      this.#isMixed = true;
      return;
    }
    this.#part();
    if (this.#since.length < MAX_STRAY) this.#since += text.slice(0, MAX_STRAY);
  }

  #part(): void {
    if (!this.#isMixed) return;
    this.#since = this.#since.slice(lastBlankLine(this.#since) + 1).slice(0, MAX_STRAY);
    this.#isMixed = false;
  }

  #parse(text: string): void {
    const runs = this.#runs;
    if (runs === undefined) {
      this.#parser.feed(text);
      return;
    }
    let at = 0;
    while (at < text.length && !this.overflowed) {
      const run = this.#between ? runs.take(text, at) : undefined;
      if (run !== undefined) {
        this.#events += 1;
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
