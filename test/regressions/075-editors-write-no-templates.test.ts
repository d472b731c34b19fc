/** An editor's MCP servers (ACP) hold literal values; `${NAME}` in them is four characters and a name, not a variable of ours. */
import { expect, test } from "bun:test";
import type { McpServer } from "@agentclientprotocol/sdk";
import { withServers } from "../../src/app/acp-servers.ts";
import { loadConfig } from "../../src/config/load.ts";
import { readPlans } from "../../src/mcp/plans.ts";
import { tempDir } from "../support/temp.ts";

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: what must stay as it is
test("values of an editor's servers stay as they are; ours are still expanded", async () => {
  await using dir = await tempDir({
    "home/config.toml": '[mcp.servers.own]\ncommand = "${TOOL}"\n[mcp.servers.ssh]\nurl = "https://own.invalid"\n',
    "work/a": "",
  });
  const env = { THNDRS_HOME: dir.at("home"), TOOL: "tool", OPENAI_API_KEY: "sk-not-for-servers" };
  const root = dir.at("work");
  const given: McpServer[] = [
    {
      name: "local",
      command: "${TOOL}",
      args: ["--key=${OPENAI_API_KEY}", "${GONE}", "${GONE:-x}"],
      env: [{ name: "A", value: "${OPENAI_API_KEY}" }],
    },
    { type: "http", name: "web", url: "https://x.invalid/${TOOL}", headers: [{ name: "X-A", value: "${TOOL}" }] },
    { type: "sse", name: "old", url: "https://x.invalid/sse", headers: [] },
    { name: "ssh", command: "theirs", args: [], env: [] },
  ];
  const loaded = withServers(await loadConfig({ env, flags: {}, cwd: root, workspaceRoot: root }), given);
  const { listed, diagnostics } = await readPlans({ loaded, env, root, trustProject: false });
  expect(diagnostics).toEqual([]);
  const transports = new Map(listed.map(({ name, plan }) => [name, plan?.transport]));
  expect(transports.get("local")).toEqual({
    kind: "stdio",
    command: "${TOOL}",
    args: ["--key=${OPENAI_API_KEY}", "${GONE}", "${GONE:-x}"],
    env: { A: "${OPENAI_API_KEY}" },
    cwd: root,
  });
  expect(transports.get("web")).toEqual({
    kind: "http",
    url: "https://x.invalid/${TOOL}",
    headers: { "X-A": "${TOOL}" },
    sse: false,
  });
  expect(transports.get("old")).toMatchObject({ kind: "http", sse: true });
  expect(transports.get("own")).toMatchObject({ command: "tool" });
  expect(transports.get("ssh")).toMatchObject({ url: "https://own.invalid" });
});
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: what must stay as it is
