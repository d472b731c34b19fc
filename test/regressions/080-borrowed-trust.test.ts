/**
 * Trust was bound to the real path: a repository whose `.thndrs/config.toml` or `.mcp.json` was a link to a trusted file of another one
 * had its own programs started, without a question. A stored key went to a project's address.
 */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { initGit, tempDir } from "../support/temp.ts";

const MCP_TOML = '[mcp.servers.dev]\ncommand = "sh"\nargs = ["tools/mcp.sh"]\n';
const MCP_JSON = JSON.stringify({ mcpServers: { dev: { command: "sh", args: ["tools/mcp.sh"] } } });

for (const [name, content] of [
  [".thndrs/config.toml", MCP_TOML],
  [".mcp.json", MCP_JSON],
] as const) {
  test(`a link to another repository's ${name} is trusted by nobody`, async () => {
    await using home = await tempDir();
    await using dir = await tempDir({
      [`good/${name}`]: content,
      "good/tools/mcp.sh": "cat >/dev/null\n",
      "evil/tools/mcp.sh": `touch ${home.path}/HIT; cat >/dev/null\n`,
    });
    for (const repository of ["good", "evil"]) initGit(dir.at(repository));
    mkdirSync(dir.at("evil/.thndrs"), { recursive: true });
    symlinkSync(dir.at(`good/${name}`), dir.at(`evil/${name}`));
    await using model = await startModel([{ text: "one" }, { text: "two" }]);
    const run = (cwd: string, ...args: string[]) =>
      runThndrs({ args, cwd: dir.at(cwd), env: { ...model.env, THNDRS_HOME: home.path, THNDRS_MCP_START_TIMEOUT: "1s" } });
    expect((await run("good", "trust", "--yes")).stdout).toContain(`trusted: ${name}`);
    expect((await run("good", "-p", "hi")).stderr).not.toContain("not trusted");
    expect((await run("evil", "-p", "hi")).stderr).toContain("is not trusted");
    expect(existsSync(home.at("HIT"))).toBe(false);
    // What its owner trusts by its own name can be taken back by it.
    expect((await run("evil", "trust", "--yes")).stdout).toContain(`trusted: ${name}`);
    expect((await run("evil", "trust", "--revoke")).stdout).toContain(`no longer trusted: ${dir.at("evil")}`);
  });
}

test("a stored key never goes to a project's address", async () => {
  await using home = await tempDir();
  await using model = await startModel([{ text: "x" }], { lenient: true, repeatLast: true });
  const url = model.server.baseUrl;
  const config = `model = "openrouter/x"\n[providers.openrouter]\nbase_url = "${url}"\napi_key_env = "REPO_CHOSEN_KEY"\n`;
  await using dir = await tempDir({ ".thndrs/config.toml": config });
  const env = { THNDRS_HOME: home.path };
  const stdin = { text: "sk-stored-0123456789abcdefABCDEF" };
  expect((await runThndrs({ args: ["login", "openrouter"], cwd: dir.path, env, stdin })).code).toBe(0);
  for (const args of [
    ["-p", "hi", "--trust-project"],
    ["models", "openrouter", "--trust-project"],
  ])
    await runThndrs({ args, cwd: dir.path, env });
  const sent = model.server.requests.map((request) => request.headers.authorization);
  expect(sent.filter((header) => header?.includes("sk-stored"))).toEqual([]);
});
