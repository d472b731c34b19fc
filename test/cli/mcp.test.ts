/** `thndrs mcp …`: every verb, in words and as JSON. Servers are fake ones; logins are made with a server in the test. */
import { expect, spyOn, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { runMcp } from "../../src/cli/mcp.ts";
import { createCredentials } from "../../src/config/credentials.ts";
import { storedLogin } from "../../src/mcp/held-login.ts";
import type { Manners } from "../mcp/fake-server.ts";
import { fakeCommand, httpPlan, openFleet } from "../mcp/fleet.ts";
import { startOAuth } from "../mcp/oauth-server.ts";
import { makeStage, type Stage } from "./stage.ts";

function add(stage: Stage, name: string, manners: Manners, ...more: string[]) {
  const [command = "", ...args] = fakeCommand(manners);
  return stage.play(runMcp, ["mcp", "add", name, "--command", command, ...args.flatMap((arg) => [`--arg=${arg}`]), ...more]);
}

const config = (stage: Stage): string => readFileSync(join(stage.home, "config.toml"), "utf8");

test("add and remove change one table and nothing else", async () => {
  using stage = makeStage();
  const text =
    '# mine\nmodel = "a/b" # chosen\n\n[mcp.servers.old]\nurl = "http://127.0.0.1:1/mcp"\n\n[mcp.servers.old.headers]\nX = "1"';
  stage.user(text);
  const added = await add(stage, "new one", {}, "--env", "A=b=c", "--env", "B=");
  expect(added.stdout).toContain('[mcp.servers."new one"]');
  expect(config(stage).startsWith(`${text}\n\n[mcp.servers."new one"]\n`)).toBe(true);
  const { servers } = (await stage.load()).config.mcp;
  expect(servers["new one"]).toMatchObject({ env: { A: "b=c", B: "" }, args: fakeCommand({}).slice(1) });
  await expect(add(stage, "new one", {})).rejects.toThrow("already");
  await stage.play(runMcp, ["mcp", "remove", "old"]);
  expect(config(stage)).not.toContain("old");
  expect(config(stage)).toContain('# mine\nmodel = "a/b" # chosen\n');
  await stage.play(runMcp, ["mcp", "remove", "new one"]);
  expect(config(stage)).toBe('# mine\nmodel = "a/b" # chosen\n\n');
  await expect(stage.play(runMcp, ["mcp", "remove", "old"])).rejects.toThrow('has no MCP server "old"');
});

test("add refuses what means nothing and what is a secret; the file stays", async () => {
  using stage = makeStage();
  stage.user("# empty\n");
  const refuse = (...argv: string[]) => expect(stage.play(runMcp, ["mcp", "add", ...argv])).rejects.toThrow();
  await refuse("x");
  await refuse("x", "--command", "a", "--url", "http://b/");
  await refuse("x", "--url", "http://b/", "--arg", "c");
  await refuse("x", "--command", "a", "--header", "A=b");
  await refuse("x", "--command", "a", "--env", "novalue");
  await refuse("x", "--url", "ftp://b/");
  await refuse("x", "--url", "http://b/", "--header", "Authorization=Bearer sk-abcdefghijklmnop");
  await refuse("x", "--command", "a", "--env", "API_TOKEN=abcdefghijklmnop");
  await refuse("");
  expect(config(stage)).toBe("# empty\n");
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference
  await stage.play(runMcp, ["mcp", "add", "x", "--url", "http://b/", "--header", "Authorization=Bearer ${KEY}"]);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference
  expect(config(stage)).toContain('headers = { Authorization = "Bearer ${KEY}" }');
});

test("remove leaves a file it cannot change safely", async () => {
  using stage = makeStage();
  const text = '[mcp]\nservers.x.command = "a"\n';
  stage.user(text);
  await expect(stage.play(runMcp, ["mcp", "remove", "x"])).rejects.toThrow("remove it yourself");
  expect(config(stage)).toBe(text);
});

test("--project writes the project's file, which waits for trust", async () => {
  using stage = makeStage();
  await add(stage, "shared", {}, "--project");
  const project = readFileSync(join(stage.root, ".thndrs", "config.toml"), "utf8");
  expect(project).toContain("[mcp.servers.shared]");
  expect((await stage.load()).config.mcp.servers).toEqual({});
});

test("list, status, tools and test say what there is", async () => {
  using stage = makeStage();
  await add(stage, "good", { tools: [{ name: "a", description: "A does it. And more." }, { name: "b.c" }] });
  await stage.play(runMcp, ["mcp", "add", "bad", "--command", "no-such-program"]);
  stage.write(join(stage.root, ".mcp.json"), '{"mcpServers":{"theirs":{"command":"x","args":["y"]}}}');
  const list = await stage.play(runMcp, ["mcp", "list"]);
  expect(list.code).toBe(0);
  expect(list.stdout).toMatch(/^good\tconfigured\t/m);
  expect(list.stdout).toMatch(/^theirs\tuntrusted\tx y\t/m);
  expect(list.stderr).toContain("is not trusted; ignored: MCP servers theirs");
  const plain = JSON.parse((await stage.play(runMcp, ["mcp", "list", "--json"])).stdout) as { name: string; state: string }[];
  expect(plain.map(({ name, state }) => `${name} ${state}`)).toEqual(["good configured", "bad configured", "theirs untrusted"]);

  const status = await stage.play(runMcp, ["mcp", "status", "--json"]);
  expect(status.code).toBe(1);
  expect(JSON.parse(status.stdout)).toEqual([
    { name: "good", state: "ready", tools: 2, reason: "" },
    { name: "bad", state: "failed", tools: 0, reason: 'There is no program "no-such-program" on PATH' },
    { name: "theirs", state: "untrusted", tools: 0, reason: "" },
  ]);

  const tools = await stage.play(runMcp, ["mcp", "tools", "good"]);
  expect(tools.stdout).toMatch(/^mcp__good__a\tA does it\.\nmcp__good__b_c_[0-9a-f]{8}\tThe tool "b\.c" of an MCP server\.\n$/);
  const specs = JSON.parse((await stage.play(runMcp, ["mcp", "tools", "--json"])).stdout) as { name: string }[];
  expect(specs[0]?.name).toBe("mcp__good__a");

  expect((await stage.play(runMcp, ["mcp", "test", "good"])).stdout).toMatch(/^good: ready in .*, 2 tools\n/);
  const bad = await stage.play(runMcp, ["mcp", "test", "bad"]);
  expect(bad).toMatchObject({ code: 1, stdout: 'bad: failed: There is no program "no-such-program" on PATH\n' });
  await expect(stage.play(runMcp, ["mcp", "test", "theirs"])).rejects.toMatchObject({ exitCode: 3 });
  await expect(stage.play(runMcp, ["mcp", "test", "gone"])).rejects.toThrow("there are: good, bad, theirs");
});

test("a list shows no secret that somebody wrote into an address or an argument", async () => {
  using stage = makeStage();
  const servers = {
    far: { url: "https://me:hunter2pass@far.example.org/mcp" },
    odd: { url: "ftp://me:hunter2pass@far.example.org/" },
    near: { command: "prog", args: ["--key", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"] },
  };
  stage.write(join(stage.root, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  for (const flags of [[], ["--json"], ["--trust-project"]]) {
    const { stdout, stderr } = await stage.play(runMcp, ["mcp", "list", ...flags]);
    expect(stdout).toContain("far.example.org/mcp");
    expect(stdout + stderr).not.toMatch(/hunter2pass|ghp_abc/);
  }
});

test("test shows the last words of a server that fails", async () => {
  using stage = makeStage();
  await add(stage, "dead", { dieIn: "initialize", stderr: "cannot open database" });
  const dead = await stage.play(runMcp, ["mcp", "test", "dead"]);
  expect(dead.code).toBe(1);
  expect(dead.stdout).toContain("it exited with code 3; its last words: cannot open database");
  expect(dead.stdout).toContain("  | cannot open database");
});

test("call runs one tool and says its result", async () => {
  using stage = makeStage();
  const failing = { content: [{ type: "text", text: "no\nway" }], isError: true };
  await add(stage, "s", { tools: [{ name: "echo" }, { name: "fails", result: failing }] });
  const call = (...words: string[]) => stage.play(runMcp, ["mcp", "call", "s", ...words]);
  expect(await call("echo", "--args", '{"a":1}')).toEqual({ code: 0, stdout: '{"a":1}\n', stderr: "" });
  expect(await call("mcp__s__echo")).toMatchObject({ code: 0, stdout: "{}\n" });
  expect(await call("fails")).toEqual({ code: 1, stdout: "", stderr: "thndrs: no\nthndrs: way\n" });
  expect(JSON.parse((await call("fails", "--json")).stdout)).toEqual({ status: "failed", truncated: false, text: "no\nway" });
  await expect(call("ecko")).rejects.toThrow('did you mean "echo"?');
  for (const bad of ["[1]", "{", "3"]) await expect(call("echo", "--args", bad)).rejects.toThrow("--args");
});

test("trust and revoke are about .mcp.json alone", async () => {
  using stage = makeStage();
  const [command, ...args] = fakeCommand({ tools: [{ name: "t" }] });
  stage.write(join(stage.root, ".mcp.json"), JSON.stringify({ mcpServers: { ours: { command, args } } }));
  stage.project('model = "a/b"\n');
  await expect(stage.play(runMcp, ["mcp", "trust"])).rejects.toMatchObject({ exitCode: 3 });
  const trusted = await stage.play(runMcp, ["mcp", "trust", "--yes"]);
  expect(trusted.stdout).toContain("trusted: .mcp.json");
  expect((await stage.load()).config.model).toBeUndefined();
  expect((await stage.play(runMcp, ["mcp", "tools"])).stdout).toContain("mcp__ours__t");
  expect((await stage.play(runMcp, ["mcp", "revoke"])).stdout).toContain("no longer trusted");
  expect((await stage.play(runMcp, ["mcp", "tools"])).stdout).toBe("");
});

test("wrong words are usage errors", async () => {
  using stage = makeStage();
  for (const words of [["what"], ["list", "x"], ["test"], ["test", "a", "b"], ["call", "a"], ["login"]]) {
    await expect(stage.play(runMcp, ["mcp", ...words])).rejects.toMatchObject({ exitCode: 2 });
  }
});

/** Plays the browser: follows the printed address as soon as it is there. */
function login(stage: Stage, name: string) {
  return stage.play(runMcp, ["mcp", "login", name], {}, (line) => {
    if (line.startsWith("http://")) void fetch(line.trim());
  });
}

test("login: agree in a browser, and later runs use, renew and finally miss it", async () => {
  const warned: unknown[] = [];
  using _ = spyOn(console, "warn").mockImplementation((...words) => void warned.push(words));
  using stage = makeStage();
  await using server = startOAuth();
  await stage.play(runMcp, ["mcp", "add", "locked", "--url", server.url]);
  const before = await stage.play(runMcp, ["mcp", "test", "locked"]);
  expect(before.stdout).toBe("locked: failed: it needs a login: thndrs mcp login locked\n");
  expect(server.seen).toEqual([]);

  const done = await login(stage, "locked");
  expect(done.code).toBe(0);
  expect(done.stdout).toContain("logged in to locked: 1 tools; the login is kept in ");
  expect(server.seen).toEqual(["register", "authorize", "token code"]);
  expect((await stage.play(runMcp, ["mcp", "call", "locked", "open"])).stdout).toBe("opened\n");

  server.expire();
  expect((await stage.play(runMcp, ["mcp", "call", "locked", "open"])).stdout).toBe("opened\n");
  expect(server.seen.at(-1)).toBe("token refresh");

  server.expire();
  server.revoke();
  const after = await stage.play(runMcp, ["mcp", "test", "locked"]);
  // The protocol's package has nothing to say on our stderr.
  expect(warned).toEqual([]);
  expect(after).toMatchObject({ code: 1, stdout: "locked: failed: it needs a login: thndrs mcp login locked\n" });
  const file = join(stage.home, "credentials.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await stage.play(runMcp, ["mcp", "remove", "locked"])).stdout).toContain("and its login");
  expect(readFileSync(file, "utf8")).not.toContain("refresh-token");
});

test("a login belongs to one address; its tokens are known as secrets", async () => {
  using stage = makeStage();
  await using server = startOAuth();
  await using other = startOAuth();
  await stage.play(runMcp, ["mcp", "add", "locked", "--url", server.url]);
  await login(stage, "locked");
  const store = createCredentials({ env: {}, configHome: stage.home, keychain: null });
  expect(await storedLogin(httpPlan("locked", other.url), store)).toBeUndefined();
  await using fleet = await openFleet([httpPlan("locked", server.url)], { authOf: (plan) => storedLogin(plan, store) });
  await fleet.ready();
  expect(fleet.servers.secrets().join()).toContain("access-token-number");
});

test("a refused login is said, and nothing is kept", async () => {
  using stage = makeStage();
  await using server = startOAuth({ refuse: true });
  await stage.play(runMcp, ["mcp", "add", "locked", "--url", server.url]);
  await expect(login(stage, "locked")).rejects.toThrow("the login was refused: access_denied");
});
