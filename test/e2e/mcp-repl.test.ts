/** MCP in the REPL: /mcp, a configuration that changes between turns, a session that ends with a server running. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fakeCommand } from "../mcp/fleet.ts";
import { tempDir } from "../support/temp.ts";
import { startRepl, waitForFlat } from "../ui/repl-stage.ts";

function table(name: string, tool: string): string {
  const [command, ...args] = fakeCommand({ tools: [{ name: tool }] });
  return `[mcp.servers.${name}]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`;
}

function toolNames(body: unknown): string[] {
  const { tools } = body as { tools: { function: { name: string } }[] };
  return tools.map((tool) => tool.function.name).filter((name) => name.startsWith("mcp__"));
}

test("a server added between turns joins the next request; the change is on record; /mcp shows both", async () => {
  await using home = await tempDir({ "config.toml": table("one", "alpha") });
  await using place = await tempDir();
  await using stage = await startRepl([{ text: "first answer" }, { text: "second answer" }], {
    cwd: place.path,
    env: { THNDRS_HOME: home.path },
  });
  const { terminal, model } = stage;
  stage.send("one");
  await waitForFlat(terminal, "first answer");
  expect(toolNames(model.server.requests[0]?.body)).toEqual(["mcp__one__alpha"]);
  await home.write({ "config.toml": table("one", "alpha") + table("two", "beta") });
  stage.send("two");
  await waitForFlat(terminal, "second answer");
  expect(toolNames(model.server.requests[1]?.body)).toEqual(["mcp__one__alpha", "mcp__two__beta"]);
  stage.send("/mcp");
  await waitForFlat(terminal, "mcp__two__beta");
  await waitForFlat(terminal, "1 tools");
  terminal.press("ctrl+d");
  const ended = await terminal.exited;
  expect(ended.code).toBe(0);
  const dir = join(place.path, ".thndrs", "sessions");
  const [log = ""] = readdirSync(dir).filter((name) => name.endsWith(".jsonl"));
  const records = readFileSync(join(dir, log), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const change = records.find((record) => record.type === "mcp_config_changed");
  expect(change).toMatchObject({ turn_id: "turn-2", diagnostics: [] });
  expect(JSON.stringify(change)).toContain("xxh64:");
});
