/** `sanitize` for text that comes in pieces: a line end cut in two stays one line end. Refuses: anything sanitize.ts decides. */
import { sanitize } from "./sanitize.ts";

export interface StreamSanitizer {
  push(text: string): string;
  /** What was held back. */
  end(): string;
}

/** Holds back a carriage return or half of a surrogate pair at the end of a piece until it is known what follows. */
export function createStreamSanitizer(): StreamSanitizer {
  let held = "";
  return {
    push(text) {
      const whole = held === "" ? text : held + text;
      held = "";
      const last = whole.charCodeAt(whole.length - 1);
      if (last !== 0x0d && !(last >= 0xd800 && last <= 0xdbff)) return sanitize(whole);
      held = whole.slice(-1);
      return sanitize(whole.slice(0, -1));
    },
    end() {
      const rest = sanitize(held).toWellFormed();
      held = "";
      return rest;
    },
  };
}
