/**
 * Ids and names of tool calls, normalised once when a response arrives, unique within a conversation, and in the form
 * every wire accepts. Refuses: joining fragments (tool-calls.ts).
 */
import type { Message } from "../types/message.ts";

const MAX_ID = 64;
const MAX_NAME = 64;

/** `^[a-zA-Z0-9_-]{1,64}$`, or "" when nothing usable is left. Long ids keep their start and gain a hash. */
export function cleanId(raw: string): string {
  const id = raw.replace(/[^a-zA-Z0-9_-]/g, "_");
  if (id.length <= MAX_ID) return id;
  return `${id.slice(0, MAX_ID - 17)}_${Bun.hash.xxHash64(raw).toString(16).padStart(16, "0")}`;
}

/** A tool name as the wires take it back in a history. */
export function cleanName(raw: string): string {
  return raw.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, MAX_NAME) || "unknown_tool";
}

/** Every call id a conversation already uses. */
export function usedIds(messages: readonly Message[]): Set<string> {
  const used = new Set<string>();
  for (const message of messages) {
    if (message.role === "assistant") for (const call of message.calls) used.add(call.id);
  }
  return used;
}

/** A free id close to what the server said, and marks it used. Deterministic for the same history. */
export function freeId(raw: string, used: Set<string>): string {
  const wanted = cleanId(raw) || `call_${used.size + 1}`;
  let id = wanted;
  for (let n = 2; used.has(id); n += 1) {
    const tail = `_${n}`;
    id = wanted.slice(0, MAX_ID - tail.length) + tail;
  }
  used.add(id);
  return id;
}

/** Nine letters or digits, the only form some servers accept; ids that have it stay as they are. */
export function nineCharacterId(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id;
  return Bun.hash.xxHash64(id).toString(36).padStart(9, "0").slice(-9);
}
