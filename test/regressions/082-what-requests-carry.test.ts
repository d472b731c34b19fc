/**
 * The variables that headers refer to as `${NAME}` reached commands and the next request; `doctor --online` and `config show` printed
 * secrets in addresses and argument lists.
 */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const ref = (name: string): string => ["$", "{", name, "}"].join("");

test("commands do not get what a header carries", async () => {
  await using model = await startModel([{ calls: [{ name: "run_shell", arguments: { argv: ["env"] } }] }, { text: "done" }]);
  const config = [
    `[providers.corp]\nbase_url = "https://corp.invalid/v1"\nheaders = { authorization = "Basic ${ref("CORP_AUTHZ")}" }`,
    `[mcp.servers.m]\nurl = "https://mcp.invalid"\nenabled = false\nheaders = { x-auth = "${ref("MCP_AUTHZ")}" }\n`,
  ].join("\n");
  await using home = await tempDir({ "config.toml": config });
  const env = { ...model.env, THNDRS_HOME: home.path, CORP_AUTHZ: "Zm9vOmJhcg", MCP_AUTHZ: "cXV1eDpiYXo", OTHER: "stays-there" };
  await runThndrs({ args: ["-p", "x"], env });
  const sent = model.server.requests[1]?.raw ?? "";
  expect([sent.includes("stays-there"), sent.includes("Zm9vOmJhcg"), sent.includes("cXV1eDpiYXo")]).toEqual([true, false, false]);
});

test("no command prints a secret of the configuration", async () => {
  await using model = await startModel([], { lenient: true });
  const address = model.server.baseUrl.replace("http://", "http://user:hunter2secret@");
  const config = `[providers.corp]\nbase_url = "${address}?api_key=sk-ant-0123456789abcdefghij"\n[mcp.servers.m]\ncommand = "x"\nargs = ["--token", "abcdefgh12345678"]\n`;
  await using home = await tempDir({ "config.toml": config });
  const env = { THNDRS_HOME: home.path, CORP_API_KEY: "k" };
  for (const args of [
    ["doctor", "--online"],
    ["doctor", "--online", "--json"],
    ["config", "show"],
    ["config", "show", "--json"],
  ]) {
    const { stdout, stderr } = await runThndrs({ args, env });
    for (const secret of ["hunter2secret", "sk-ant-0123456789", "abcdefgh12345678"])
      expect({ args, shown: (stdout + stderr).includes(secret) }).toEqual({ args, shown: false });
  }
});
