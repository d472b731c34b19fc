/**
 * What of a workspace the user has trusted (cli.md, Configuration; security.md 1). A list in the config home, outside any
 * repository, binds place and content: any edit takes the trust back, and a link in another repository that leads to a trusted
 * file is a file of that repository, whose relative programs are its own: links are not followed. SHA-256 here, not the short content hash of
 * the log: somebody who can make two files with one hash must gain nothing. Refuses: deciding what trust is needed for.
 */
import { join, resolve } from "node:path";
import { UserError } from "../base/user-error.ts";
import { updatePrivateFile } from "./private-file.ts";
import { type FileRead, readSettingsFile } from "./settings-file.ts";

type TrustEntry = {
  /** Where the trusted file stands, below the real path of its workspace. */
  readonly path: string;
  /** `sha256:` + 64 hex digits of its bytes. */
  readonly hash: string;
  /** ISO 8601 */
  readonly time: string;
};

export type TrustState = "trusted" | "changed" | "untrusted";

export type TrustStore = {
  /** `changed`: the path was trusted with other content. */
  state(path: string, bytes: Uint8Array): Promise<TrustState>;
  /** @throws UserError for a damaged list, like every change of it */
  list(): Promise<readonly TrustEntry[]>;
  /** Trusts these files with exactly these bytes. */
  add(files: readonly { readonly path: string; readonly bytes: Uint8Array }[]): Promise<void>;
  /** Forgets every entry that `match` picks; returns what was forgotten. */
  remove(match: (path: string) => boolean): Promise<readonly TrustEntry[]>;
};

/** `sha256:` + hex of the bytes. */
export function trustHash(bytes: Uint8Array): string {
  return `sha256:${new Bun.CryptoHasher("sha256").update(bytes).digest("hex")}`;
}

function isEntry(value: unknown): value is TrustEntry {
  if (typeof value !== "object" || value === null) return false;
  const { path, hash, time } = value as Partial<TrustEntry>;
  return typeof path === "string" && typeof hash === "string" && typeof time === "string";
}

/** Undefined for a damaged list: it trusts nothing, and nothing is written over it. */
function entriesOf(read: FileRead): readonly TrustEntry[] | undefined {
  if (read.kind !== "bytes") return [];
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(read.bytes));
    const entries = typeof parsed === "object" && parsed !== null && "trusted" in parsed ? parsed.trusted : undefined;
    return Array.isArray(entries) ? entries.filter(isEntry) : undefined;
  } catch {
    return undefined;
  }
}

/** @throws UserError for a damaged list */
function wholeEntries(file: string, read: FileRead): readonly TrustEntry[] {
  const entries = entriesOf(read);
  if (entries) return entries;
  throw new UserError(`${file} is damaged (it is no list of trusted files): repair it, or move it away and trust again`);
}

const textOf = (trusted: readonly TrustEntry[]): string => `${JSON.stringify({ version: 1, trusted }, null, 2)}\n`;

/**
 * The trust list of `configHome`; without a config home nothing is trusted and nothing can be. `signal` ends the wait for another
 * process that changes it.
 */
export function openTrust(configHome: string | undefined, signal?: AbortSignal): TrustStore {
  const file = configHome ? join(configHome, "trust.json") : undefined;
  const needFile = (): string => {
    if (file) return file;
    throw new UserError("there is no place to remember trust: set HOME or THNDRS_HOME (or use --trust-project for one run)");
  };
  return {
    async state(path, bytes) {
      if (!file) return "untrusted";
      const entries = entriesOf(readSettingsFile(file)) ?? [];
      if (entries.length === 0) return "untrusted";
      const known = resolve(path);
      const found = entries.find((entry) => entry.path === known);
      if (!found) return "untrusted";
      return found.hash === trustHash(bytes) ? "trusted" : "changed";
    },
    async list() {
      return file ? wholeEntries(file, readSettingsFile(file)) : [];
    },
    async add(files) {
      const time = new Date().toISOString();
      const added = files.map(({ path, bytes }): TrustEntry => ({ path: resolve(path), hash: trustHash(bytes), time }));
      const paths = new Set(added.map((entry) => entry.path));
      const list = needFile();
      const others = (read: FileRead) => wholeEntries(list, read).filter((entry) => !paths.has(entry.path));
      await updatePrivateFile(list, (read) => textOf([...others(read), ...added]), signal);
    },
    async remove(match) {
      const removed = file ? wholeEntries(file, readSettingsFile(file)).filter((entry) => match(entry.path)) : [];
      if (!file || removed.length === 0) return [];
      const others = (read: FileRead) => wholeEntries(file, read).filter((entry) => !match(entry.path));
      await updatePrivateFile(file, (read) => textOf(others(read)), signal);
      return removed;
    },
  };
}
