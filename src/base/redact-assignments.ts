/**
 * Values of secret-looking names: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`, `Authorization: Bearer …`. Prose, code that
 * only passes a secret along (`token = getToken()`) and placeholders survive. Linear: each value is looked at once.
 */

import { elementValue, netrcValue, pairValueEnd } from "./redact-settings.ts";
import { isPlaceholder, isSecretContent, looksLikeCode, looksRandom } from "./redact-words.ts";

const ANCHOR =
  /passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|account[_-]?key|auth[_-]?key|credential|authorization|bearer|cookie|_key\b|_auth\b|_pass\b/gi;
const NAME_CHARACTER = /[A-Za-z0-9_.-]/;
const NAME_LIMIT = 64;
const VALUE_LIMIT = 8192;

/** Segments after which a secret word no longer means a value (`token_count`, `password_field`, `secret_name`). */
const HARMLESS_TAIL =
  /^(?:s|count|counts|limit|limits|length|len|size|type|types|name|names|id|ids|field|fields|input|label|policy|reset|url|uri|path|file|files|dir|hint|prompt|env|var|usage|budget|index|estimate|expiry|expires|ttl|at|ref|refs|schema|manager|store|provider|providers|header|kind|required|enabled|valid|max|min|per|hash|regex|pattern|class|format|error|errors|list|source|version)$/i;
const HARMLESS_HEAD =
  /^(?:max|min|num|n|total|input|output|prompt|completion|cached?|reasoning|used|next|prev|pad|eos|bos|unk|mask|stop|sep|cls|csrf|page|continuation|cancellation|has|is|no|show|forgot|reset|per)$/i;

type Value = { readonly from: number; readonly to: number; readonly quoted: boolean };

/** Redacts the values of secret-looking names and of authorization headers. */
export function redactAssignments(text: string): string {
  const scan: Scan = { text, runs: new Runs(text) };
  const anchors = new RegExp(ANCHOR);
  let out = "";
  let copied = 0;
  for (let match = anchors.exec(text); match !== null; match = anchors.exec(text)) {
    const word = match[0].toLowerCase();
    const start = match.index;
    const end = start + match[0].length;
    const verdict = word === "bearer" ? bearerValue(scan, start, end) : namedValue(scan, start, end, word);
    if (typeof verdict === "number") anchors.lastIndex = Math.max(anchors.lastIndex, verdict);
    if (typeof verdict !== "object") continue;
    out += `${text.slice(copied, verdict.from)}[redacted:${verdict.kind}]`;
    copied = verdict.to;
    anchors.lastIndex = Math.max(copied, anchors.lastIndex);
  }
  return copied === 0 ? text : out + text.slice(copied);
}

/** True for a key or flag name whose value should not be shown (`api_key`, `clientSecret`, not `max_tokens`). */
export function namesSecret(name: string): boolean {
  if (name.length > NAME_LIMIT || !/^[\w.-]+$/.test(name)) return false;
  return [...name.matchAll(ANCHOR)].some(
    ({ 0: word }) => !/^(?:bearer|cookie)$/i.test(word) && isSecretName(name, word.toLowerCase()),
  );
}

