/**
 * An event stream with its messages mended (mended-messages.ts), event by event: a last event counts without the blank line
 * behind it. Refuses: events that are no messages (they pass as they are), events larger than a message may be.
 */

import { mendMessage } from "./mended-messages.ts";
import { MAX_LINE_BYTES, MessageTooLong, parseMessage } from "./message-lines.ts";

function fieldValue(line: string): string {
  const value = line.slice(line.indexOf(":") + 1);
  return value.startsWith(" ") ? value.slice(1) : value;
}

const names = (line: string, field: string): boolean => line === field || line.startsWith(`${field}:`);

/** The text of one event, given its lines. */
function mendEvent(lines: readonly string[]): string {
  const raw = `${lines.join("\n")}\n\n`;
  const data = lines.filter((line) => names(line, "data"));
  const kind = lines.findLast((line) => names(line, "event"));
  if (data.length === 0 || (kind !== undefined && fieldValue(kind) !== "message")) return raw;
  const parsed = parseMessage(data.map((line) => (line === "data" ? "" : fieldValue(line))).join("\n"));
  const values = Array.isArray(parsed) ? parsed : [parsed];
  const messages = values.map(mendMessage);
  if (!Array.isArray(parsed) && (messages[0] === undefined || messages[0] === parsed)) return raw;
  const rest = lines.filter((line) => !names(line, "data")).map((line) => `${line}\n`);
  return messages.flatMap((message) => (message ? [`${rest.join("")}data: ${JSON.stringify(message)}\n\n`] : [])).join("");
}

/** Bytes of a stream of events → the same with every message mended. */
export function mendedEvents(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder("utf-8");
  const encoder = new TextEncoder();
  let lines: string[] = [];
  let parts: string[] = [];
  let held = 0;
  let afterReturn = false;
  /** What the next characters complete. */
  const take = (text: string): string => {
    let found = "";
    const fresh = afterReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") afterReturn = text.endsWith("\r");
    held += fresh.length;
    const [first = "", ...more] = fresh.split(/\r\n|\n|\r/);
    parts.push(first);
    for (const next of more) {
      const line = parts.join("");
      parts = [next];
      if (line !== "") lines.push(line);
      else {
        if (lines.length > 0) found += mendEvent(lines);
        lines = [];
        held = next.length;
      }
    }
    return found;
  };
  return new TransformStream({
    transform(chunk, controller) {
      const found = take(decoder.decode(chunk, { stream: true }));
      if (found !== "") controller.enqueue(encoder.encode(found));
      if (held > MAX_LINE_BYTES) controller.error(new MessageTooLong());
    },
    flush(controller) {
      const found = take(`${decoder.decode()}\n\n`);
      if (found !== "") controller.enqueue(encoder.encode(found));
    },
  });
}
