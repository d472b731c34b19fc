/**
 * The providers as this user has them: presets, configuration, environment and credentials joined, for the commands that
 * speak about providers rather than to a model. Refuses: choosing a model for a run (app/ does).
 */
import { keyFor, keySource } from "../app/provider-key.ts";
import { nearestWord } from "../base/nearest.ts";
import { UserError } from "../base/user-error.ts";
import { variablePrefix } from "../base/variable-name.ts";
import { openWorkspace } from "../base/workspace.ts";
import { type CredentialSource, type Credentials, createCredentials } from "../config/credentials.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { resolveProviders } from "../provider/presets.ts";
import type { ProviderSettings } from "../types/settings.ts";
import { type CommandContext, tellUnread } from "./command.ts";

export type Endpoints = {
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly loaded: LoadedConfig;
  readonly credentials: Credentials;
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  /** The key that may go to this provider's address. */
  keyOf(settings: ProviderSettings): Promise<string | undefined>;
  /** Where that key is, without asking the keychain for it. */
  sourceOf(settings: ProviderSettings): Promise<CredentialSource | undefined>;
  /** A local server that the user named, in the configuration or by its address: not one that is looked for at the usual place. */
  isNamed(settings: ProviderSettings): boolean;
};

/** Joins what is already loaded. */
export function joinEndpoints(context: CommandContext, root: string, loaded: LoadedConfig): Endpoints {
  const { env, signal } = context;
  const credentials = createCredentials({ env, configHome: loaded.homes.config, signal });
  return {
    root,
    env,
    loaded,
    credentials,
    providers: resolveProviders(env, loaded.config.providers),
    keyOf: (settings) => keyFor(settings, loaded, credentials),
    sourceOf: (settings) => keySource(settings, loaded, credentials),
    isNamed: ({ name }) =>
      loaded.config.providers[name] !== undefined || (env[`${variablePrefix(name)}_BASE_URL`] ?? "").trim() !== "",
  };
}

/** @throws UserError (exit 2) when the configuration is wrong. */
export async function openEndpoints(context: CommandContext): Promise<Endpoints> {
  const { env, flags, cwd } = context;
  const { root } = await openWorkspace(cwd);
  const loaded = await loadConfig({ env, flags, cwd, workspaceRoot: root });
  tellUnread(context, loaded.diagnostics);
  return joinEndpoints(context, root, loaded);
}

/** @throws UserError naming the nearest provider. */
export function findProvider(endpoints: Endpoints, name: string): ProviderSettings {
  const found = Object.hasOwn(endpoints.providers, name) ? endpoints.providers[name] : undefined;
  if (found) return found;
  const names = Object.keys(endpoints.providers);
  const near = nearestWord(name, names);
  throw new UserError(`there is no provider "${name}"${near ? `; did you mean "${near}"?` : ""}\nProviders: ${names.join(", ")}`);
}

/** One word for where a key is; never the key. */
export function describeSource(source: CredentialSource | undefined): string {
  if (!source) return "none";
  if (source.kind === "environment") return `environment ($${source.variable})`;
  return source.kind === "keychain" ? "keychain" : `file ${source.path}`;
}
