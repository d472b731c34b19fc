/**
 * Ids and names of tool calls, normalised once when a response arrives, unique within a conversation, and in the form
 * its server accepts. Refuses: joining fragments (tool-calls.ts).
 */
import type { Message } from "../types/message.ts";
import type { ProviderSettings } from "../types/settings.ts";
import { presetOf } from "./presets.ts";

const MAX_ID = 64;
const MAX_NAME = 64;

/** Which ids a server takes back. */
export type IdRule = { readonly asReceived: boolean; readonly max: number };

/** What every server takes: `^[a-zA-Z0-9_-]{1,64}$`. */
const PLAIN_IDS: IdRule = { asReceived: false, max: MAX_ID };
/** Chat servers read their own ids again, and no one else's: templates render them (Kimi), gateways keep signatures in them (LiteLLM). */
export const OWN_IDS: IdRule = { asReceived: true, max: 16_384 };
/** What others made has the form that every server takes. */
export function foreignIds(own: IdRule): IdRule {
  return own.asReceived ? PLAIN_IDS : own;
}

/** OpenAI refuses longer ones on its chat wire. */
const OPENAI_CHAT_IDS: IdRule = { asReceived: false, max: 40 };

export function idRule(settings: ProviderSettings): IdRule {
  if (settings.wire !== "openai-chat") return PLAIN_IDS;
  return presetOf(settings) === "openai" ? OPENAI_CHAT_IDS : OWN_IDS;
}

const PLAIN = /^[a-zA-Z0-9_-]+$/;
/** Anything visible. */
const VISIBLE = /^[^\s\p{C}]+$/u;

/** Whether a server takes the id back as it is. */
export function fits(id: string, rule: IdRule): boolean {
  return id.length <= rule.max && (PLAIN.test(id) || (rule.asReceived && VISIBLE.test(id)));
}

/** The id where it fits, else one like it in the plain form, "" when nothing usable is left. Long ids keep their start and gain a hash. */
export function cleanId(raw: string, rule: IdRule = PLAIN_IDS): string {
  if (fits(raw, rule)) return raw;
  const id = raw.replace(/[^a-zA-Z0-9_-]/g, "_");
  const max = Math.min(MAX_ID, rule.max);
  if (id.length <= max) return id;
  return `${id.slice(0, max - 17)}_${Bun.hash.xxHash64(raw).toString(16).padStart(16, "0")}`;
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
export function freeId(raw: string, used: Set<string>, rule: IdRule = PLAIN_IDS): string {
  const wanted = cleanId(raw, rule) || `call_${used.size + 1}`;
  // The next number of a numbered id (`functions.read:0`) has the form that its model expects.
  const [, stem, number] = (rule.asReceived && /^(.+:)(\d{1,9})$/.exec(wanted)) || [];
  let id = wanted;
  for (let n = 2; used.has(id); n += 1) {
    const tail = `_${n}`;
    id =
      stem === undefined ? wanted.slice(0, Math.min(MAX_ID, rule.max) - tail.length) + tail : `${stem}${Number(number) + n - 1}`;
  }
  used.add(id);
  return id;
}

/** Nine letters or digits, the only form some servers accept; ids that have it stay as they are. */
export function nineCharacterId(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id;
  return Bun.hash.xxHash64(id).toString(36).padStart(9, "0").slice(-9);
}
