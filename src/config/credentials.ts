/**
 * Where a provider's key comes from (cli.md, Configuration; security.md 4): the environment, then what `thndrs login`
 * stored in the OS keychain, or in a 0600 file where there is none. The file also says which providers are in the
 * keychain, so that nobody's start waits for a keychain that holds nothing. Refuses: printing, sending, guessing.
 */
import { join } from "node:path";
import { looksSecret } from "../base/secret-names.ts";
import { UserError } from "../base/user-error.ts";
import { variablePrefix } from "../base/variable-name.ts";
import type { Environment } from "./env.ts";
import { updatePrivateFile } from "./private-file.ts";
import { type FileRead, readSettingsFile } from "./settings-file.ts";

export type CredentialSource =
  | { readonly kind: "environment"; readonly variable: string }
  | { readonly kind: "keychain" }
  | { readonly kind: "file"; readonly path: string };

/** The part of `Bun.secrets` that is used; tests bring their own. */
export type Keychain = {
  get(options: { service: string; name: string }): Promise<string | null>;
  set(options: { service: string; name: string; value: string; persist?: "local" | "enterprise" }): Promise<void>;
  delete(options: { service: string; name: string }): Promise<boolean>;
};

export type Credentials = {
  /**
   * The key of a provider (`openai`), trimmed. `variable` is the provider's key variable; without one, `<NAME>_API_KEY`.
   * `null`: no variable counts. `stored` false: neither does what was stored. Undefined when there is none or the keychain does
   * not answer, or `signal` (in place of that of all questions) was aborted.
   */
  lookup(name: string, variable?: string | null, stored?: boolean, signal?: AbortSignal): Promise<string | undefined>;
  /** Where `lookup` would find it, without asking the keychain. */
  source(name: string, variable?: string | null, stored?: boolean): Promise<CredentialSource | undefined>;
  /** Providers with a stored key, by name. */
  stored(): Promise<readonly { readonly name: string; readonly source: CredentialSource }[]>;
  /** @throws UserError when there is nowhere to store it; what the signal was aborted with */
  store(name: string, value: string): Promise<CredentialSource>;
  /** True when there was one. The environment is not touched. */
  remove(name: string): Promise<boolean>;
  /** Every secret value this process holds so far, for exact redaction: looked-up keys and secret-named variables. */
  knownValues(): readonly string[];
  /** A reason to tell the user about the stored file (readable by others, damaged); undefined when all is well. */
  problem(): Promise<string | undefined>;
};

type Stored = { readonly in: "keychain" } | { readonly in: "file"; readonly value: string };
type StoredFile = { readonly entries: ReadonlyMap<string, Stored>; readonly problem?: string };

type CredentialOptions = {
  readonly env: Environment;
  readonly configHome: string | undefined;
  /** Default: the OS keychain; `null`: none. */
  readonly keychain?: Keychain | null;
  /** Secrets known from elsewhere: variables that settings refer to. */
  readonly referenced?: readonly string[];
  /** How long the keychain may take; it can be waiting for the user to unlock it. */
  readonly keychainTimeoutMs?: number;
  /** Ends the waits for the keychain and for other processes. */
  readonly signal?: AbortSignal;
};

const SERVICE = "thndrs";
/** Shorter values are left out of exact redaction: they would black out ordinary words. */
const MIN_KNOWN_LENGTH = 8;

/** False for a path, and for what may be an ordinary word (`changeme`): hiding it everywhere would garble prose. */
function isTelling(value: string): boolean {
  return !/^[~.]?\//.test(value) && (/\d/.test(value) || value.length >= 20);
}

/** `my-corp` → `MY_CORP_API_KEY`. */
export function keyVariable(name: string): string {
  return `${variablePrefix(name)}_API_KEY`;
}

function storedIn(path: string, read: FileRead): StoredFile {
  if (read.kind === "absent") return { entries: new Map() };
  if (read.kind === "unreadable") return { entries: new Map(), problem: `${path} cannot be read: ${read.reason}` };
  const entries = new Map<string, Stored>();
  try {
    const parsed = JSON.parse(new TextDecoder().decode(read.bytes)) as { credentials?: Record<string, unknown> };
    for (const [name, raw] of Object.entries(parsed.credentials ?? {})) {
      const item = raw as { in?: unknown; value?: unknown };
      if (item.in === "keychain") entries.set(name, { in: "keychain" });
      if (item.in === "file" && typeof item.value === "string") entries.set(name, { in: "file", value: item.value });
    }
  } catch {
    return { entries: new Map(), problem: `${path} is damaged; "thndrs login" writes it anew` };
  }
  const open = process.platform !== "win32" && (read.mode & 0o077) !== 0;
  return {
    entries,
    ...(open ? { problem: `${path} can be read by others (mode ${read.mode.toString(8)}); run: chmod 600 ${path}` } : {}),
  };
}

const textOf = (entries: ReadonlyMap<string, Stored>): string =>
  `${JSON.stringify({ version: 1, credentials: Object.fromEntries(entries) }, null, 2)}\n`;

