/**
 * One value of one key: from TOML or from the text of a variable or flag to what the configuration holds. Refuses:
 * knowing where the value came from beyond the directory that relative paths start at.
 */
import { isAbsolute, join, resolve } from "node:path";
import { durationMs } from "../base/duration.ts";
import { nearestWord } from "../base/nearest.ts";
import type { KeyType } from "./keys.ts";
import { literalSecretIn } from "./secrets.ts";

/** `base` is the directory relative paths start at; `home` what `~/` means. */
type Place = { readonly base: string; readonly home?: string };

/** Either the value, or what was expected instead (the end of "…must be"). Messages never repeat a value that may be secret. */
type ReadValue = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly expected: string };

const good = (value: unknown): ReadValue => ({ ok: true, value });
const bad = (expected: string): ReadValue => ({ ok: false, expected });

/** Longer lists are no settings; some items cost a system call each. */
const MAX_LIST = 1000;

function isTexts(raw: unknown, mayBeEmpty = false): raw is string[] {
  return (
    Array.isArray(raw) && raw.length <= MAX_LIST && raw.every((item) => typeof item === "string" && (mayBeEmpty || item !== ""))
  );
}

function isTable(raw: unknown): raw is Record<string, unknown> {
  return typeof raw === "object" && raw !== null && !Array.isArray(raw) && !(raw instanceof Date);
}

function toPath(raw: string, place: Place): string {
  if (raw === "~" || raw.startsWith("~/")) return join(place.home ?? process.getBuiltinModule("node:os").homedir(), raw.slice(1));
  return isAbsolute(raw) ? resolve(raw) : resolve(place.base, raw);
}

function readUrl(raw: unknown): ReadValue {
  const expected = "an http:// or https:// address without user name, password or fragment";
  if (typeof raw !== "string" || !URL.canParse(raw)) return bad(expected);
  const url = new URL(raw);
  const plain = (url.protocol === "http:" || url.protocol === "https:") && !url.username && !url.password && !url.hash;
  return plain ? good(raw.replace(/\/+$/, "")) : bad(expected);
}

function readChoice(type: Extract<KeyType, { kind: "choice" }>, raw: unknown): ReadValue {
  const value = typeof raw === "string" ? (type.aliases?.[raw] ?? raw) : undefined;
  if (value !== undefined && type.of.includes(value)) return good(value);
  const near = typeof raw === "string" ? nearestWord(raw, type.of) : undefined;
  return bad(`one of ${type.of.join(", ")}${near ? ` (did you mean "${near}"?)` : ""}`);
}

/** What a timer takes. */
const MAX_DURATION_MS = 2 ** 31 - 1;

function readDuration(min: number, raw: unknown): ReadValue {
  const ms = typeof raw === "number" ? Math.round(raw * 1000) : typeof raw === "string" ? durationMs(raw) : undefined;
  if (ms !== undefined && Number.isFinite(ms) && ms >= min && ms <= MAX_DURATION_MS) return good(ms);
  const least = min >= 1000 ? `, at least ${min / 1000} s` : min > 0 ? ", more than 0" : "";
  const most = ms !== undefined && ms > MAX_DURATION_MS ? ", at most 24d" : "";
  return bad(`seconds or a duration such as "90s" or "5m"${least}${most}`);
}

function readFraction(raw: unknown): ReadValue {
  const percent = typeof raw === "string" ? /^(\d+(?:\.\d+)?)\s*%$/.exec(raw) : null;
  const number = percent ? Number(percent[1]) / 100 : typeof raw === "number" ? (raw > 1 ? raw / 100 : raw) : Number.NaN;
  return number > 0 && number <= 1 ? good(number) : bad('a share such as 0.92 or "92%"');
}

function readMap(raw: unknown): ReadValue {
  const expected = 'a table of text, such as { name = "value" }';
  if (!isTable(raw)) return bad(expected);
  for (const [name, value] of Object.entries(raw)) {
    if (typeof value !== "string") return bad(expected);
    const secret = literalSecretIn(name, value);
    if (secret) return bad(`free of secrets: write ${name} = "\${${secret}}" and set that variable`);
  }
  return good({ ...raw });
}

