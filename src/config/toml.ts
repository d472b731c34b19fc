/**
 * One TOML file → the keys it declares, each checked against the table of keys. Loaded only when a file exists (it brings
 * smol-toml). Refuses: precedence, trust, quoting the file's text in an error (it may hold a secret).
 */
import { dirname } from "node:path";
import { parse, TomlError } from "smol-toml";
import { nearestWord } from "../base/nearest.ts";
import { UserError } from "../base/user-error.ts";
import { childrenOf, findKey, type KeySpec, nameKey } from "./keys.ts";
import { findKeyLines, type KeyLines, lineOf } from "./lines.ts";
import { isSecretName } from "./secrets.ts";
import { readValue } from "./values.ts";

/** One key that a file sets. */
export type Declared = {
  readonly path: readonly string[];
  readonly spec: KeySpec;
  readonly value: unknown;
  readonly line: number | undefined;
};

type Reader = { readonly file: string; readonly home: string | undefined; readonly lines: KeyLines };

function complain(reader: Reader, path: readonly string[], problem: string): UserError {
  const line = lineOf(reader.lines, path);
  return new UserError(`${reader.file}${line === undefined ? "" : `:${line}`}: ${problem}`);
}

/** Valid full keys near a wrong one: a sibling by spelling, else the same word in another table. */
function suggestion(path: readonly string[]): string {
  const parent = path.slice(0, -1);
  const word = path.at(-1) ?? "";
  const siblings = childrenOf(parent).filter((child) => child !== "*");
  const near = siblings.find((child) => word.length > 2 && child.startsWith(word)) ?? nearestWord(word, siblings);
  if (near) return `; did you mean "${nameKey([...parent, near])}"?`;
  const elsewhere = siblings.length > 0 ? findElsewhere(word, parent) : undefined;
  if (elsewhere) return `; did you mean "${elsewhere}"?`;
  if (siblings.length === 0) return "";
  return parent.length === 0 ? `; valid here: ${siblings.join(", ")}` : `; valid in [${nameKey(parent)}]: ${siblings.join(", ")}`;
}

function findElsewhere(word: string, parent: readonly string[]): string | undefined {
  for (const table of [[], ...childrenOf([]).map((child) => [child])]) {
    if (table.length === parent.length && table.every((part, index) => part === parent[index])) continue;
    const near = nearestWord(
      word,
      childrenOf(table).filter((child) => child !== "*"),
    );
    if (near && findKey([...table, near])) return nameKey([...table, near]);
  }
  return undefined;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function checkName(reader: Reader, path: readonly string[], raw: unknown): void {
  const word = path.at(-1) ?? "";
  if (isSecretName(word) && !isTable(raw)) {
    const problem = `"${nameKey(path)}" looks like a secret, and secrets are not kept in configuration files`;
    throw complain(reader, path, `${problem}: use an environment variable (api_key_env names it) or "thndrs login PROVIDER"`);
  }
  if (path[0] === "providers" && path.length === 2 && !/^[A-Za-z0-9_-]+$/.test(word)) {
    throw complain(reader, path, `"${word}" cannot name a provider: letters, digits, - and _ only`);
  }
}

function walk(reader: Reader, table: Record<string, unknown>, path: readonly string[], found: Declared[]): void {
  for (const [word, raw] of Object.entries(table)) {
    const here = [...path, word];
    const spec = findKey(here);
    if (spec) {
      const place = { base: dirname(reader.file), ...(reader.home ? { home: reader.home } : {}) };
      const read = readValue(spec.type, raw, place);
      if (!read.ok) throw complain(reader, here, `"${nameKey(here)}" must be ${read.expected}`);
      found.push({ path: here, spec, value: read.value, line: lineOf(reader.lines, here) });
      continue;
    }
    checkName(reader, here, raw);
    const inner = childrenOf(here);
    if (inner.length === 0) throw complain(reader, here, `unknown key "${nameKey(here)}"${suggestion(here)}`);
    if (!isTable(raw))
      throw complain(
        reader,
        here,
        `"${nameKey(here)}" must be a table with ${inner.filter((child) => child !== "*").join(", ") || "one table for each name"}`,
      );
    walk(reader, raw, here, found);
  }
}

/**
 * The keys `text` declares.
 * @throws UserError (exit 2) naming file, line, key and the nearest valid key.
 */
export function parseConfigFile(file: string, text: string, home: string | undefined): readonly Declared[] {
  let table: Record<string, unknown>;
  try {
    table = parse(text, { unsafeKeyBehaviour: "throw", maxDepth: 32 });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = (error.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "");
    throw new UserError(`${file}:${error.line}: not valid TOML: ${reason} (column ${error.column})`);
  }
  const found: Declared[] = [];
  walk({ file, home, lines: findKeyLines(text) }, table, [], found);
  return found;
}
