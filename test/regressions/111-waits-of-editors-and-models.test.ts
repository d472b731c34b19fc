/**
 * A keychain that does not answer was waited for by an editor's session after the editor had gone, and by a switch to another
 * model after Esc; the input history and an allowance waited for another program's change whatever was told to end.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import type { ToolEntry } from "../../src/agent/toolbox.ts";
import { openApprovals } from "../../src/ui/approvals.ts";
import { createAsker } from "../../src/ui/asker.ts";
import { openHistory } from "../../src/ui/history.ts";
import { noCompiler, stuckKeychain } from "../support/keychain.ts";
import { startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";
import { startRepl } from "../ui/repl-stage.ts";

const request = (id: number, method: string, params: object): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;

test.skipIf(noCompiler).each(["SIGINT", "SIGTERM"] as const)(
  "acp serve: a session that waits for a keychain waits no longer after %s",
  async (name) => {
    await using keychain = await stuckKeychain();
    const { place } = keychain;
    const env = { ...keychain.env, THNDRS_MODEL: "openai/mock", OPENAI_BASE_URL: "https://192.0.2.1/v1" };
    await using run = await startThndrs({ args: ["acp", "serve"], cwd: place.path, env, stdin: "open" });
    run.write(request(0, "initialize", { protocolVersion: 1, clientCapabilities: {} }));
    run.write(request(1, "session/new", { cwd: place.path, mcpServers: [] }));
    await keychain.asked();
    run.signal(name);
    const { code, signal, stdout } = await run.exited;
    expect([code, signal]).toEqual([name === "SIGINT" ? 130 : 143, null]);
    // A wait that was given up by others has no answer.
    expect(stdout).toContain('"id":1');
  },
);

test.skipIf(noCompiler)("acp serve: another model whose key does not come is not chosen once its client gives up", async () => {
  await using keychain = await stuckKeychain();
  const { place } = keychain;
  const env = { ...keychain.env, THNDRS_MODEL: "lmstudio/mock", OPENAI_BASE_URL: "https://192.0.2.1/v1" };
  await using run = await startThndrs({ args: ["acp", "serve"], cwd: place.path, env, stdin: "open" });
  run.write(request(0, "initialize", { protocolVersion: 1, clientCapabilities: {} }));
  run.write(request(1, "session/new", { cwd: place.path, mcpServers: [] }));
  const [, sessionId = ""] = /"sessionId":"([^"]+)"/.exec(await run.waitFor(/"sessionId":"[^"]+"/, "stdout")) ?? [];
  run.write(request(2, "session/set_config_option", { sessionId, configId: "model", value: "openai/gpt-x" }));
  await keychain.asked();
  run.write(`${JSON.stringify({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 2 } })}\n`);
  const answer = await run.waitFor(/\{[^\n]*"id":2\b[^\n]*/, "stdout");
  expect(answer).not.toContain("no API key");
  run.endStdin();
  expect(await run.exited).toMatchObject({ code: 0, signal: null });
});

test.skipIf(noCompiler)("/model that waits for a keychain ends with Esc, and says nothing more", async () => {
  await using keychain = await stuckKeychain();
  const env = { ...keychain.env, OPENAI_BASE_URL: "https://192.0.2.1/v1" };
  await using stage = await startRepl([{ text: "first" }], { env });
  stage.send("/model openai/gpt-x");
  await keychain.asked();
  stage.terminal.press("escape");
  stage.send("hello");
  await stage.terminal.waitFor("first");
  expect(stage.terminal.screen.everything()).not.toContain("no API key");
});

test("the input history is not waited for once the program ends, and that is no failure", async () => {
  await using place = await tempDir({ "history.lock": "" });
  const controller = new AbortController();
  const told: string[] = [];
  const history = openHistory(
    place.at("history"),
    (text) => text,
    (message) => void told.push(message),
    controller.signal,
  );
  history.add("one");
  controller.abort("signal:SIGTERM");
  await history.settled();
  expect([told, history.entries, existsSync(place.at("history"))]).toEqual([[], ["one"], false]);
});

test("an allowance for the project is not waited for once its turn is cancelled", async () => {
  await using place = await tempDir({ "approvals.json.lock": "" });
  const file = place.at("approvals.json");
  const controller = new AbortController();
  const told: string[] = [];
  const ask = createAsker({
    approvals: () => openApprovals(file, "/here"),
    pick: async () => {
      setTimeout(() => controller.abort("user"));
      return "project";
    },
    cancel: () => undefined,
    onFailure: (message) => void told.push(message),
  });
  const answer = await ask("write_patch", { path: "a" }, {} as ToolEntry, controller.signal);
  expect([answer, told, existsSync(file)]).toEqual([{ allowed: false, reason: "Cancelled." }, [], false]);
});
