/** What an editor may choose from: models of providers that can be used here, as far as is known without asking anybody. */
import { createCredentials } from "../config/credentials.ts";
import type { LoadedConfig } from "../config/load.ts";
import { resolveProviders } from "../provider/presets.ts";
import { keySource } from "./provider-key.ts";

/** A longer list helps nobody choose. */
const MAX_MODELS = 200;

/** `provider/id` and `acp:NAME`; the one in use comes first. */
export async function modelNames(
  loaded: LoadedConfig,
  env: Readonly<Record<string, string | undefined>>,
  current: string,
): Promise<string[]> {
  const { config, homes } = loaded;
  const credentials = createCredentials({ env, configHome: homes.config });
  const providers = Object.values(resolveProviders(env, config.providers));
  const usable = await Promise.all(
    providers.map(async (settings) => {
      const keyed = settings.apiKeyEnv !== undefined;
      const able = keyed
        ? (await keySource(settings, loaded, credentials)) !== undefined
        : Object.hasOwn(config.providers, settings.name);
      return able ? [settings] : [];
    }),
  );
  const offered = usable.flat().flatMap((settings) => {
    const ids = settings.defaultModel === undefined ? settings.models : [settings.defaultModel, ...settings.models];
    return ids.map((id) => `${settings.name}/${id}`);
  });
  const agents = Object.keys(config.acp.agents).map((name) => `acp:${name}`);
  return [...new Set([current, ...offered, ...Object.keys(config.models), ...agents])].slice(0, MAX_MODELS);
}
