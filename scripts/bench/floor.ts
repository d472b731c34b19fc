/**
 * The least an agent can do: one fetch per turn, server-sent events, two tools, one file. No checks, no session, no limits.
 * It is what thndrs is measured against. Usage: floor BASE_URL PROMPT
 */
type Call = { id: string; type: "function"; function: { name: string; arguments: string } };
type Delta = {
  content?: string;
  tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[];
};

export {};

const [baseUrl = "", question = ""] = process.argv.slice(2);
const text = { type: "string" };
const tools = [
  { name: "read_file_range", parameters: { type: "object", properties: { path: text }, required: ["path"] } },
  { name: "run_shell", parameters: { type: "object", properties: { argv: { type: "array", items: text } }, required: ["argv"] } },
].map((spec) => ({ type: "function", function: spec }));

async function execute(call: Call): Promise<string> {
  const input = JSON.parse(call.function.arguments) as { path: string; argv: string[] };
  if (call.function.name === "read_file_range") return await Bun.file(input.path).text();
  const child = Bun.spawn(input.argv, { stdout: "pipe", stderr: "ignore" });
  return await new Response(child.stdout).text();
}

async function ask(messages: readonly unknown[]): Promise<{ content: string; calls: Call[] }> {
  const body = JSON.stringify({ model: "bench", stream: true, messages, tools });
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const calls: Call[] = [];
  const parts: string[] = [];
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const delta = (JSON.parse(line.slice(6)) as { choices: { delta: Delta }[] }).choices[0]?.delta;
      if (delta?.content) parts.push(delta.content);
      for (const piece of delta?.tool_calls ?? []) {
        calls[piece.index] ??= { id: piece.id ?? "", type: "function", function: { name: "", arguments: "" } };
        const call = calls[piece.index];
        if (!call) continue;
        call.function.name += piece.function?.name ?? "";
        call.function.arguments += piece.function?.arguments ?? "";
      }
    }
  }
  return { content: parts.join(""), calls };
}

const messages: unknown[] = [{ role: "user", content: question }];
for (;;) {
  const { content, calls } = await ask(messages);
  if (calls.length === 0) {
    console.log(content);
    break;
  }
  messages.push({ role: "assistant", content, tool_calls: calls });
  for (const call of calls) messages.push({ role: "tool", tool_call_id: call.id, content: await execute(call) });
}
