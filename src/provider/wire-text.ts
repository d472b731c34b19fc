/**
 * Text as a strict server wants it: well-formed, never empty, arguments that parse to an object. All three wires build
 * their requests from these. Refuses: field names of any wire.
 */
import { isObject, parseJson, wellFormed } from "../base/json.ts";

/** What stands in a request where a tool said nothing (P18). */
const NO_OUTPUT = "(no output)";

/** Escapes that may stand for half a surrogate pair inside JSON text. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/** Nothing but white space: what strict servers refuse as empty. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** A JSON string literal without lone surrogates. */
export function literal(text: string): string {
  return JSON.stringify(text.isWellFormed() ? text : text.toWellFormed());
}

/** The text of a tool result; never blank. */
export function resultText(text: string): string {
  return isBlank(text) ? NO_OUTPUT : text;
}

/**
 * A model's arguments as JSON text of an object, whatever the model wrote: blank is `{}` (P06), half surrogates are
 * mended (P20), what is no object is carried as `{"invalid_arguments": text}` so that strict servers take the history.
 */
export function argumentsObject(raw: string): string {
  if (isBlank(raw)) return "{}";
  const parsed = parseJson(raw);
  if (parsed === null) return "{}";
  if (!isObject(parsed)) return JSON.stringify({ invalid_arguments: raw.toWellFormed() });
  if (raw.isWellFormed() && !SURROGATE_ESCAPE.test(raw)) return raw;
  return JSON.stringify(wellFormed(parsed));
}

/** Joins streamed pieces so that a surrogate pair split over two of them survives and a half one becomes U+FFFD. */
export class TextJoiner {
  #held = "";

  /** The part of the text that can be shown now. */
  push(piece: string): string {
    const joined = this.#held === "" ? piece : this.#held + piece;
    this.#held = "";
    const last = joined.charCodeAt(joined.length - 1);
    if (last >= 0xd800 && last <= 0xdbff) {
      this.#held = joined.slice(-1);
      return joined.slice(0, -1).toWellFormed();
    }
    return joined.isWellFormed() ? joined : joined.toWellFormed();
  }

  /** What was held back, at the end of the stream. */
  flush(): string {
    const rest = this.#held;
    this.#held = "";
    return rest.toWellFormed();
  }
}

/** JSON without lone surrogates. Half a pair comes out of JSON.stringify as an escape: only then is all of it gone through. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes("\\ud") ? JSON.stringify(wellFormed(value)) : text;
}

/**
 * A request body whose last member is the list of messages, so that the next request of the conversation begins with
 * the same bytes. `head` are the other members in a fixed order; `items` are JSON texts, and so is `tools` ("" for none).
 */
export function bodyWithList(
  head: Readonly<Record<string, unknown>>,
  tools: string,
  name: string,
  items: readonly string[],
): string {
  const catalog = tools === "" ? "" : `,"tools":${tools}`;
  return `${jsonText(head).slice(0, -1)}${catalog},"${name}":[${items.join(",")}]}`;
}

/** Remembers the JSON of each message (or tool list): the same object means the same bytes, made once. */
export class MessageCache<M extends object, V> {
  readonly #made = new WeakMap<M, { readonly key: string; readonly value: V }>();

  /** `key` is what else the bytes depend on (the model, say). */
  get(message: M, key: string, make: () => V): V {
    const known = this.#made.get(message);
    if (known !== undefined && known.key === key) return known.value;
    const value = make();
    this.#made.set(message, { key, value });
    return value;
  }
}