const PRICE_NAMES: Readonly<Record<string, string>> = {
  input: "input",
  output: "output",
  cache_read: "cacheRead",
  cache_write: "cacheWrite",
};

function readPrice(raw: unknown): ReadValue {
  const expected = "a table { input = 1.25, output = 10 } in US dollars per million tokens (also cache_read, cache_write)";
  if (!isTable(raw) || raw.input === undefined || raw.output === undefined) return bad(expected);
  const price: Record<string, number> = {};
  for (const [name, value] of Object.entries(raw)) {
    const field = PRICE_NAMES[name];
    if (!field || typeof value !== "number" || !Number.isFinite(value) || value < 0) return bad(expected);
    price[field] = value;
  }
  return good(price);
}

function readModel(raw: unknown): ReadValue {
  const fits = typeof raw === "string" && /^([A-Za-z0-9_-]+(\/\S(.*\S)?)?|acp:\S+)$/.test(raw);
  return fits ? good(raw) : bad("PROVIDER/ID (for example anthropic/claude-sonnet-5), PROVIDER for its default, or acp:NAME");
}

/** Reads a TOML value (or a flag's, already of the right JavaScript type). */
export function readValue(type: KeyType, raw: unknown, place: Place): ReadValue {
  switch (type.kind) {
    case "text":
      return typeof raw === "string" && raw !== "" ? good(raw) : bad("text that is not empty");
    case "model":
      return readModel(raw);
    case "choice":
      return readChoice(type, raw);
    case "integer": {
      const { min, max = Number.MAX_SAFE_INTEGER } = type;
      const fits = typeof raw === "number" && Number.isSafeInteger(raw) && raw >= min && raw <= max;
      return fits ? good(raw) : bad(`a whole number from ${min} up`);
    }
    case "boolean":
      return typeof raw === "boolean" ? good(raw) : bad("true or false");
    case "duration":
      return readDuration(type.min, raw);
    case "fraction":
      return readFraction(raw);
    case "texts":
      return isTexts(raw, type.empty) ? good([...raw]) : bad(`a list of text, such as ["one", "two"], of at most ${MAX_LIST}`);
    case "path":
      return typeof raw === "string" && raw !== "" && !raw.includes("\0") ? good(toPath(raw, place)) : bad("a path");
    case "paths":
      return isTexts(raw) && !raw.some((item) => item.includes("\0"))
        ? good(raw.map((item) => toPath(item, place)))
        : bad(`a list of paths, such as ["skills"], of at most ${MAX_LIST}`);
    case "url":
      return readUrl(raw);
    case "variable": {
      const fits = typeof raw === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(raw);
      return fits ? good(raw) : bad("the name of an environment variable (the key itself never goes into this file)");
    }
    case "map":
      return readMap(raw);
    case "price":
      return readPrice(raw);
  }
}

const BOOLEANS: Readonly<Record<string, boolean>> = {
  "1": true,
  true: true,
  yes: true,
  on: true,
  "0": false,
  false: false,
  no: false,
  off: false,
};

/** Reads the text of an environment variable: lists are comma-separated, lists of paths use the platform's separator. */
export function readText(type: KeyType, text: string, place: Place): ReadValue {
  const trimmed = text.trim();
  switch (type.kind) {
    case "integer":
      return readValue(type, /^\d+$/.test(trimmed) ? Number(trimmed) : trimmed, place);
    case "boolean": {
      const word = trimmed.toLowerCase();
      const value = Object.hasOwn(BOOLEANS, word) ? BOOLEANS[word] : undefined;
      return value === undefined ? bad("1, 0, true, false, yes, no, on or off") : good(value);
    }
    case "fraction":
      return readValue(type, /^\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed, place);
    case "texts":
      return readValue(type, split(trimmed, ","), place);
    case "paths":
      return readValue(type, split(trimmed, process.platform === "win32" ? ";" : ":"), place);
    default:
      return readValue(type, trimmed, place);
  }
}

function split(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
