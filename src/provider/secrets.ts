/** What no message of one provider may show, should a server repeat it. Refuses: finding keys by their looks alone (base/redact.ts knows them). */
import { redact } from "../base/redact.ts";
import type { ProviderSettings } from "../types/settings.ts";

const SECRET_NAME = /auth|key|token|secret|cookie/i;
/** Shorter ones are placeholders of local servers; replacing them would mangle ordinary words. */
const MIN_SECRET = 8;

/** Takes the key, and configured headers and query parameters that look like credentials, out of a message. */
export function keyRedaction(settings: ProviderSettings, apiKey: string | undefined): (message: string) => string {
  const configured = [...Object.entries(settings.headers), ...Object.entries(settings.query)]
    .filter(([name]) => SECRET_NAME.test(name))
    .map(([, value]) => value.replace(/^\w+ +/, ""));
  const exact = [apiKey ?? "", ...configured].filter((value) => value.length >= MIN_SECRET);
  return (message) => redact(message, { exact });
}
