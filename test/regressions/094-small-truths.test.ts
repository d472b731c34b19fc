/** Commands that said what was not so: of a broken configuration, a damaged key file, a directory that is not there, an edit. */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const CONFIG = "home/config.toml";

test("doctor does not call a broken configuration none", async () => {
  await using dir = await tempDir({ [CONFIG]: "[shell]\ntimeot = 3\n" });
  const env = { THNDRS_HOME: dir.at("home") };
  const { code, stdout } = await runThndrs({ args: ["doctor"], cwd: dir.path, env });
  expect(code).toBe(2);
  expect(stdout).toMatch(/^config {5}cannot be used \(see below\)$/m);
  expect(stdout).not.toContain("all defaults");
  const json = JSON.parse((await runThndrs({ args: ["doctor", "--json"], cwd: dir.path, env })).stdout);
  expect(json.config.problem).toContain("timeot");
});

test("logout says that it cannot tell what a damaged file holds", async () => {
  await using dir = await tempDir({ "home/credentials.json": "{bad" });
  const result = await runThndrs({ args: ["logout", "openai"], cwd: dir.path, env: { THNDRS_HOME: dir.at("home") } });
  expect(result.code).toBe(1);
  expect(result.stderr).toContain("is damaged");
});

test("a key that is no text gets advice that login can follow", async () => {
  await using dir = await tempDir();
  const stdin = { bytes: new Uint8Array([0x6b, 0xff, 0x0a]) };
  const result = await runThndrs({ args: ["login", "xai"], cwd: dir.path, env: { THNDRS_HOME: dir.at("home") }, stdin });
  expect(result.code).toBe(2);
  expect(result.stderr).toContain("no key");
  expect(result.stderr).not.toContain("--stdin");
});

test("skills are not looked for in a directory that is not there", async () => {
  await using dir = await tempDir();
  const result = await runThndrs({ args: ["skills", "list", "--skill-dir", "nope"], cwd: dir.path });
  expect(result).toMatchObject({ code: 2, stdout: "" });
  expect(result.stderr).toContain("--skill-dir nope: there is no such directory");
});

test("a configuration that is right is not called wrong by an edit, and keeps its line ends", async () => {
  await using dir = await tempDir({ [CONFIG]: '# mine\nmcp = { servers = { inl = { command = "x" } } }\n' });
  const env = { THNDRS_HOME: dir.at("home") };
  const add = (name: string) => runThndrs({ args: ["mcp", "add", name, "--command", "y", "--arg", ""], cwd: dir.path, env });
  const refused = await add("z");
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("[mcp.servers.z] cannot be added safely; add it yourself");
  expect(refused.stderr).not.toContain("TOML");
  await dir.write({ [CONFIG]: '# mine\r\nmodel = "a/b"\r\n' });
  expect((await add("z")).code).toBe(0);
  const crlf = await dir.read(CONFIG);
  expect(crlf).toBe('# mine\r\nmodel = "a/b"\r\n\r\n[mcp.servers.z]\r\ncommand = "y"\r\nargs = [""]\r\n');
  expect((await runThndrs({ args: ["mcp", "remove", "z"], cwd: dir.path, env })).code).toBe(0);
  expect(await dir.read(CONFIG)).not.toMatch(/(?<!\r)\n/);
});

test("a model is not told that a property it got wrong may not be there", async () => {
  const schema = { type: "object", properties: { rate: { type: "integer" } }, required: ["rate"], additionalProperties: false };
  await using dir = await tempDir({ "s.json": JSON.stringify(schema) });
  await using model = await startModel([{ text: '{"rate":"5","more":1}' }, { text: '{"rate":5}' }]);
  const result = await runThndrs({ args: ["-p", "x", "--output-schema", "s.json"], cwd: dir.path, env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: '{"rate":5}\n' });
  const asked = JSON.stringify(model.server.requests[1]?.body.messages.at(-1));
  expect(asked).toContain("#/rate: Instance type");
  expect(asked).not.toContain('Property \\\\\\"rate\\\\\\" does not match additional');
  expect(asked).not.toContain("#/rate: False boolean");
  expect(asked).toContain('Property \\"more\\" does not match additional');
});
