/** Which wire format a provider speaks. Refuses: the formats themselves. */
import type { ProviderSettings } from "../types/settings.ts";
import { openaiChat } from "./openai-chat.ts";
import type { Wire } from "./wire.ts";

/** Chat is what most speak; the other two are lazy doors, since a run speaks one and each costs a start 0.15 ms. */
export async function loadWire(settings: ProviderSettings): Promise<Wire> {
  if (settings.wire === "anthropic") return (await import("./anthropic.ts")).anthropic(settings);
  if (settings.wire === "openai-responses") return (await import("./openai-responses.ts")).openaiResponses();
  return openaiChat(settings);
}
