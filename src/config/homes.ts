/** Where thndrs keeps what belongs to the user rather than to a workspace (cli.md, Configuration). Refuses: creating anything. */
import { isAbsolute, join, resolve } from "node:path";
import type { Environment } from "./env.ts";

export type Homes = {
  /** The user's home directory; undefined when the environment names none. */
  readonly user?: string;
  /** config.toml, credentials.json, trust.json, the global instruction file. Undefined when there is no home at all. */
  readonly config?: string;
  /** Input history and the like. Undefined when there is no home at all. */
  readonly state?: string;
};

function absolute(value: string | undefined): string | undefined {
  return value && isAbsolute(value) ? value : undefined;
}

/**
 * `$THNDRS_HOME` (relative to `cwd`), else `$XDG_CONFIG_HOME/thndrs`, else `~/.config/thndrs`; state beside it in
 * `$XDG_STATE_HOME/thndrs`, else `~/.local/state/thndrs`. A relative XDG variable is ignored, as the XDG specification asks.
 */
export function findHomes(env: Environment, cwd: string): Homes {
  const user = absolute(env.HOME) ?? absolute(env.USERPROFILE);
  const own = env.THNDRS_HOME ? resolve(cwd, env.THNDRS_HOME) : undefined;
  const xdgConfig = absolute(env.XDG_CONFIG_HOME);
  const xdgState = absolute(env.XDG_STATE_HOME);
  const config = own ?? (xdgConfig ? join(xdgConfig, "thndrs") : user ? join(user, ".config", "thndrs") : undefined);
  const beside = own ? join(own, "state") : undefined;
  const state = beside ?? (xdgState ? join(xdgState, "thndrs") : user ? join(user, ".local", "state", "thndrs") : undefined);
  return { ...(user ? { user } : {}), ...(config ? { config } : {}), ...(state ? { state } : {}) };
}

/** Where the two configuration files are looked for. */
export function configPaths(homes: Homes, workspaceRoot: string): { readonly user?: string; readonly project: string } {
  const project = join(workspaceRoot, ".thndrs", "config.toml");
  return homes.config ? { user: join(homes.config, "config.toml"), project } : { project };
}
