/**
 * A bounded run of the template language: steps, time, sizes of values, output. Bounds sit in an interpreter of our own,
 * because a template is data from a repository and runs in this process. Refuses: loading the engine (it is handed in).
 */
import type { Environment, Interpreter } from "@huggingface/jinja";
import type { Rendered, TemplateBody, Transclude } from "./template.ts";

const MAX_STEPS = 100_000;
const MAX_MILLISECONDS = 250;
const MAX_OUTPUT = 1024 * 1024;
const MAX_BODY = 64 * 1024;
/** A computed string (not a block of output) and a computed list. Small, because `replace` and `join` multiply two of them. */
const MAX_STRING = 4096;
const MAX_LIST = 5000;
const MAX_NUMBER = 1_000_000;
const MAX_TRANSCLUDE_DEPTH = 5;

export type Jinja = typeof import("@huggingface/jinja");

type Statement = Parameters<Interpreter["evaluate"]>[0];
type Value = ReturnType<Interpreter["evaluate"]>;

class TemplateProblem extends Error {}

/** Nodes whose value is output of a block rather than a computed value. */
const BLOCKS = new Set(["Program", "If", "For", "Macro", "CallStatement", "FilterStatement", "Set"]);

type Node = {
  readonly type: string;
  readonly value?: unknown;
  readonly operand?: Node;
  readonly filter?: Node;
  readonly test?: Node;
  readonly callee?: Node;
};

/** `x is defined`, `x | default(…)`: asking after an unknown name is what they are for. */
function asksWhetherDefined(node: Node): boolean {
  if (node.operand?.type !== "Identifier") return false;
  const name = node.type === "TestExpression" ? node.test?.value : (node.filter?.callee?.value ?? node.filter?.value);
  return node.type === "TestExpression" ? name === "defined" || name === "undefined" : name === "default";
}

function isKnown(name: string, environment: Environment): boolean {
  for (let here: Environment | undefined = environment; here; here = here.parent) {
    if (here.variables.has(name)) return true;
  }
  return false;
}

/** What one run may spend, and where it is. */
class Bounds {
  line = 1;
  #steps = 0;
  #output = 0;
  readonly #deadline: number;
  /** Number of values a container holds, counted through shared parts: what printing it would cost. */
  readonly #weights = new WeakMap<object, number>();
  readonly #marker: RegExp;

  constructor(marker: string, deadline: number) {
    this.#deadline = deadline;
    this.#marker = new RegExp(`${marker}(\\d+);`, "g");
  }

