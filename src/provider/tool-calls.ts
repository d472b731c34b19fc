/**
 * Joins tool-call fragments of a chat stream. Servers disagree on ids and indexes (missing, repeated, clashing, fresh for
 * every fragment); what is one call is decided here (P04). Refuses: id normalisation (call-ids.ts).
 */
import { isObject, parseJson } from "../base/json.ts";

type Fragment = {
  readonly index?: number;
  readonly id?: string;
  readonly name?: string;
  readonly arguments: string;
  /** Data the server wants back with this call. */
  readonly extra?: unknown;
};

type JoinedCall = { id: string; name: string; arguments: string; extra?: unknown };

/** `size` is the length of all parts together; `scan` reads each part at most once, or long calls would be quadratic. */
type Open = {
  id: string;
  index: number | undefined;
  name: string;
  parts: string[];
  size: number;
  scan: ObjectScan;
  /** The list its last fragment stood in. */
  list: number;
  extra?: unknown;
};

/** Longer arguments are not empty ones. */
const MAX_PLACE = 16;

export class CallJoiner {
  readonly #calls: Open[] = [];
  readonly #byIndex = new Map<number, Open>();
  #length = 0;
  #list = 0;

  /** Grows with every piece that counts, and with every call that begins. */
  get length(): number {
    return this.#length;
  }

  /** What is added from here on stands in one list: a named element of it is no later piece of one that is complete. */
  begin(): void {
    this.#list += 1;
  }

  add(fragment: Fragment): void {
    const open = this.#find(fragment);
    if (open === undefined) {
      this.#start(fragment);
      return;
    }
    open.list = this.#list;
    if (open.id === "" && fragment.id !== undefined) open.id = fragment.id;
    if (open.name === "" && fragment.name !== undefined) open.name = fragment.name;
    if (fragment.extra !== undefined) open.extra = fragment.extra;
    if (isRepeat(open, fragment)) return;
    if (fragment.arguments === "") return;
    if (holdsPlace(open, fragment.arguments)) {
      open.parts = [];
      open.size = 0;
      open.scan = new ObjectScan();
    }
    open.parts.push(fragment.arguments);
    open.size += fragment.arguments.length;
    this.#length += fragment.arguments.length;
  }

  /** All calls in the order they began. Fragments that never had a name or arguments are dropped. */
  finish(): JoinedCall[] {
    return this.#calls
      .map((call) => ({ id: call.id, name: call.name, arguments: call.parts.join(""), extra: call.extra }))
      .filter((call) => call.name !== "" || call.arguments !== "");
  }

  #start(fragment: Fragment): void {
    const call: Open = {
      id: fragment.id ?? "",
      index: fragment.index,
      name: fragment.name ?? "",
      parts: fragment.arguments === "" ? [] : [fragment.arguments],
      size: fragment.arguments.length,
      scan: new ObjectScan(),
      list: this.#list,
      extra: fragment.extra,
    };
    this.#calls.push(call);
    this.#length += fragment.arguments.length + 1;
    if (fragment.index !== undefined) this.#byIndex.set(fragment.index, call);
  }

  /** The call this fragment continues; undefined when it begins one. */
  #find(fragment: Fragment): Open | undefined {
    const candidate = this.#candidate(fragment);
    if (candidate === undefined || this.#isBeside(candidate, fragment)) return undefined;
    return continues(candidate, fragment) ? candidate : undefined;
  }

  #isBeside(call: Open, fragment: Fragment): boolean {
    if (call.list !== this.#list || call.name === "" || fragment.name === undefined) return false;
    if (call.size < MAX_PLACE && /^\s*(?:null)?\s*$/.test(call.parts.join(""))) return true;
    return call.scan.isClosed(call.parts);
  }

  #candidate(fragment: Fragment): Open | undefined {
    const { id, index } = fragment;
    if (id !== undefined) {
      const same = this.#calls.findLast(
        (call) => call.id === id && (index === undefined || call.index === undefined || call.index === index),
      );
      if (same !== undefined) return same;
    }
    if (index !== undefined) return this.#byIndex.get(index);
    return this.#calls.at(-1);
  }
}

/** True when the fragment belongs to the call rather than starting another one. */
function continues(call: Open, fragment: Fragment): boolean {
  // Only a fragment that names a tool can start a call beside an open one.
  if (fragment.name === undefined) return true;
  if (call.name === "") return call.id === "" || fragment.id === undefined || call.id === fragment.id;
  if (isRepeat(call, fragment)) return true;
  if (call.name !== fragment.name) return false;
  if (fragment.id !== undefined && fragment.id === call.id && holdsPlace(call, fragment.arguments)) return true;
  const other = fragment.id !== undefined && call.id !== "" && call.id !== fragment.id;
  if (call.parts.every((part) => part.trim() === "")) return !other;
  if (other && fragment.arguments.trimStart().startsWith("{")) return false;
  return !call.scan.isClosed(call.parts);
}

/** The server sent the whole call again (same id, same content): once is enough. */
function isRepeat(call: Open, fragment: Fragment): boolean {
  if (fragment.id === undefined || fragment.id !== call.id || fragment.name !== call.name) return false;
  if (fragment.arguments === "" || fragment.arguments.length !== call.size) return false;
  return fragment.arguments === call.parts.join("") && isWhole(fragment.arguments);
}

/** Some servers begin every call with empty arguments; what then begins an object of its own takes their place. */
function holdsPlace({ parts, size }: { readonly parts: readonly string[]; readonly size: number }, next: string): boolean {
  return size < MAX_PLACE && /^\s*(?:\{\s*\}|null)\s*$/.test(parts.join("")) && next.trimStart().startsWith("{");
}

/** The arguments of one call from its pieces. */
export function joinArguments(parts: readonly string[]): string {
  const [first = "", ...rest] = parts.filter((part) => part !== "");
  return holdsPlace({ parts: [first], size: first.length }, rest[0] ?? "") ? rest.join("") : parts.join("");
}

function isWhole(text: string): boolean {
  return isObject(parseJson(text));
}

/** Follows braces and strings through the parts of a call: does an object end where the text ends? */
class ObjectScan {
  #read = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #closed = false;

  isClosed(parts: readonly string[]): boolean {
    for (; this.#read < parts.length; this.#read += 1) this.#take(parts[this.#read] ?? "");
    return this.#closed;
  }

  #take(part: string): void {
    for (const character of part) {
      if (this.#escaped) this.#escaped = false;
      else if (this.#inString) {
        if (character === "\\") this.#escaped = true;
        else if (character === '"') this.#inString = false;
      } else if (character === '"') this.#inString = true;
      else if (character === "{" || character === "[") this.#depth += 1;
      else if (character === "}" || character === "]") {
        this.#depth -= 1;
        this.#closed = this.#depth <= 0;
      }
    }
  }
}
