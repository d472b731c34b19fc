/**
 * `query = { key = "${MY_VARIABLE}" }` put the key into the file of `--capture` and into the error of a server that speaks no HTTP:
 * the runtime quotes the address, and a variable whose name does not look secret was not known as one.
 */
import { expect, test } from "bun:test";
import { createServer } from "node:net";
import { referencedValues } from "../../src/config/secrets.ts";
import { startLoopback } from "../support/loopback.ts";
import { NO_WAIT } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const KEY = "plain-value-77";

function config(baseUrl: string): string {
  const reference = "$" + "{MY_VARIABLE}";
  const values = `query = { key = "${reference}", api-version = "2026-01-01" }\nheaders = { X-Corp = "${reference}" }`;
  return `model = "corp/m"\n[providers.corp]\nwire = "openai-chat"\nbase_url = "${baseUrl}"\n${values}\n`;
}

test("a key in the address is in no file and in no error", async () => {
  const calls = [{ name: "run_shell", arguments: { argv: ["sh", "-c", "echo $MY_VARIABLE"] } }];
  const server = await startLoopback([{ calls }, { text: `I saw ${KEY}` }]);
  await using dir = await tempDir({ "home/config.toml": config(server.baseUrl) });
  const env = { THNDRS_HOME: dir.at("home"), MY_VARIABLE: KEY };
  const result = await runThndrs({ args: ["-p", "hi", "--capture", "capture"], cwd: dir.path, env });
  await server.close();
  expect(result.code).toBe(0);
  expect(server.requests[0]?.headers["x-corp"]).toBe(KEY);
  const [log = ""] = [...new Bun.Glob("*.jsonl").scanSync(dir.at(".thndrs/sessions"))];
  const kept = [await dir.read("capture"), await dir.read(`.thndrs/sessions/${log}`), result.stderr];
  for (const text of kept) expect(text).not.toContain(KEY);
  expect(kept[0]).toContain("api-version=2026-01-01");
});

test("a server that speaks no HTTP: the error has no address with a query", async () => {
  const server = createServer((socket) => socket.on("error", () => {}).once("data", () => socket.end("SSH-2.0-x\r\n")));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  await using dir = await tempDir({ "home/config.toml": config(`http://127.0.0.1:${port}`) });
  const env = { THNDRS_HOME: dir.at("home"), MY_VARIABLE: KEY, ...NO_WAIT };
  const result = await runThndrs({ args: ["-p", "hi", "--output-format", "json"], cwd: dir.path, env });
  server.close();
  expect(result.code).toBe(1);
  expect(result.stdout + result.stderr).not.toMatch(/plain-value|fetching|key=/);
});

test("only what providers send counts, and a path is no secret", () => {
  const env = { KEY, HOME: "/home/somebody", TEAM: "blue-team-7" };
  const of = (path: string[], name: string) => ({ path, value: { x: `a $\{${name}}` } });
  const settings = [
    of(["providers", "corp", "query"], "KEY"),
    of(["providers", "corp", "headers"], "HOME"),
    of(["mcp", "servers", "wiki", "env"], "TEAM"),
  ];
  expect(referencedValues(settings, env)).toEqual([KEY]);
});