  before(node: Node | undefined, environment: Environment): void {
    if (++this.#steps > MAX_STEPS) throw new TemplateProblem("it takes too many steps");
    if ((this.#steps & 63) === 0 && performance.now() > this.#deadline) throw new TemplateProblem("it takes too long");
    if (node?.type === "StringLiteral" && typeof node.value === "string") {
      // Text between tags carries line marks when the line of an error is wanted.
      for (const mark of node.value.matchAll(this.#marker)) this.line = Number(mark[1]);
    }
    if (node?.type === "Identifier" && !isKnown(String(node.value), environment)) {
      throw new TemplateProblem(`unknown name "${String(node.value)}"`);
    }
  }

  after(value: Value, node: Node | undefined): void {
    const held: unknown = value.value;
    if (typeof held === "number" && !(Math.abs(held) <= MAX_NUMBER)) throw new TemplateProblem("it computes too large a number");
    if (typeof held === "string") this.#boundString(held, node?.type ?? "");
    if (Array.isArray(held) || held instanceof Map) this.#boundContainer(held);
  }

  #boundString(text: string, type: string): void {
    if (type === "StringLiteral") this.#output += text.length;
    const large = type === "StringLiteral" || type === "CallExpression" || BLOCKS.has(type);
    if (text.length > (large ? MAX_OUTPUT : MAX_STRING) || this.#output > MAX_OUTPUT * 2) {
      throw new TemplateProblem("its output is too large");
    }
  }

  #boundContainer(held: readonly unknown[] | Map<unknown, unknown>): void {
    const parts = Array.isArray(held) ? held : [...(held as Map<unknown, unknown>).values()];
    let weight = parts.length;
    for (const part of parts) {
      const inner: unknown = typeof part === "object" && part !== null && "value" in part ? part.value : undefined;
      if (typeof inner === "object" && inner !== null) weight += this.#weights.get(inner) ?? 1;
      if (weight > MAX_LIST) throw new TemplateProblem("it builds too large a list");
    }
    this.#weights.set(held, weight);
  }
}

/** The engine's interpreter with the bounds around every step. */
function boundedInterpreter(jinja: Jinja, environment: Environment, bounds: Bounds): Interpreter {
  class BoundedInterpreter extends jinja.Interpreter {
    override evaluate(statement: Statement, scope: Environment): Value {
      const node = statement as Node | undefined;
      bounds.before(node, scope);
      const name = node && asksWhetherDefined(node) ? String(node.operand?.value) : undefined;
      let inner = scope;
      if (name !== undefined && !isKnown(name, scope)) {
        inner = new jinja.Environment(scope);
        inner.set(name, undefined);
      }
      const value = super.evaluate(statement, inner);
      bounds.after(value, node);
      return value;
    }
  }
  return new BoundedInterpreter(environment);
}

function boundedRange(start: number, stop?: number, stride = 1): number[] {
  const from = stop === undefined ? 0 : start;
  const to = stop ?? start;
  if (!stride || Math.abs((to - from) / stride) > MAX_LIST) throw new TemplateProblem("range() is too long");
  const numbers: number[] = [];
  for (let at = from; stride > 0 ? at < to : at > to; at += stride) numbers.push(at);
  return numbers;
}

function fillEnvironment(environment: Environment, scope: Readonly<Record<string, unknown>>): void {
  const constants = { true: true, false: false, none: null, True: true, False: false, None: null, range: boundedRange };
  for (const [name, value] of Object.entries({ ...constants, ...scope })) environment.set(name, value);
}

type Run = { readonly jinja: Jinja; readonly scope: Readonly<Record<string, unknown>>; readonly deadline: number };
type RunResult = { readonly text: string } | { readonly problem: Error; readonly line: number };

/** No text holds this: NUL never passes a template. */
const NO_MARKER = "\u0000";

function run(body: string, { jinja, scope, deadline }: Run, marker = NO_MARKER): RunResult {
  const environment = new jinja.Environment();
  const bounds = new Bounds(marker, deadline);
  try {
    fillEnvironment(environment, scope);
    const program = jinja.parse(jinja.tokenize(body, { lstrip_blocks: true, trim_blocks: true }));
    const value: unknown = boundedInterpreter(jinja, environment, bounds).run(program).value;
    return { text: String(value) };
  } catch (error) {
    return { problem: error instanceof Error ? error : new Error(String(error)), line: bounds.line };
  }
}

type Tag = { readonly text: string; readonly line: number; readonly start: number };

/** Where the tag that opens at `start` ends; -1 where it never closes or another opens inside it. */
function tagEnd(body: string, start: number): number {
  if (body[start + 1] === "#") {
    const close = body.indexOf("#}", start + 2);
    return close === -1 ? -1 : close + 2;
  }
  let quote = "";
  for (let at = start + 2; at < body.length; at++) {
    const char = body[at] ?? "";
    if (quote !== "") {
      if (char === "\\") at++;
      else if (char === quote) quote = "";
    } else if (char === '"' || char === "'") quote = char;
    else if ((char === "%" || char === "}") && body[at + 1] === "}") return at + 2;
    else if (char === "{" && "{%#".includes(body[at + 1] ?? " ")) return -1;
  }
  return -1;
}

/** Tags in order up to the first that does not close; `broken` is the line of that one, else 0. One pass. */
function tagsOf(body: string): { readonly tags: readonly Tag[]; readonly broken: number } {
  const tags: Tag[] = [];
  let line = 1;
  let counted = 0;
  const opening = /\{[{%#]/g;
  for (let found = opening.exec(body); found; found = opening.exec(body)) {
    for (let at = body.indexOf("\n", counted); at !== -1 && at < found.index; at = body.indexOf("\n", counted)) {
      line++;
      counted = at + 1;
    }
    const end = tagEnd(body, found.index);
    if (end === -1) return { tags, broken: line };
    tags.push({ text: body.slice(found.index, end), line, start: found.index });
    opening.lastIndex = end;
  }
  return { tags, broken: 0 };
}

/** The body with a line mark before every tag: run only to learn where an error happened. */
function marked(body: string, marker: string): string {
  const parts: string[] = [];
  let at = 0;
  for (const tag of tagsOf(body).tags) {
    parts.push(body.slice(at, tag.start), tag.text.startsWith("{#") ? "" : `${marker}${tag.line};`, tag.text);
    at = tag.start + tag.text.length;
  }
  return [...parts, body.slice(at)].join("");
}

const OPENERS = new Set(["if", "for", "macro", "call", "filter"]);

/** The line of a syntax error: the first tag that does not parse alone, else the block that is never closed. */
function syntaxLine(jinja: Jinja, body: string): number {
  const open: { readonly name: string; readonly line: number }[] = [];
  const { tags, broken } = tagsOf(body);
  for (const tag of tags) {
    const name = /^\{%[-+]?\s*(\w+)/.exec(tag.text)?.[1];
    if (tag.text.startsWith("{{")) {
      try {
        jinja.parse(jinja.tokenize(tag.text));
      } catch {
        return tag.line;
      }
    } else if (name && OPENERS.has(name)) {
      open.push({ name, line: tag.line });
    } else if (name?.startsWith("end")) {
      if (name !== "endset" && open.pop()?.name !== name.slice(3)) return tag.line;
    } else if (name && !["set", "else", "elif", "break", "continue"].includes(name)) {
      return tag.line;
    }
  }
  if (broken > 0) return broken;
  return open.at(-1)?.line ?? tags[0]?.line ?? 1;
}

/** Renders within the bounds; a failure names the line in the file. `read` answers `transclude()`. */
export function renderBounded(
  jinja: Jinja,
  template: TemplateBody,
  scope: Readonly<Record<string, unknown>>,
  read: Transclude,
): Rendered {
  // Reading a template cannot be interrupted, so what is read is bounded instead.
  if (template.body.length > MAX_BODY) return { ok: false, message: "it is too large for a template", line: template.offset + 1 };
  const deadline = performance.now() + MAX_MILLISECONDS;
  let depth = 0;
  /** `transclude()` as it is called in one file: paths begin at that file's directory. */
  const transcludeFrom = (caller?: string) => ({
    transclude: (path: unknown): string => {
      if (depth >= MAX_TRANSCLUDE_DEPTH) throw new TemplateProblem("transclude() is nested too deeply");
      if (performance.now() > deadline) throw new TemplateProblem("it takes too long");
      const part = read(String(path), caller);
      depth++;
      const inner = run(part.text, { jinja, scope: { ...scope, ...transcludeFrom(part.path) }, deadline });
      depth--;
      if ("problem" in inner) throw new TemplateProblem(`in ${String(path)}: ${inner.problem.message}`);
      return inner.text;
    },
  });
  const own: Readonly<Record<string, unknown>> = { ...scope, ...transcludeFrom() };
  const done = run(template.body, { jinja, scope: own, deadline });
  if ("text" in done) {
    if (done.text.length <= MAX_OUTPUT) return { ok: true, text: done.text };
    return { ok: false, message: "its output is too large", line: template.offset + 1 };
  }
  depth = 0;
  const message = done.problem.message;
  if (done.problem instanceof SyntaxError)
    return { ok: false, message, line: template.offset + syntaxLine(jinja, template.body) };
  // Only now, on the way to a message, is the body run again with line marks.
  const marker = "\ue000thndrs:";
  const again = run(marked(template.body, marker), { jinja, scope: own, deadline: performance.now() + MAX_MILLISECONDS }, marker);
  const line = "problem" in again && again.line > 1 ? again.line : syntaxLine(jinja, template.body);
  return { ok: false, message, line: template.offset + line };
}
