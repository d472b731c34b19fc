/**
 * What a child process inherits (tools.md run_shell, security.md 4, H05, H11, B03). Everything of the user's environment
 * except secrets, Bun's switches, git's idea of where it is and thndrs' own variables; on top a fixed set that keeps programs
 * from prompting, paging and colouring. Refuses: reading process.env (config/ does).
 */
import { looksSecret, mayNameFile, saysNothing } from "./secret-names.ts";

/** Marks our descendants so that they can be found after they left their process group. Not a secret. */
export const MARKER_VARIABLE = "THNDRS_PROCESS";

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

/**
 * Left out: which repository git works on. Set where thndrs is run from a hook or an alias, and a command that goes elsewhere (`git init`
 * of a fixture) would write into the user's. What `git rev-parse --local-env-vars` lists, but for `GIT_CONFIG_PARAMETERS` and
 * `GIT_CONFIG_COUNT`: settings hold anywhere, and git itself hands them on to other repositories.
 */
const REPOSITORY_NAMES: ReadonlySet<string> = new Set([
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
  "GIT_COMMON_DIR",
  "GIT_CONFIG",
  "GIT_DIR",
  "GIT_GRAFT_FILE",
  "GIT_IMPLICIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_INTERNAL_SUPER_PREFIX",
  "GIT_NAMESPACE",
  "GIT_NO_REPLACE_OBJECTS",
  "GIT_OBJECT_DIRECTORY",
  "GIT_PREFIX",
  "GIT_QUARANTINE_PATH",
  "GIT_REPLACE_REF_BASE",
  "GIT_SHALLOW_FILE",
  "GIT_WORK_TREE",
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
  /** `shell.env_allow`: exact names that pass although they look like secrets or name a repository. Never lets `BUN_*` through. */
  readonly allow?: readonly string[];
  /** Names that hold provider or search credentials whatever they look like (`apiKeyEnv` of every provider). */
  readonly credentialNames?: readonly string[];
};

/** The complete environment of a child. The result is a fresh object. */
export function childEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  options: InheritOptions = {},
): Record<string, string> {
  const allow = new Set(options.allow);
  const credentials = new Set(options.credentialNames);
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && inherits(name, value, allow, credentials)) result[name] = value;
  }
  return Object.assign(result, UNATTENDED);
}

function inherits(name: string, value: string, allow: ReadonlySet<string>, credentials: ReadonlySet<string>): boolean {
  if (/^BUN_/i.test(name) || TERMINAL_NAMES.has(name)) return false;
  if (allow.has(name)) return true;
  if (REPOSITORY_NAMES.has(name)) return false;
  if (/^THNDRS_/i.test(name)) return OWN_NAMES.has(name);
  if (credentials.has(name)) return false;
  return !looksSecret(name) || saysNothing(value) || (mayNameFile(name) && isPath(value));
}

function isPath(value: string): boolean {
  return (
    /^(?:[~.]{0,2}\/|[A-Za-z]:[\\/])[^\n{]*$/.test(value) ||
    /^[\w.@ -]+(?:[\\/][\w.@ -]+)*\.(?:json|ya?ml|toml|ini|conf|pem|p12)$/.test(value)
  );
}
