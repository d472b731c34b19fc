/**
 * What a child process inherits (tools.md run_shell, security.md 4, H05, H11, B03). Everything of the user's environment
 * except secrets, Bun's switches and thndrs' own variables; on top a fixed set that keeps programs from prompting,
 * paging and colouring. Refuses: reading process.env (config/ does).
 */

/** Marks our descendants so that they can be found after they left their process group. Not a secret. */
export const MARKER_VARIABLE = "THNDRS_PROCESS";

/** Names whose last word says that the value is a secret. `NPM_TOKEN`, `PGPASSWORD`, `MYSQL_PWD`, `npm_config__auth`. */
const SECRET_NAME =
  /(?:api_?keys?|access_?key(?:_?id)?|tokens?|secrets?|passwords?|passwd|passphrase|_(?:key|pat|pwd|pass|auth))$/i;

/** Left out: they describe a terminal the child does not have, or force colour into a pipe. */
const TERMINAL_NAMES: ReadonlySet<string> = new Set([
  "COLORTERM",
  "FORCE_COLOR",
  "CLICOLOR_FORCE",
  "COLUMNS",
  "LINES",
  "GPG_TTY",
  "SSH_TTY",
  "GCC_COLORS",
  "LS_COLORS",
]);

/** Thndrs' own variables a nested thndrs needs and that hold no secret. */
const OWN_NAMES: ReadonlySet<string> = new Set(["THNDRS_HOME", MARKER_VARIABLE]);

/** Always set, whatever the user has: `false` as an editor fails, so an unattended `git rebase -i` stops instead of rewriting. */
const UNATTENDED: Readonly<Record<string, string>> = {
  TERM: "dumb",
  NO_COLOR: "1",
  CLICOLOR: "0",
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  GH_PAGER: "cat",
  AWS_PAGER: "",
  PSQL_PAGER: "cat",
  SYSTEMD_PAGER: "cat",
  SYSTEMD_COLORS: "0",
  BAT_PAGER: "cat",
  DELTA_PAGER: "cat",
  EDITOR: "false",
  VISUAL: "false",
  GIT_EDITOR: "false",
  GIT_SEQUENCE_EDITOR: "false",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "false",
  GIT_MERGE_AUTOEDIT: "no",
  GCM_INTERACTIVE: "never",
  SSH_ASKPASS: "false",
  SSH_ASKPASS_REQUIRE: "never",
  SUDO_ASKPASS: "false",
  GH_PROMPT_DISABLED: "1",
  DEBIAN_FRONTEND: "noninteractive",
  PIP_NO_INPUT: "1",
  COREPACK_ENABLE_DOWNLOAD_PROMPT: "0",
  NO_UPDATE_NOTIFIER: "1",
};

type InheritOptions = {
  /** `shell.env_allow`: exact names that pass although they look like secrets. Never lets `BUN_*` through. */
  readonly allow?: readonly string[];
  /** Names that hold provider or search credentials whatever they look like (`apiKeyEnv` of every provider). */
  readonly credentialNames?: readonly string[];
};

/** True when the name alone says that the value is a secret. */
export function looksSecret(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** The complete environment of a child. The result is a fresh object. */
export function childEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  options: InheritOptions = {},
): Record<string, string> {
  const allow = new Set(options.allow);
  const credentials = new Set(options.credentialNames);
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && inherits(name, allow, credentials)) result[name] = value;
  }
  return Object.assign(result, UNATTENDED);
}

function inherits(name: string, allow: ReadonlySet<string>, credentials: ReadonlySet<string>): boolean {
  if (/^BUN_/i.test(name) || TERMINAL_NAMES.has(name)) return false;
  if (allow.has(name)) return true;
  if (/^THNDRS_/i.test(name)) return OWN_NAMES.has(name);
  return !credentials.has(name) && !looksSecret(name);
}
