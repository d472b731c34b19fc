/**
 * A model server that thinks for no time: OpenAI chat completions on 127.0.0.1, one scenario per path. Frames are made before
 * the clock runs. Remembers when each request arrived. Refuses: judging requests (test/support/loopback.ts does).
 */

export type ToolCall = { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };

export type Scenario = {
  /** Turns that answer with a `read_file_range` call before the last one. */
  readonly turns: number;
  /** Calls to answer with instead, one a turn. */
  readonly calls?: readonly ToolCall[];
  /** Bytes of text in the last answer. */
  readonly bytes: number;
  /** Its text is Markdown of every kind instead of plain lines. */
  readonly markdown?: boolean;
  /** What it ends with. */
  readonly last?: string;
  /** The last answer stays open this long after its text, so that memory can be read from outside. */
  readonly lingerMs?: number;
};

export type BenchServer = AsyncDisposable & {
  /** Base URL that plays this scenario from its start. */
  play(scenario: Scenario): string;
  /** `performance.now()` of every request since the last `play`. */
  arrivals(): readonly number[];
  /** From the end of one response to the arrival of the next request, ms; one for every turn since the last `play`. */
  gaps(): readonly number[];
  /** Body of the first request since the last `play`. */
  firstBody(): string;
};

function frame(delta: object, finish: string | null = null): string {
  const choice = { index: 0, delta, finish_reason: finish };
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "bench", choices: [choice] })}\n\n`;
}

const usage = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "bench", choices: [], usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } })}\n\n`;

/** A new range every turn: a run that repeats itself would be stopped. */
function readCall(turn: number): ToolCall {
  return { name: "read_file_range", arguments: { path: "notes.txt", start_line: turn + 1, end_line: turn + 20 } };
}

function callAnswer(turn: number, wanted: ToolCall): string {
  const fn = { name: wanted.name, arguments: JSON.stringify(wanted.arguments) };
  const call = { index: 0, id: `call_${turn}`, type: "function", function: fn };
  return `${frame({ role: "assistant", content: null, tool_calls: [call] })}${frame({}, "tool_calls")}${usage}data: [DONE]\n\n`;
}

const PLAIN = "the quick brown fox ran round some sleepy old dog\n";
/** What models answer with: headings, prose with emphasis and code, lists, a fence. Cut without regard to any of it. */
const MARKDOWN = `## What was wrong

The parser **drops** the last line when it has no \`\\n\`, so that [the count](https://example.org/a) is one short. Two things follow:

- \`read_all()\` must look at what is left
- the *caller* need not know

\`\`\`ts
const rest = buffer.slice(from);
if (rest !== "") lines.push(rest);
\`\`\`

`;
const PIECE = 50;

/** The last answer in pieces of 50 characters: a megabyte is 20,000 of them. */
function textAnswer({ bytes, last = "", markdown = false }: Scenario): string {
  const count = Math.max(1, Math.round(bytes / PIECE));
  const text = (markdown ? MARKDOWN : PLAIN).repeat(Math.ceil((count * PIECE) / (markdown ? MARKDOWN : PLAIN).length));
  const frames = Array.from({ length: count }, (_, at) => frame({ content: text.slice(at * PIECE, (at + 1) * PIECE) }));
  return `${frame({ role: "assistant", content: "" })}${frames.join("")}${last === "" ? "" : frame({ content: last })}${frame({}, "stop")}${usage}data: [DONE]\n\n`;
}

/** The text, then a pause, then the last frame. */
function lingering(text: string, ms: number): ReadableStream<string> {
  const cut = text.lastIndexOf("data: [DONE]");
  return new ReadableStream<string>({
    async start(controller) {
      controller.enqueue(text.slice(0, cut));
      await Bun.sleep(ms);
      controller.enqueue(text.slice(cut));
      controller.close();
    },
  });
}

export function startServer(): BenchServer {
  let answers: readonly string[] = [];
  let lingerMs = 0;
  let seen: number[] = [];
  let answered: number[] = [];
  let first = "";
  const made = new Map<string, readonly string[]>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      if (request.method === "GET") return Response.json({ object: "list", data: [{ id: "bench", object: "model" }] });
      const answer = answers[Math.min(seen.length, answers.length - 1)];
      seen.push(performance.now());
      if (seen.length === 1) first = await request.text();
      else await request.arrayBuffer();
      const last = seen.length >= answers.length;
      const body = last && lingerMs > 0 ? lingering(answer ?? "", lingerMs) : (answer ?? "");
      answered.push(performance.now());
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return {
    play(scenario) {
      const calls = scenario.calls ?? Array.from({ length: scenario.turns }, (_, turn) => readCall(turn));
      const key = `${JSON.stringify(scenario.calls ?? scenario.turns)}/${scenario.bytes}/${scenario.markdown}/${scenario.last ?? ""}`;
      const known = made.get(key) ?? [...calls.map((call, turn) => callAnswer(turn, call)), textAnswer(scenario)];
      made.set(key, known);
      answers = known;
      lingerMs = scenario.lingerMs ?? 0;
      seen = [];
      answered = [];
      first = "";
      return `http://127.0.0.1:${server.port}/v1`;
    },
    arrivals: () => seen,
    gaps: () => seen.slice(1).map((arrival, at) => arrival - (answered[at] ?? Number.NaN)),
    firstBody: () => first,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
