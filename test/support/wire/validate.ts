/**
 * A strict provider's door: says what in a request a real one would reject with 400. Stricter than any single provider.
 * Refuses: answering.
 */
import type { Wire } from "./answer.ts";

type Json = Record<string, unknown>;

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Everything wrong with one request body; empty when a strict server would take it. */
export function validateRequest(wire: Wire, raw: string): string[] {
  const problems: string[] = [];
  let body: Json;
  try {
    body = record(JSON.parse(raw));
  } catch (error) {
    return [`body is not JSON: ${String(error)}`];
  }
  if (hasLoneSurrogate(body)) problems.push("a string holds a lone surrogate");
  if (typeof body.model !== "string" || body.model === "") problems.push("model is missing");
  if (body.stream !== true) problems.push("stream is not true");
  checkTools(wire, body, problems);
  if (wire === "chat") checkChat(body, problems);
  if (wire === "responses") checkResponses(body, problems);
  if (wire === "anthropic") checkAnthropic(body, problems);
  return problems;
}

function record(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(record) : [];
}

function hasLoneSurrogate(value: unknown): boolean {
  if (typeof value === "string") return !value.isWellFormed();
  if (Array.isArray(value)) return value.some(hasLoneSurrogate);
  if (typeof value === "object" && value !== null)
    return Object.entries(value).some(([key, inner]) => !key.isWellFormed() || hasLoneSurrogate(inner));
  return false;
}

function checkTools(wire: Wire, body: Json, problems: string[]): void {
  if (body.tools === undefined) return;
  const tools = list(body.tools);
  if (tools.length === 0) problems.push("tools is present and empty");
  const seen = new Set<string>();
  for (const tool of tools) {
    const spec = wire === "chat" ? record(tool.function) : tool;
    const name = String(spec.name);
    if (!NAME.test(name)) problems.push(`tool name ${name} breaks the pattern`);
    if (seen.has(name)) problems.push(`tool name ${name} is twice in the list`);
    seen.add(name);
    const schema = record(wire === "anthropic" ? spec.input_schema : spec.parameters);
    if (schema.type !== "object") problems.push(`tool ${name}: the schema is not an object schema`);
  }
}

