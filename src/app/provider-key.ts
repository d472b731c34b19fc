/**
 * Which credential may go to a provider's address (security.md 4): one rule for runs and for every command that speaks about
 * providers. Refuses: reading keys.
 */
import { isLoopback } from "../base/loopback.ts";
import type { CredentialSource, Credentials } from "../config/credentials.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { ProviderSettings } from "../types/settings.ts";

type Keys = Pick<Credentials, "lookup" | "source">;

/** Where a key may come from; undefined where none may go. */
function allowed({ name, apiKeyEnv }: ProviderSettings, loaded: LoadedConfig): { readonly stored: boolean } | undefined {
  const override = loaded.config.providers[name];
  if (override?.withoutCredential) return undefined;
  // The user's stored key is for the address the user knows, not for one that a project names.
  if (override?.withoutStored) return apiKeyEnv === undefined ? undefined : { stored: false };
  return { stored: true };
}

/** The key for this provider's address; undefined when there is none, none may go there, or `signal` ended the wait for it. */
export async function keyFor(
  settings: ProviderSettings,
  loaded: LoadedConfig,
  keys: Keys,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const rule = allowed(settings, loaded);
  return rule && (await keys.lookup(settings.name, settings.apiKeyEnv ?? null, rule.stored, signal));
}

/** Where that key is, without asking the keychain for it. */
export async function keySource(
  settings: ProviderSettings,
  loaded: LoadedConfig,
  keys: Keys,
): Promise<CredentialSource | undefined> {
  const rule = allowed(settings, loaded);
  return rule && (await keys.source(settings.name, settings.apiKeyEnv ?? null, rule.stored));
}

function isHere(baseUrl: string | undefined): boolean {
  return baseUrl !== undefined && URL.canParse(baseUrl) && isLoopback(new URL(baseUrl).hostname);
}

/** A key is asked for unless the server is on this machine or the provider is the user's own and names no variable. */
export function needsKey(settings: ProviderSettings, loaded: LoadedConfig): boolean {
  if (settings.local || settings.apiKeyEnv === undefined || isHere(settings.baseUrl)) return false;
  const override = loaded.config.providers[settings.name];
  return override === undefined || override.apiKeyEnv !== undefined || override.baseUrl === undefined;
}
