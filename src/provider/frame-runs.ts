/**
 * A run of frames that are the same but for a piece of text becomes one frame with all of the text, before anything is parsed:
 * most of a long answer is such runs, and a frame each is most of what reading it costs. What fits is found by comparing bytes;
 * whatever does not is left to the parser. Refuses: knowing wire formats (a decoder says what the text of a frame is).
 */
import { isObject, type Json, parseJson } from "../base/json.ts";

/** The text of a frame that adds it and does nothing else that could not be done once for many; undefined for any other frame. */
export type TextIn = (frame: Json, event: string | undefined) => string | undefined;

/** The inside of a JSON string, escapes and all: such bodies can be joined. */
const BODY = /^[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\u0000-\u001f]*)*$/;
/** Longer frames are few, and no expression is run over them. */
const MAX_FRAME = 4096;
const PROBE = "thndrs probe";
/** So many frames come by themselves before one is looked at: a short answer is none of this worth. */
const SHORT = 4;
/** After so many looks without a run, the next ones are further and further apart. */
const EAGER_LOOKS = 8;
const MAX_PAUSE = 1024;

type Shape = {
  readonly event: string | undefined;
  /** Data of the frame before and after its text. */
  readonly head: string;
  readonly tail: string;
  /** The same as bytes of the stream. */
  readonly before: string;
  readonly after: string;
};

export type Run = { readonly event: string | undefined; readonly data: string; readonly end: number };

export class FrameRuns {
  readonly #textIn: TextIn;
  #shape: Shape | undefined;
  #looks = 0;
  #pause = SHORT;

  constructor(textIn: TextIn) {
    this.#textIn = textIn;
  }

  /** The frames at `from` that have the known shape, as one; undefined when the next one has not, or is not whole. */
  take(text: string, from: number): Run | undefined {
    const shape = this.#shape;
    if (shape === undefined) return undefined;
    const { before, after } = shape;
    const bodies: string[] = [];
    let at = from;
    while (text.startsWith(before, at)) {
      const start = at + before.length;
      const end = text.indexOf("\n\n", start) + 2;
      const stop = end - after.length;
      if (end < 2 || end - at > MAX_FRAME || stop < start || !text.startsWith(after, stop)) break;
      const body = text.slice(start, stop);
      if (!BODY.test(body)) break;
      bodies.push(body);
      at = end;
    }
    if (bodies.length === 0) return undefined;
    this.#looks = 0;
    return { event: shape.event, data: shape.head + bodies.join("") + shape.tail, end: at };
  }

  /** Looks at a frame that came by itself: the next ones may be like it. */
  learn(event: string | undefined, data: string): void {
    if (this.#pause > 0) {
      this.#pause -= 1;
      return;
    }
    this.#looks += 1;
    if (this.#looks > EAGER_LOOKS) this.#pause = Math.min(MAX_PAUSE, 2 ** (this.#looks - EAGER_LOOKS));
    if (data.length > MAX_FRAME || data.includes("\n")) return;
    const text = this.#text(event, data);
    if (text === undefined || text === "") return;
    const literal = JSON.stringify(text);
    this.#shape = this.#shapeAt(event, data, literal, data.indexOf(literal)) ?? this.#shape;
  }

  #text(event: string | undefined, data: string): string | undefined {
    const frame = parseJson(data);
    return isObject(frame) ? this.#textIn(frame, event) : undefined;
  }

  /** Only if it is the text that stands there: another member may hold the same words. */
  #shapeAt(event: string | undefined, data: string, literal: string, at: number): Shape | undefined {
    if (at < 0) return undefined;
    const head = data.slice(0, at + 1);
    const tail = data.slice(at + literal.length - 1);
    if (this.#text(event, head + PROBE + tail) !== PROBE) return undefined;
    const name = event === undefined ? "" : `event: ${event}\n`;
    return { event, head, tail, before: `${name}data: ${head}`, after: `${tail}\n\n` };
  }
}
