/** What no message of one provider may show, should a server repeat it. Refuses: finding keys by their looks alone (base/redact.ts knows them). */
import { redact } from "../base/redact.ts";
import type { ProviderSettings } from "../types/settings.ts";

const SECRET_NAME = /auth|key|token|secret|cookie/i;
/** Shorter ones are placeholders of local servers; replacing them would mangle ordinary words. */
const MIN_SECRET = 8;

/** What a base URL carries of credentials, as it stands there and as it means: its password (a user without one is the key itself), and parameters. */
export function addressSecrets(baseUrl: string | undefined): readonly string[] {
  if (baseUrl === undefined || !/[?@]/.test(baseUrl) || !URL.canParse(baseUrl)) return [];
  const { username, password, search, searchParams } = new URL(baseUrl);
  const user = password === "" ? username : password;
  const named = [...searchParams].filter(([name]) => SECRET_NAME.test(name)).map(([, value]) => value);
  const written = search.split(/[?&]/).flatMap((part) => {
    const [name = "", value = ""] = part.split(/=(.*)/s);
    return SECRET_NAME.test(name) ? [value] : [];
  });
  return [...new Set([user, decoded(user), ...named, ...written])].filter((value) => value.length >= MIN_SECRET);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Takes the key, and what looks like a credential in the address and in configured headers and query parameters, out of a message. */
export function keyRedaction(settings: ProviderSettings, apiKey: string | undefined): (message: string) => string {
  const configured = [...Object.entries(settings.headers), ...Object.entries(settings.query)]
    .filter(([name]) => SECRET_NAME.test(name))
    .map(([, value]) => value.replace(/^\w+ +/, ""));
  const exact = [apiKey ?? "", ...configured, ...addressSecrets(settings.baseUrl)].filter((value) => value.length >= MIN_SECRET);
  return (message) => redact(message, { exact });
}
