/**
 * Input history (repl.md): 1,000 entries, newest last, in the state directory, readable by nobody else. Several programs
 * may add to it at once. Refuses: entries of more than 32 KiB (a paste is in the session log).
 */
import { updatePrivateFile } from "../config/private-file.ts";
import { type FileRead, readSettingsFile } from "../config/settings-file.ts";

export const MAX_ENTRIES = 1000;
const MAX_ENTRY_CHARS = 32 * 1024;
/** Characters of all entries in memory. */
const MAX_HELD_CHARS = 8 * 1024 * 1024;
/** UTF-8 bytes of the whole file. */
const MAX_BYTES = 768 * 1024;

export interface History {
  readonly entries: readonly string[];
  /** Remembers a text now and in the file; a failure to write is told once. */
  add(text: string): void;
  /** Resolves when everything is written. */
  settled(): Promise<void>;
}

/** Lines of JSON strings → entries; anything else is left out. */
export function parseHistory(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    if (!line.startsWith('"')) return [];
    try {
      const value: unknown = JSON.parse(line);
      return typeof value === "string" ? [value] : [];
    } catch {
      return [];
    }
  });
}

/** The file's text, oldest entries dropped until it is within bounds. */
export function formatHistory(entries: readonly string[]): string {
  const lines: string[] = [];
  let bytes = 0;
  for (const entry of entries.slice(-MAX_ENTRIES).reverse()) {
    const line = JSON.stringify(entry);
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > MAX_BYTES) break;
    lines.push(line);
  }
  return lines
    .reverse()
    .map((line) => `${line}\n`)
    .join("");
}

function entriesOf(read: FileRead): string[] {
  return read.kind === "bytes" ? parseHistory(new TextDecoder().decode(read.bytes)) : [];
}

/** With `text` as the newest entry; an equal neighbour is not repeated. */
export function withEntry(entries: readonly string[], text: string, maxChars = MAX_ENTRY_CHARS): readonly string[] {
  if (text.trim() === "" || text.length > maxChars || entries.at(-1) === text) return entries;
  return [...entries, text].slice(-MAX_ENTRIES);
}

/** The newest entries that together are no longer than what may be held in memory. */
function bounded(entries: readonly string[]): readonly string[] {
  let chars = 0;
  let from = entries.length;
  while (from > 0 && chars <= MAX_HELD_CHARS) chars += entries[--from]?.length ?? 0;
  return entries.slice(chars > MAX_HELD_CHARS ? from + 1 : from);
}

/**
 * Opens the history; an unreadable file is an empty history.
 * @param path undefined when there is no home: then it lasts as long as the program
 * @param clean takes secrets out before anything is written
 * @param signal nothing more is written, and nobody waited for who changes the file
 */
export function openHistory(
  path: string | undefined,
  clean: (text: string) => string,
  onFailure: (message: string) => void,
  signal?: AbortSignal,
): History {
  let entries: readonly string[] = path === undefined ? [] : entriesOf(readSettingsFile(path)).slice(-MAX_ENTRIES);
  let writing = Promise.resolve();
  let failed = false;
  return {
    get entries() {
      return entries;
    },
    add(text) {
      // A large paste can be had back while the program runs; the file does not keep it.
      entries = bounded(withEntry(entries, text, MAX_HELD_CHARS));
      const safe = clean(text);
      if (path === undefined || failed || withEntry([], safe).length === 0) return;
      writing = writing
        .then(() =>
          failed ? undefined : updatePrivateFile(path, (read) => formatHistory(withEntry(entriesOf(read), safe)), signal),
        )
        .catch((error: unknown) => {
          failed = true;
          if (signal?.aborted) return;
          onFailure(`input history is not kept: ${error instanceof Error ? error.message : String(error)}`);
        });
    },
    settled: () => writing,
  };
}

/** Walking through the history: where we are, and what was being typed before. */
export type Walk = { readonly at: number; readonly draft: string } | undefined;

/** One step; undefined when there is nothing in that direction. */
export function walkHistory(
  entries: readonly string[],
  walk: Walk,
  typed: string,
  delta: -1 | 1,
): { readonly walk: Walk; readonly text: string } | undefined {
  const at = (walk?.at ?? entries.length) + delta;
  const draft = walk?.draft ?? typed;
  if (at < 0 || at > entries.length || (walk === undefined && delta === 1)) return undefined;
  if (at === entries.length) return { walk: undefined, text: draft };
  return { walk: { at, draft }, text: entries[at] ?? "" };
}

/** The index of the newest entry before `from` that contains `query`; -1 when there is none. */
export function searchHistory(entries: readonly string[], query: string, from: number): number {
  if (query === "") return -1;
  const wanted = query.toLowerCase();
  for (let at = Math.min(from, entries.length) - 1; at >= 0; at--) if (entries[at]?.toLowerCase().includes(wanted)) return at;
  return -1;
}
