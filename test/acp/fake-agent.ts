/**
 * An ACP agent for tests, by hand and without the library, so that it can misbehave. `bun fake-agent.ts MODE [LOG]`.
 * Answers a prompt with its text; a prompt that is a JSON list of [method, params] makes these requests and answers with
 * what came back. MODE says how it treats a cancel (and what else is wrong with it). LOG: what it received, one line each.
 */
import { appendFileSync } from "node:fs";

type Message = { id?: number | string; method?: string; params?: Record<string, unknown>; result?: unknown; error?: unknown };

const QUESTION = {
  toolCall: { toolCallId: "c1", title: "Wipe the disk", kind: "execute", rawInput: { command: "wipe" } },
  options: [
    { optionId: "yes", name: "Yes", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
  ],
};

const [mode = "plain", log] = process.argv.slice(2);
const sessions = new Set<string>();
let counter = 0;
let prompt: { id: number | string; sessionId: string } | undefined;
const waiting = new Map<number | string, (message: Message) => void>();

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function update(sessionId: string, body: object): void {
  send({ method: "session/update", params: { sessionId, update: body } });
}

function say(sessionId: string, text: string): void {
  update(sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
}

function ask(method: string, params: object): Promise<Message> {
  const id = `ask-${++counter}`;
  send({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

function textOf(params: Record<string, unknown>): string {
  return (params.prompt as { text?: string }[]).map((block) => block.text ?? "").join("");
}

async function perform(sessionId: string, requests: [string, Record<string, unknown>][]): Promise<string> {
  const answers: unknown[] = [];
  let terminalId: unknown;
  for (const [method, params] of requests) {
    if (method === "update") update(sessionId, params);
    else if (method === "stray") update("somebody-else", params);
    else if (method === "unawaited") void ask(String(params.method), { sessionId, ...(params.params as object) });
    else if (method === "all") {
      const together = (params.requests as [string, object][]).map(([name, inner]) => ask(name, { sessionId, ...inner }));
      for (const answer of await Promise.all(together)) answers.push(answer.error ?? answer.result);
    } else {
      const filled = method.startsWith("terminal/") && method !== "terminal/create" ? { terminalId, ...params } : params;
      const answer = await ask(method, { sessionId, ...filled });
      if (method === "terminal/create") terminalId = (answer.result as { terminalId?: string } | undefined)?.terminalId;
      answers.push(answer.error ?? answer.result);
    }
  }
  return JSON.stringify(answers);
}

async function onPrompt(id: number | string, params: Record<string, unknown>): Promise<void> {
  const sessionId = String(params.sessionId);
  const text = textOf(params);
  if (!sessions.has(sessionId)) return send({ id, error: { code: -32002, message: "no such session" } });
  if (text === "wait") {
    say(sessionId, "working");
    prompt = { id, sessionId };
    return;
  }
  if (text === "die") process.exit(7);
  if (text === "say cancelled") return send({ id, result: { stopReason: "cancelled" } });
  if (text === "silent") return send({ id, result: { stopReason: "end_turn" } });
  if (text === "ask") say(sessionId, await perform(sessionId, [["session/request_permission", QUESTION]]));
  else if (text === "env") say(sessionId, JSON.stringify(process.env));
  else if (text.startsWith("[")) {
    const answers = await perform(sessionId, JSON.parse(text));
    if (mode !== "quiet") say(sessionId, answers);
  } else say(sessionId, `heard: ${text}`);
  send({ id, result: { stopReason: "end_turn" } });
}

function onCancel(): void {
  const open = prompt;
  prompt = undefined;
  if (mode === "ignore") return;
  if (mode === "exit") process.exit(3);
  if (!open) return;
  const { id, sessionId } = open;
  say(sessionId, " late words");
  if (mode === "refuse") send({ id, error: { code: -32603, message: "I do not stop" } });
  if (mode === "twice") send({ id, result: { stopReason: "end_turn" } });
  if (mode !== "refuse") send({ id, result: { stopReason: "cancelled" } });
}

function onRequest(id: number | string, method: string, params: Record<string, unknown>): void {
  if (method === "initialize") {
    if (mode === "mute") return;
    send({
      id,
      result: {
        protocolVersion: mode === "future" ? 99 : 1,
        agentInfo: { name: "fake", version: "1.2.3" },
        agentCapabilities: { loadSession: mode !== "forgetful" },
      },
    });
  } else if (method === "session/new") {
    if (mode === "locked") {
      send({ id, error: { code: -32000, message: "Authentication required" } });
      return;
    }
    const sessionId = `outer-${process.pid}`;
    sessions.add(sessionId);
    send({ id, result: { sessionId } });
  } else if (method === "session/load") {
    const sessionId = String(params.sessionId);
    sessions.add(sessionId);
    say(sessionId, "OLD WORDS");
    send({ id, result: {} });
  } else if (method === "session/prompt") void onPrompt(id, params);
  else send({ id, error: { code: -32601, message: `no ${method}` } });
}

function onMessage(message: Message): void {
  if (log) appendFileSync(log, `${JSON.stringify(message)}\n`);
  const { id, method } = message;
  if (method === "session/cancel") onCancel();
  else if (method !== undefined && id !== undefined) onRequest(id, method, message.params ?? {});
  else if (id !== undefined) waiting.get(id)?.(message);
}

if (mode === "junk") {
  process.stdout.write("Fake agent 1.0 starting…\n\n");
  process.stdout.write('{"not":"rpc"}\n[1,2]\n');
  process.stdout.write(Buffer.concat([Buffer.from([0xff, 0xfe, 0x80]), Buffer.from("\n")]));
  process.stdout.write(`${"x".repeat(5_000_000)}\n`);
}
if (mode === "ignore") process.on("SIGTERM", () => undefined);
if (log) appendFileSync(log, `${JSON.stringify({ pid: process.pid })}\n`);

let rest = "";
for await (const chunk of process.stdin) {
  rest += chunk;
  const lines = rest.split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) if (line !== "") onMessage(JSON.parse(line));
}
