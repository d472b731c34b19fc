/** ACP with the compiled binary: driven by a client nobody here wrote, driving an agent nobody here wrote, and itself. */
import { afterAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { FAKE } from "../acp/stage.ts";
import { binary } from "../support/launch.ts";
import { startModel, TEST_KEY } from "../support/model.ts";
import { runThndrs, startThndrs } from "../support/run.ts";
import { type TempDir, tempDir } from "../support/temp.ts";
import { startRepl } from "../ui/repl-stage.ts";

const modules = join(import.meta.dir, "..", "..", "node_modules");
const ACPX = join(modules, "acpx", "dist", "cli.js");
const EXAMPLE = join(modules, "@zed-industries", "agent-client-protocol", "typescript", "examples", "agent.ts");

/** Processes that live in a directory. */
function livingIn(path: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      if (!Number.isInteger(pid) || pid === process.pid) return false;
      try {
        const cwd = readlinkSync(`/proc/${pid}/cwd`);
        return cwd === path || cwd.startsWith(`${path}/`);
      } catch {
        return false;
      }
    });
}

const places: TempDir[] = [];
afterAll(() => {
  for (const place of places) {
    for (const pid of livingIn(place.path)) process.kill(pid, "SIGKILL");
    place.remove();
    // acpx keeps its sockets in a directory named after the home, whatever TMPDIR says, and leaves it.
    const name = new Bun.CryptoHasher("sha256").update(place.path).digest("hex").slice(0, 10);
    rmSync(`/tmp/acpx-${name}`, { recursive: true, force: true });
  }
});