/** Resolves to undefined when the keychain fails, takes longer than `ms`, or is no longer waited for. */
async function askKeychain<T>(ask: () => Promise<T>, ms: number, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (signal?.aborted) return undefined;
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const giveUp = (): void => resolve(undefined);
  const timer = setTimeout(giveUp, ms);
  signal?.addEventListener("abort", giveUp);
  try {
    return await Promise.race([ask().catch(() => undefined), late]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}

function variableValue(
  env: Environment,
  name: string,
  variable: string | null | undefined,
): { readonly variable: string; readonly value: string } | undefined {
  if (variable === null) return undefined;
  const chosen = variable ?? keyVariable(name);
  const value = env[chosen]?.trim();
  return value ? { variable: chosen, value } : undefined;
}

/** What variables with secret-looking names hold. */
function secretValues(env: Environment): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const text = value?.trim() ?? "";
    return text !== "" && looksSecret(name) && isTelling(text) ? [text] : [];
  });
}

/** The credentials of one process. Nothing is read before the first question. */
export function createCredentials(options: CredentialOptions): Credentials {
  const { env, configHome, keychainTimeoutMs = 10_000, signal } = options;
  const file = configHome ? join(configHome, "credentials.json") : undefined;
  const held = new Set<string>(options.referenced);
  let inherited: readonly string[] | undefined;
  let known: { readonly held: number; readonly values: readonly string[] } | undefined;
  const keychain = (): Keychain | null => (options.keychain === undefined ? Bun.secrets : options.keychain);
  const read = (): StoredFile => (file ? storedIn(file, readSettingsFile(file)) : { entries: new Map() });
  const change = (path: string, alter: (entries: Map<string, Stored>) => void): Promise<void> =>
    updatePrivateFile(
      path,
      (now) => {
        const entries = new Map(storedIn(path, now).entries);
        alter(entries);
        return textOf(entries);
      },
      signal,
    );
  const place = (stored: Stored, path: string): CredentialSource =>
    stored.in === "keychain" ? { kind: "keychain" } : { kind: "file", path };
  const saveInKeychain = async (name: string, value: string): Promise<boolean> => {
    const chain = keychain();
    if (!chain) return false;
    const save = (): Promise<boolean> => chain.set({ service: SERVICE, name, value, persist: "local" }).then(() => true);
    const saved = (await askKeychain(save, keychainTimeoutMs, signal)) === true;
    // Whoever gave up has not agreed to a file.
    if (!saved) signal?.throwIfAborted();
    return saved;
  };
  return {
    async lookup(name, variable, also = true, until = signal) {
      const given = variableValue(env, name, variable);
      if (given) {
        held.add(given.value);
        return given.value;
      }
      const stored = also ? read().entries.get(name) : undefined;
      if (!stored) return undefined;
      const chain = keychain();
      const asked =
        stored.in === "keychain" && chain
          ? askKeychain(() => chain.get({ service: SERVICE, name }), keychainTimeoutMs, until)
          : undefined;
      const value = stored.in === "file" ? stored.value : ((await asked) ?? undefined);
      if (value) held.add(value);
      return value;
    },
    async source(name, variable, also = true) {
      const given = variableValue(env, name, variable);
      if (given) return { kind: "environment", variable: given.variable };
      const stored = also ? read().entries.get(name) : undefined;
      return stored && file ? place(stored, file) : undefined;
    },
    async stored() {
      const { entries } = read();
      return [...entries].map(([name, stored]) => ({ name, source: place(stored, file ?? "") }));
    },
    async store(name, value) {
      if (!file) throw new UserError("there is no place to keep a key: set HOME or THNDRS_HOME");
      const stored: Stored = (await saveInKeychain(name, value)) ? { in: "keychain" } : { in: "file", value };
      await change(file, (entries) => entries.set(name, stored));
      held.add(value);
      return place(stored, file);
    },
    async remove(name) {
      const { entries } = read();
      const stored = entries.get(name);
      if (!file || !stored) return false;
      const chain = keychain();
      if (stored.in === "keychain" && chain) {
        const forget = (): Promise<true> => chain.delete({ service: SERVICE, name }).then(() => true);
        const gone = await askKeychain(forget, keychainTimeoutMs, signal);
        if (!gone) signal?.throwIfAborted();
        if (!gone) throw new UserError(`the keychain does not answer, so the key of ${name} is still in it`);
      }
      await change(file, (entries) => entries.delete(name));
      return true;
    },
    knownValues() {
      // Asked for every text that is logged: the environment does not change, and what is held only grows.
      inherited ??= secretValues(env);
      if (known?.held !== held.size) {
        const values = [...new Set([...held, ...inherited])].filter((value) => value.length >= MIN_KNOWN_LENGTH);
        known = { held: held.size, values };
      }
      return known.values;
    },
    async problem() {
      return read().problem;
    },
  };
}