/** Delimiters that end each kind of unquoted run. */
const DELIMITERS = {
  value: /[\s"'`,;&)\]}<>|]/g,
  token: /[\s"'`\\,;<>]/g,
  bearer: /[^A-Za-z0-9_.~+/=-]/g,
  line: /[\r\n]/g,
  pair: /[;"'`\r\n<>]/g,
  header: /[\r\n"'`\\]/g,
} as const;

type RunKind = keyof typeof DELIMITERS;

/** Ends of runs, remembered: a second look into the same run must not walk it again (that would be quadratic). */
class Runs {
  readonly #text: string;
  readonly #last = new Map<RunKind, { readonly from: number; readonly to: number }>();

  constructor(text: string) {
    this.#text = text;
  }

  end(kind: RunKind, from: number): number {
    const last = this.#last.get(kind);
    if (last !== undefined && from >= last.from && from <= last.to) return last.to;
    const delimiter = DELIMITERS[kind];
    delimiter.lastIndex = from;
    const to = delimiter.exec(this.#text)?.index ?? this.#text.length;
    this.#last.set(kind, { from, to });
    return to;
  }
}

type Scan = { readonly text: string; readonly runs: Runs };

type Found = { readonly from: number; readonly to: number; readonly kind: string };
/** A number: nothing here, and nothing before that index. Undefined: nothing here. */
type Verdict = Found | number | undefined;

/** `Bearer TOKEN` anywhere. */
function bearerValue({ text, runs }: Scan, start: number, end: number): Verdict {
  if (start > 0 && /[\w-]/.test(text[start - 1] ?? "")) return undefined;
  if (text[end] !== " ") return undefined;
  const to = runs.end("bearer", end + 1);
  const token = headOf(text, end + 1, to);
  return token.length >= 12 && /[\dA-Z]/.test(token) ? { from: end + 1, to, kind: "authorization" } : undefined;
}

function namedValue(scan: Scan, start: number, end: number, word: string): Verdict {
  const { text } = scan;
  let nameStart = start;
  while (nameStart > 0 && start - nameStart < NAME_LIMIT && NAME_CHARACTER.test(text[nameStart - 1] ?? "")) nameStart--;
  const nameEnd = nameEndAfter(text, end);
  const name = text.slice(nameStart, nameEnd);
  const separator = separatorAfter(text, nameEnd, name.startsWith("-"));
  if (separator === undefined) return unsignedValue(text, nameStart, nameEnd, word) ?? nameEnd;
  if (word === "authorization") return authorizationValue(scan, separator.end);
  if (word === "cookie") return cookieValue(scan, name, separator.end, separator.kind);
  if (!isSecretName(name, word)) return undefined;
  const dotenv = isEnvironmentName(name) && separator.kind === "=" && !separator.spaced;
  const value = valueAt(scan, separator.end, dotenv);
  if (value === undefined || value.to <= value.from) return undefined;
  const whole = value.quoted ? undefined : pairPassword(scan, name, nameStart, separator.kind, value);
  if (whole !== undefined) return { from: value.from, to: whole, kind: "secret" };
  const content = headOf(text, value.from, value.to);
  if (!isSecretValue(content, name, separator, value, text[value.to] ?? "")) return undefined;
  return { from: value.from, to: value.to, kind: "secret" };
}

/** Values that no sign stands before. */
function unsignedValue(text: string, nameStart: number, nameEnd: number, word: string): Verdict {
  const login = netrcValue(text, nameStart, nameEnd);
  if (login !== undefined) {
    const content = headOf(text, login.from, login.to);
    return content === "" || isPlaceholder(content) ? undefined : { ...login, kind: "secret" };
  }
  const element = elementValue(text, nameStart, nameEnd);
  const name = text.slice(nameStart, nameEnd);
  if (element === undefined || !isSecretName(name, word)) return undefined;
  const content = text.slice(element.from, element.to);
  return isPlaceholder(content) || !looksRandom(content) ? undefined : { ...element, kind: "secret" };
}

/** Where the password of a connection string ends, whatever it holds. */
function pairPassword({ text, runs }: Scan, name: string, nameStart: number, sign: string, value: Value): number | undefined {
  if (sign !== "=" || !/^(?:password|pwd)$/i.test(name)) return undefined;
  const to = pairValueEnd(text, nameStart, value.from, (at) => runs.end("pair", at));
  if (to === undefined || to <= value.to) return undefined;
  const content = text.slice(value.from, to);
  return isPlaceholder(content) || content.startsWith("[redacted:") || /[,;{}()[\]=`"'<>|]/.test(content) ? undefined : to;
}

/** What a value is judged by: its beginning is enough, however long it is. */
function headOf(text: string, from: number, to: number): string {
  return text.slice(from, Math.min(to, from + 256));
}

function nameEndAfter(text: string, end: number): number {
  let i = end;
  while (i < text.length && i - end < NAME_LIMIT && NAME_CHARACTER.test(text[i] ?? "")) i++;
  return i;
}

/** The whole identifier must mean a secret: `max_tokens`, `token_count`, `passwordField` do not. */
function isSecretName(name: string, word: string): boolean {
  const bare = name.replace(/^[-.]+/, "");
  const segments = bare
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .split(/[_.-]+/)
    .filter((segment) => segment !== "");
  const last = segments.at(-1) ?? "";
  const first = segments[0] ?? "";
  if (/^tokens$/i.test(last)) return false;
  if (word === "_key" || word === "_auth" || word === "_pass") return /^[A-Z0-9_]+$/.test(bare);
  if (HARMLESS_TAIL.test(last)) return false;
  return !(word === "token" && segments.length > 1 && HARMLESS_HEAD.test(first));
}

type Separator = { readonly kind: "=" | ":" | " "; readonly spaced: boolean; readonly end: number };

/** `=`, `:`, `=>`, `:=` with an optional closing quote of the name before it; for flags (`--token X`) also one space. */
function separatorAfter(text: string, nameEnd: number, isFlag: boolean): Separator | undefined {
  let i = nameEnd;
  if (text[i] === "\\") i++;
  if (text[i] === '"' || text[i] === "'" || text[i] === "`") i++;
  if (text[i] === "]") i++;
  const beforeSpace = i;
  while (i - beforeSpace < 16 && (text[i] === " " || text[i] === "\t")) i++;
  const spacedBefore = i > beforeSpace;
  const sign = text[i];
  if (sign !== "=" && sign !== ":")
    return isFlag && spacedBefore && text[i] !== "-" ? { kind: " ", spaced: false, end: i } : undefined;
  const next = text[i + 1];
  if (sign === "=" && next === "=") return undefined;
  if (sign === ":" && (next === ":" || next === "/")) return undefined;
  i += sign === "=" && next === ">" ? 2 : sign === ":" && next === "=" ? 2 : 1;
  const afterSign = i;
  while (i - afterSign < 16 && (text[i] === " " || text[i] === "\t")) i++;
  return { kind: sign, spaced: spacedBefore || i > afterSign, end: i };
}

/** The beginning of another setting: a quote that was closed only behind it was none. */
const NEXT_SETTING = /\n[^\S\n]*(?:export[^\S\n]+)?[A-Za-z_]\w*=/;

/**
 * The value's extent: inside quotes to the closing quote of the same line, else to a delimiter. In a `.env` file (`dotenv`) a
 * quoted value may take several lines; one that is never closed goes to the end of its line.
 */
function valueAt({ text, runs }: Scan, start: number, dotenv: boolean): Value | undefined {
  let i = start;
  const escaped = text[i] === "\\" && (text[i + 1] === '"' || text[i + 1] === "'");
  if (escaped) i++;
  const quote = text[i];
  if (quote !== '"' && quote !== "'" && quote !== "`") return { from: i, to: runs.end("value", i), quoted: false };
  const from = i + 1;
  const limit = Math.min(text.length, from + VALUE_LIMIT);
  for (i = from; i < limit; i++) {
    const character = text[i];
    if (character === "\n" && !dotenv) return undefined;
    if (escaped && character === "\\" && text[i + 1] === quote) return { from, to: i, quoted: true };
    if (!escaped && character === "\\") i++;
    else if (!escaped && character === quote) {
      const lines = text.slice(from, i);
      if (!dotenv || !lines.includes("\n") || !NEXT_SETTING.test(lines)) return { from, to: i, quoted: true };
      break;
    }
  }
  if (dotenv && text.slice(from, i).includes("\n")) return { from, to: runs.end("line", from), quoted: true };
  return i - from >= VALUE_LIMIT || dotenv ? { from, to: Math.min(i, text.length), quoted: true } : undefined;
}

function isSecretValue(content: string, name: string, separator: Separator, value: Value, after: string): boolean {
  if (content.startsWith("[redacted:") || isPlaceholder(content)) return false;
  const random = looksRandom(content);
  // Several words are prose in a text or a schema; in a `.env` file they are a passphrase.
  if (value.quoted && separator.kind === "=" && !separator.spaced && isEnvironmentName(name)) return content.length >= 4;
  if (value.quoted) return isSecretContent(content);
  if (looksLikeCode(content, after)) return false;
  if (isEnvironmentName(name) && separator.kind === "=") return separator.spaced ? random : content.length >= 3;
  if (separator.kind === " ") return content.length >= 4;
  if (separator.spaced) return random;
  // `name=value` or `name:value` without spaces: query strings, connection strings, INI files, but also keyword arguments.
  if (separator.kind === "=") return content.length >= 4 && (random || after === "" || /[\s&"'`]/.test(after));
  return random;
}

function isEnvironmentName(name: string): boolean {
  return /^[A-Z][A-Z0-9_]*$/.test(name);
}

/** `Authorization: Bearer X`, `Basic X`, `token X`, or a bare value; `"Authorization": "Bearer X"` too. */
function authorizationValue({ text, runs }: Scan, start: number): Verdict {
  let from = start;
  while (from < start + 2 && /["'`\\]/.test(text[from] ?? "")) from++;
  const scheme =
    /^(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)\s+/i.exec(text.slice(from, from + 40))?.[0] ?? "";
  from += scheme.length;
  const to = runs.end(/^(?:digest|aws4)/i.test(scheme) ? "line" : "token", from);
  const token = headOf(text, from, to);
  if (token.length < 4 || isPlaceholder(token) || token.startsWith("[redacted:")) return undefined;
  if (scheme === "" ? !looksRandom(token) || token.length < 8 : looksLikeCode(token, "")) return undefined;
  return { from, to, kind: "authorization" };
}

/** `Cookie:` and `Set-Cookie:` headers with at least one pair. */
function cookieValue({ text, runs }: Scan, name: string, start: number, kind: string): Verdict {
  if (kind !== ":" || !/^(?:set-)?cookie$/i.test(name)) return undefined;
  const to = runs.end("header", start);
  return /^[\w.-]+=[^\s;]{6,}/.test(headOf(text, start, to)) ? { from: start, to, kind: "cookie" } : undefined;
}
