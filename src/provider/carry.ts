/**
 * Reasoning state a server wants back in the same run, with its place among text and calls. The wires write and read it;
 * everybody else passes it on. It is bound to the model that made it: another model never sees it.
 * Refuses: knowing what is inside an item.
 */
import { count, field, isObject, text } from "../base/json.ts";
import type { AssistantMessage, Carry, ToolCall, WireName } from "../types/message.ts";

export type CarryItem =
  /** The server's own block, given back as it came. */
  | { readonly kind: "opaque"; readonly value: unknown }
  /** The next `length` UTF-16 units of the message text. */
  | { readonly kind: "text"; readonly length: number }
  | { readonly kind: "call"; readonly id: string };

/** One piece of a message in its original order. */
type Piece =
  | { readonly kind: "opaque"; readonly value: unknown }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call"; readonly call: ToolCall };

/** Undefined where there is no state worth carrying. */
export function makeCarry(wire: WireName, model: string, items: readonly CarryItem[]): Carry | undefined {
  if (!items.some((item) => item.kind === "opaque")) return undefined;
  return { wire, items: [{ kind: "model", model }, ...items] };
}

/** The message as pieces; without usable state it is text, then calls. */
export function piecesOf(message: AssistantMessage, wire: WireName, model: string): readonly Piece[] {
  return ordered(message, wire, model) ?? plain(message);
}

function plain(message: AssistantMessage): readonly Piece[] {
  const pieces: Piece[] = message.text === "" ? [] : [{ kind: "text", text: message.text }];
  for (const call of message.calls) pieces.push({ kind: "call", call });
  return pieces;
}

/** undefined when the state belongs to another wire or model, or no longer fits the message. */
function ordered(message: AssistantMessage, wire: WireName, model: string): readonly Piece[] | undefined {
  const carry = message.carry;
  if (carry === undefined || carry.wire !== wire) return undefined;
  const [head, ...items] = carry.items;
  if (text(field(head, "model")) !== model) return undefined;
  const pieces: Piece[] = [];
  let at = 0;
  let calls = 0;
  for (const item of items) {
    if (!isObject(item)) return undefined;
    if (item.kind === "opaque") pieces.push({ kind: "opaque", value: item.value });
    else if (item.kind === "text") {
      const end = at + (count(item.length) ?? 0);
      if (end > message.text.length) return undefined;
      if (end > at) pieces.push({ kind: "text", text: message.text.slice(at, end) });
      at = end;
    } else {
      const call = message.calls.find((known) => known.id === item.id);
      if (call === undefined) return undefined;
      pieces.push({ kind: "call", call });
      calls += 1;
    }
  }
  return at === message.text.length && calls === message.calls.length ? pieces : undefined;
}