/** The public client in a workspace of its own; its queue owner lives on between commands, as it does for its users. */
async function openAcpx(env: Readonly<Record<string, string>>) {
  const [place, home] = [await tempDir({ "a.txt": "hello\n" }), await tempDir()];
  places.push(place, home);
  const start = (args: readonly string[]) =>
    Bun.spawn([process.execPath, ACPX, "--agent", `${binary} acp serve`, "--ttl", "1", "--approve-all", ...args], {
      cwd: place.path,
      env: { PATH: "/usr/bin:/bin", HOME: home.path, XDG_CONFIG_HOME: home.path, ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
  const run = async (...args: string[]) => {
    const child = start(args);
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { stdout, stderr, code };
  };
  return { place, start, run };
}

test("the public client acpx opens a session, runs tools in it, cancels a prompt, and finds the session again", async () => {
  await using model = await startModel([
    { text: "Let me look.", calls: [{ name: "read_file_range", arguments: { path: "a.txt" } }] },
    { calls: [{ name: "replace_range", arguments: { path: "a.txt", old_string: "hello", new_string: "goodbye" } }] },
    { calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", "echo from the shell; exit 3"] } }] },
    { text: "The first task is done." },
    { text: ["slow ", "words"], hold: { gate: "never", at: 2 } },
    { text: "Here again." },
  ]);
  const { place, start, run } = await openAcpx(model.env);
  expect(await run("sessions", "new")).toMatchObject({ code: 0 });
  const first = await run("--format", "json", "change the greeting");
  expect(first).toMatchObject({ code: 0 });
  expect(readFileSync(place.at("a.txt"), "utf8")).toBe("goodbye\n");
  const lines = first.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toMatchObject({ result: { stopReason: "end_turn" } });
  expect(first.stdout).toContain('"type":"diff"');
  expect(first.stdout).toContain("terminal/create");
  expect(JSON.stringify((await model.server.request(4)).body.messages.at(-1))).toContain("exit 3");

  const slow = start(["take your time"]);
  await model.server.request(5);
  const [cancel, answer] = await Promise.all([run("cancel"), new Response(slow.stdout).text()]);
  expect(cancel).toMatchObject({ code: 0 });
  expect(answer).toContain("cancelled");
  await slow.exited;

  // The owner and its agent go when they are idle; the next prompt starts new ones and takes the session up again.
  while (livingIn(place.path).length > 0) await Bun.sleep(50);
  const again = await run("--format", "json", "are you there?");
  expect(again).toMatchObject({ code: 0 });
  expect(again.stdout).toContain("session/resume");
  const { body } = await model.server.request(6);
  const told = JSON.stringify(body.messages);
  for (const words of ["change the greeting", "The first task is done.", "take your time"]) expect(told).toContain(words);
  const logs = readdirSync(place.at(".thndrs", "sessions")).filter((name) => name.endsWith(".jsonl"));
  expect(logs).toHaveLength(1);
  const log = readFileSync(place.at(".thndrs", "sessions", logs[0] ?? ""), "utf8");
  expect(log.match(/"type":"cancelled"/g)).toHaveLength(1);
  expect(log).not.toContain(TEST_KEY);
}, 30_000);

function config(agents: Readonly<Record<string, readonly [command: string, ...args: string[]]>>, more = "", seconds = 5): string {
  const tables = Object.entries(agents).map(
    ([name, [command, ...args]]) =>
      `[acp.agents.${name}]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\ntimeout_secs = ${seconds}\n`,
  );
  return `${more}\n${tables.join("\n")}`;
}

/** A home with that configuration; give its path as XDG_CONFIG_HOME. */
async function home(text: string): Promise<TempDir> {
  return tempDir({ "thndrs/config.toml": text });
}

test("an agent nobody here wrote answers in print mode; its question is answered by the setting", async () => {
  const example = { example: [process.execPath, EXAMPLE] } as const;
  await using cautious = await home(config(example));
  await using trusting = await home(config(example, 'acp.permissions = "allow"'));
  const run = (place: TempDir) =>
    runThndrs({ args: ["-p", "help me", "--model", "acp:example"], env: { XDG_CONFIG_HOME: place.path }, timeoutMs: 20_000 });
  const [rejected, allowed] = await Promise.all([run(cautious), run(trusting)]);
  expect(rejected).toMatchObject({ code: 0, leftovers: [] });
  expect(rejected.stdout).toBe("I understand you prefer not to make that change. I'll skip the configuration update.\n");
  expect(rejected.stderr).toContain("rejected without asking");
  expect(rejected.stderr).toContain("read Reading project files: ok");
  expect(allowed).toMatchObject({ code: 0, leftovers: [] });
  expect(allowed.stdout).toBe("Perfect! I've successfully updated the configuration. The changes have been applied.\n");
}, 30_000);

test("thndrs drives thndrs: tools inside, files through the outer workspace, one answer, and the session is loaded again", async () => {
  await using model = await startModel([
    { text: "I write.", calls: [{ name: "create_file", arguments: { path: "made.txt", content: "made\n" } }] },
    { calls: [{ name: "run_shell", arguments: { argv: ["cat", "made.txt"] } }] },
    { text: "Written." },
    { text: "As before." },
  ]);
  await using place = await home(config({ inner: [binary, "acp", "serve", "--model", "openrouter/mock"] }));
  await using work = await tempDir();
  const env = { XDG_CONFIG_HOME: place.path, OPENROUTER_BASE_URL: model.server.baseUrl, OPENROUTER_API_KEY: TEST_KEY };
  const run = (...args: string[]) =>
    runThndrs({ args: ["-p", ...args, "--model", "acp:inner", "--output-format", "json"], cwd: work.path, env });
  const first = await run("write it");
  expect(first).toMatchObject({ code: 0, leftovers: [] });
  const result = JSON.parse(first.stdout);
  expect(result).toMatchObject({ status: "ok", text: "Written.", model: "acp:inner", changed_files: ["made.txt"] });
  expect(readFileSync(work.at("made.txt"), "utf8")).toBe("made\n");
  // The inner one was given no key: the server is on this machine and needs none.
  expect((await model.server.request(1)).headers.authorization).toBeUndefined();
  const log = readFileSync(work.at(".thndrs", "sessions", `${result.session_id}.jsonl`), "utf8");
  const records = log
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const session = records.find((record) => record.type === "acp_session");
  expect(session).toMatchObject({ agent_name: "inner", agent_info: { name: "thndrs" } });
  expect(records.filter((record) => record.type === "tool_finished").map((record) => record.status)).toEqual(["ok", "ok"]);
  expect(log).not.toContain("jsonrpc");

  const second = await run("and now?", "--resume", result.session_id);
  expect(JSON.parse(second.stdout)).toMatchObject({ status: "ok", text: "As before.", session_id: result.session_id });
  const told = JSON.stringify((await model.server.request(4)).body.messages);
  expect(told).toContain("write it");
  expect(told).toContain("Written.");
}, 20_000);

test("X03 SIGINT while an external agent ignores everything: exit 130 in bounded time, nothing left", async () => {
  await using place = await home(config({ deaf: [process.execPath, FAKE, "ignore"] }, "", 1));
  await using running = await startThndrs({
    args: ["-p", "wait", "--model", "acp:deaf", "--output-format", "stream-json"],
    env: { XDG_CONFIG_HOME: place.path },
    timeoutMs: 15_000,
  });
  await running.waitFor("working", "stdout");
  running.signal("SIGINT");
  const result = await running.exited;
  expect(result).toMatchObject({ code: 130, leftovers: [] });
  expect(JSON.parse(result.stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ status: "cancelled", exit_code: 130 });
  expect(result.stderr).toContain("was ended");
}, 20_000);

test("X02 X01 in the REPL: a question is put to the person, Esc cancels it and the turn, the next prompt works", async () => {
  await using place = await home(config({ fake: [process.execPath, FAKE, "plain"] }));
  await using stage = await startRepl([], {
    args: ["--model", "acp:fake"],
    env: { XDG_CONFIG_HOME: place.path },
    columns: 120,
  });
  const { terminal } = stage;
  stage.send("ask");
  await terminal.waitFor("Allow acp:fake execute");
  terminal.press("escape");
  await terminal.waitFor("cancelled");
  stage.send("still there?");
  await terminal.waitFor("heard: still there?");
  const records = await stage.records();
  expect(records.find((record) => record.type === "acp_permission_outcome")).toMatchObject({ outcome: "cancelled" });
  expect(records.filter((record) => record.type === "cancelled")).toEqual([expect.objectContaining({ reason: "user" })]);
  terminal.press("ctrl+d");
  expect(await terminal.exited).toMatchObject({ code: 0, leftovers: [] });
}, 25_000);

test("an unknown agent is a usage error that names the known ones", async () => {
  await using place = await home(config({ one: ["true"], two: ["true"] }));
  const result = await runThndrs({ args: ["-p", "hi", "--model", "acp:three"], env: { XDG_CONFIG_HOME: place.path } });
  expect(result).toMatchObject({ code: 2, stdout: "" });
  expect(result.stderr).toContain("one, two");
});

test("acp list, inspect and smoke", async () => {
  await using place = await home(config({ fake: [process.execPath, FAKE, "plain"], gone: ["/no/such/agent"] }));
  const run = (...args: string[]) => runThndrs({ args: ["acp", ...args], env: { XDG_CONFIG_HOME: place.path } });
  const [list, json, inspect, smoke, gone, nobody] = await Promise.all([
    run("list"),
    run("list", "--json"),
    run("inspect", "fake", "--json"),
    run("smoke", "acp:fake", "--prompt", "one two"),
    run("inspect", "gone"),
    run("smoke", "nobody"),
  ]);
  expect(list).toMatchObject({ code: 0, stderr: "" });
  expect(list.stdout).toContain("fake\tacp:fake\t");
  expect(JSON.parse(json.stdout).map((agent: { name: string }) => agent.name)).toEqual(["fake", "gone"]);
  expect(JSON.parse(inspect.stdout)).toMatchObject({ protocol_version: 1, agent: { name: "fake", version: "1.2.3" } });
  expect(smoke).toMatchObject({ code: 0, stdout: "heard: one two\n", leftovers: [] });
  expect(gone).toMatchObject({ code: 1, stdout: "" });
  expect(gone.stderr).toContain("/no/such/agent");
  expect(nobody).toMatchObject({ code: 2, stdout: "" });
});

test("acp serve setup is thndrs setup: what an editor runs in a terminal to log in", async () => {
  const [plain, appended] = await Promise.all([runThndrs({ args: ["setup"] }), runThndrs({ args: ["acp", "serve", "setup"] })]);
  expect(appended).toMatchObject({ code: plain.code, stdout: plain.stdout, stderr: plain.stderr });
  expect(await runThndrs({ args: ["acp", "serve", "other"] })).toMatchObject({ code: 2, stdout: "" });
});

/** Every line is one message; returns them. */
function protocol(stdout: string): { id?: unknown; result?: unknown; error?: { code: number } }[] {
  expect(stdout.endsWith("\n")).toBe(true);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => {
      const message = JSON.parse(line);
      expect(message).toMatchObject({ jsonrpc: "2.0" });
      return message;
    });
}

const call = (id: number, method: string, params: object): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
const HELLO = call(1, "initialize", { protocolVersion: 1, clientCapabilities: {} });

test("stdout of acp serve is protocol under load and on errors; stderr has the rest", async () => {
  const words = Array.from({ length: 1500 }, (_, index) => `${index} ${"x".repeat(200)}\n`);
  await using model = await startModel([{ text: words }, { status: 500, body: "<html>broken</html>" }]);
  await using work = await tempDir({ ".thndrs/config.toml": 'model = "evil/model"\n' });
  await using running = await startThndrs({
    args: ["acp", "serve"],
    cwd: work.path,
    env: { ...model.env, THNDRS_RETRY_MAX_TRIES: "1" },
    stdin: "open",
    timeoutMs: 20_000,
  });
  running.write(HELLO);
  running.write("this is no JSON\n\n[1]\n42\n");
  running.write(call(2, "session/nonsense", {}));
  running.write(call(3, "session/prompt", { sessionId: "nobody", prompt: [] }));
  running.write(call(4, "session/new", { cwd: 7 }));
  running.write(call(5, "session/new", { cwd: work.path, mcpServers: [] }));
  const made = /"id":5,"result":\{"sessionId":"([^"]+)"/;
  await running.waitFor(made, "stdout");
  const sessionId = made.exec(running.stdout())?.[1];
  running.write(call(6, "session/prompt", { sessionId, prompt: [{ type: "text", text: "much" }] }));
  await running.waitFor('"id":6', "stdout");
  running.write(call(7, "session/prompt", { sessionId, prompt: [{ type: "text", text: "fail" }] }));
  await running.waitFor('"id":7', "stdout");
  running.endStdin();
  const result = await running.exited;
  expect(result).toMatchObject({ code: 0, leftovers: [] });
  const messages = protocol(result.stdout);
  const answer = (id: unknown) => messages.find((message) => message.id === id);
  expect(messages.filter((message) => message.id === null && message.error)).toHaveLength(3);
  expect(answer(2)?.error?.code).toBe(-32601);
  expect(answer(3)?.error?.code).toBe(-32002);
  expect(answer(4)?.error?.code).toBe(-32602);
  expect(answer(6)?.result).toEqual({ stopReason: "end_turn" });
  expect(answer(7)?.error?.code).toBe(-32603);
  const said = messages
    .map((message) => message as { params?: { update?: { sessionUpdate: string; content: { text: string } } } })
    .flatMap(({ params }) => (params?.update?.sessionUpdate === "agent_message_chunk" ? [params.update.content.text] : []));
  expect(said.join("")).toBe(words.join(""));
  // Nothing of a turn comes after the answer to its prompt.
  const lines = result.stdout.split("\n");
  const last = lines.findLastIndex((line) => line.includes("agent_message_chunk"));
  expect(lines.findIndex((line) => line.includes('"id":6'))).toBeGreaterThan(last);
  // What the project's untrusted file would have had is said where a person looks.
  expect(result.stderr).toContain("config.toml");
}, 25_000);

test("acp serve ends with its client and with signals", async () => {
  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const) {
    await using running = await startThndrs({ args: ["acp", "serve"], stdin: "open" });
    running.write(HELLO);
    await running.waitFor('"id":1', "stdout");
    running.signal(signal);
    expect(await running.exited).toMatchObject({ code, leftovers: [] });
  }
  // A request through a pipe that is closed at once is answered.
  const piped = await runThndrs({ args: ["acp", "serve"], stdin: { text: HELLO } });
  expect(piped).toMatchObject({ code: 0, stdout: expect.stringContaining('"id":1,"result"') });
  const nothing = await runThndrs({ args: ["acp", "serve"] });
  expect(nothing).toMatchObject({ code: 0, stdout: "" });
});

test("acp serve ends with its client also while a session is being opened, and its servers with it", async () => {
  const env = { THNDRS_MODEL: "openai/gpt-5.5", OPENAI_API_KEY: TEST_KEY };
  await using running = await startThndrs({ args: ["acp", "serve"], stdin: "open", env });
  running.write(HELLO);
  await running.waitFor('"id":1', "stdout");
  const mute = { name: "mute", command: "sleep", args: ["60"], env: [] };
  running.write(call(2, "session/new", { cwd: running.cwd, mcpServers: [mute] }));
  running.endStdin();
  const began = performance.now();
  expect(await running.exited).toMatchObject({ code: 0, leftovers: [] });
  expect(performance.now() - began).toBeLessThan(5000);
});
