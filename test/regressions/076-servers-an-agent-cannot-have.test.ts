/**
 * An external agent starts the MCP servers it is passed. A server whose allow-list or directory the protocol has no words for
 * would be a wider one than was configured: it is not passed, and that, like every other server that is left out, is said.
 */
import { expect, test } from "bun:test";
import { openStage } from "../acp/stage.ts";

test("what cannot be said to an agent is not passed to it; what is left out is said", async () => {
  await using stage = await openStage({
    mode: "plain",
    config: `
[mcp.servers.fine]
command = "fine"
[mcp.servers.limited]
command = "limited"
tools = ["a"]
[mcp.servers.elsewhere]
command = "elsewhere"
cwd = "/tmp"
tools = []
[mcp.servers.web]
url = "https://x.invalid/mcp"
[mcp.servers.needs]
command = "needs"
env = { T = "\${NOT_SET_AT_ALL}" }
`,
    files: { ".mcp.json": JSON.stringify({ mcpServers: { stranger: { command: "true" } } }) },
  });
  await stage.opened.runtime.submit("hello");
  await stage.opened.runtime.submit("again");
  const made = stage.heard().find((message) => message.method === "session/new");
  expect(made?.params).toMatchObject({ mcpServers: [{ name: "fine", command: "fine", args: [], env: [] }] });
  const said = stage.events.flatMap((event) => (event.type === "diagnostic" ? [event.diagnostic.message] : []));
  for (const part of [
    "MCP server limited is not passed to the agent, which cannot be told its list of allowed tools (tools)",
    "MCP server elsewhere is not passed to the agent, which cannot be told its list of allowed tools (tools) and its directory (cwd)",
    "MCP server needs is left out: $NOT_SET_AT_ALL is not set",
    "is not trusted; ignored: MCP servers stranger",
    "takes no MCP servers over HTTP; not passed: web",
  ]) {
    expect(said.filter((message) => message.includes(part))).toHaveLength(1);
  }
});