/** Calls and answers in order: every call is answered once, before the next message of another kind. */
class Ledger {
  readonly #open = new Set<string>();
  readonly #used = new Set<string>();
  readonly #problems: string[];
  constructor(problems: string[]) {
    this.#problems = problems;
  }
  call(id: unknown, name: unknown, pattern: RegExp): void {
    if (typeof id !== "string" || !pattern.test(id)) this.#problems.push(`call id ${String(id)} breaks the pattern`);
    if (typeof name !== "string" || !NAME.test(name)) this.#problems.push(`call name ${String(name)} breaks the pattern`);
    if (this.#used.has(String(id))) this.#problems.push(`call id ${String(id)} is used twice`);
    this.#used.add(String(id));
    this.#open.add(String(id));
  }
  answer(id: unknown): void {
    if (!this.#open.delete(String(id))) this.#problems.push(`result for ${String(id)}, which no open call has`);
  }
  settle(where: string): void {
    for (const id of this.#open) this.#problems.push(`call ${id} has no result before ${where}`);
    this.#open.clear();
  }
}

function filled(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

function checkArguments(value: unknown, problems: string[]): void {
  try {
    const parsed: unknown = JSON.parse(String(value));
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
      problems.push("call arguments are not a JSON object");
  } catch {
    problems.push(`call arguments are not JSON: ${String(value).slice(0, 60)}`);
  }
}

function checkChat(body: Json, problems: string[]): void {
  const messages = list(body.messages);
  if (messages.length === 0) problems.push("messages is empty");
  const ledger = new Ledger(problems);
  messages.forEach((message, position) => {
    const at = `messages[${position}]`;
    if (message.role === "tool") {
      ledger.answer(message.tool_call_id);
      if (!filled(message.content)) problems.push(`${at}: empty tool result`);
      return;
    }
    ledger.settle(at);
    if (message.role === "system" && position > 0) problems.push(`${at}: system message that is not the first`);
    if (message.role === "assistant") {
      const calls = list(message.tool_calls);
      if (message.tool_calls !== undefined && calls.length === 0) problems.push(`${at}: empty tool_calls`);
      if (calls.length === 0 && !filled(message.content)) problems.push(`${at}: empty assistant message`);
      if (typeof message.content === "string" && !filled(message.content)) problems.push(`${at}: empty content`);
      for (const call of calls) {
        const fn = record(call.function);
        ledger.call(call.id, fn.name, /^.{1,64}$/);
        checkArguments(fn.arguments, problems);
      }
      return;
    }
    if (!filled(message.content)) problems.push(`${at}: empty ${String(message.role)} message`);
  });
  ledger.settle("the end");
}

function checkResponses(body: Json, problems: string[]): void {
  const items = list(body.input);
  if (items.length === 0) problems.push("input is empty");
  if (body.store !== false) problems.push("store is not false");
  const ledger = new Ledger(problems);
  items.forEach((item, position) => {
    const at = `input[${position}]`;
    if (item.type === "function_call") {
      ledger.call(item.call_id, item.name, /^.{1,64}$/);
      checkArguments(item.arguments, problems);
    } else if (item.type === "function_call_output") {
      ledger.answer(item.call_id);
      if (!filled(item.output)) problems.push(`${at}: empty output`);
    } else if (item.type === "reasoning") {
      if (!filled(item.encrypted_content)) problems.push(`${at}: reasoning item without encrypted_content`);
    } else {
      if (item.role === "user") ledger.settle(at);
      const content = list(item.content);
      if (content.length === 0 && !filled(item.content)) problems.push(`${at}: empty message`);
      for (const part of content) if (!filled(part.text)) problems.push(`${at}: empty content part`);
    }
  });
  ledger.settle("the end");
}

function checkAnthropic(body: Json, problems: string[]): void {
  if (typeof body.max_tokens !== "number" || body.max_tokens < 1) problems.push("max_tokens is missing");
  const marks = JSON.stringify(body).split('"cache_control"').length - 1;
  if (marks > 4) problems.push(`${marks} cache_control marks, 4 are allowed`);
  const messages = list(body.messages);
  if (messages.length === 0) problems.push("messages is empty");
  const blocks = messages.flatMap((message) => list(message.content));
  if (body.tools === undefined && blocks.some((block) => block.type === "tool_use")) problems.push("tool_use without tools");
  const ledger = new Ledger(problems);
  messages.forEach((message, position) => {
    const at = `messages[${position}]`;
    const expected = position % 2 === 0 ? "user" : "assistant";
    if (message.role !== expected) problems.push(`${at}: role ${String(message.role)}, expected ${expected}`);
    const content = typeof message.content === "string" ? [{ type: "text", text: message.content }] : list(message.content);
    if (content.length === 0) problems.push(`${at}: empty content`);
    let other = false;
    for (const block of content as Json[]) {
      if (block.type === "tool_result") {
        if (other) problems.push(`${at}: tool_result after another block`);
        ledger.answer(block.tool_use_id);
        const text = Array.isArray(block.content) ? list(block.content)[0]?.text : block.content;
        if (!filled(text)) problems.push(`${at}: empty tool_result`);
        continue;
      }
      other = true;
      if (block.type === "text" && !filled(block.text)) problems.push(`${at}: empty text block`);
      if (block.type === "thinking" && !filled(block.signature)) problems.push(`${at}: thinking block without signature`);
      if (block.type === "tool_use") {
        ledger.call(block.id, block.name, /^[a-zA-Z0-9_-]{1,64}$/);
        if (typeof block.input !== "object" || block.input === null || Array.isArray(block.input))
          problems.push(`${at}: tool_use input is not an object`);
      }
    }
    if (message.role === "user") ledger.settle(at);
    if (message.role === "assistant" && position === messages.length - 1 && String(content.at(-1)?.type) === "text")
      if (/\s$/.test(String(content.at(-1)?.text))) problems.push(`${at}: final assistant text ends in white space`);
  });
  ledger.settle("the end");
}
