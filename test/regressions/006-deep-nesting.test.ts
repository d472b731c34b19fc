/**
 * Tool arguments, an answer or a record of a planted log nested a hundred thousand levels deep overflowed the stack of whatever
 * walked them: exit 70, and a session that could not be looked at any more. Names and errors of calls that were never run had no cap.
 */
import { expect, test } from "bun:test";
import { nestedTooDeep, parseJson } from "../../src/base/json.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const DEEP = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;

for (const wire of ["chat", "responses", "anthropic"] as const) {
  test(`${wire}: arguments nested too deep are the model's error, also when the session goes on`, async () => {
    await using dir = await tempDir();
    const calls = [{ name: "create_file", arguments: `{"path":"a","content":"x","more":${DEEP}}` }];
    await using model = await startModel([{ calls }, { text: "sorry" }, { text: "on" }], { wire });
    const first = await runThndrs({ args: ["-p", "hi"], cwd: dir.path, env: model.env });
    expect(first).toMatchObject({ code: 0, stdout: "sorry\n" });
    expect(model.server.requests[1]?.raw).toContain("nested too deep");
    expect(await runThndrs({ args: ["-p", "on", "-c"], cwd: dir.path, env: model.env })).toMatchObject({ code: 0 });
  });
}

test("an answer nested too deep does not fit the schema", async () => {
  const list = { $defs: { list: { type: "array", items: { $ref: "#/$defs/list" } } }, $ref: "#/$defs/list" };
  await using model = await startModel([{ text: DEEP }, { text: DEEP }]);
  const files = { "schema.json": JSON.stringify(list) };
  const result = await runThndrs({ args: ["-p", "hi", "--output-schema", "schema.json"], files, env: model.env });
  expect(result.code).toBe(1);
});

test("a record nested too deep is skipped like any malformed line", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: "one" }, { text: "two" }]);
  await runThndrs({ args: ["-p", "hi"], cwd: dir.path, env: model.env });
  const [name = ""] = [...new Bun.Glob("*.jsonl").scanSync(dir.at(".thndrs/sessions"))];
  const log = `.thndrs/sessions/${name}`;
  await dir.write({ [log]: `${await dir.read(log)}{"schema_version":1,"seq":99,"type":"x","deep":${DEEP}}\n` });
  for (const args of [["sessions", "inspect", "latest"], ["sessions", "export", "latest"], ["sessions", "list"], ["usage"]]) {
    expect(await runThndrs({ args, cwd: dir.path, env: model.env })).toMatchObject({ code: 0 });
  }
  expect(await runThndrs({ args: ["-p", "on", "-c"], cwd: dir.path, env: model.env })).toMatchObject({
    code: 0,
    stdout: "two\n",
  });
});

test("the error of a call that was not run is capped", async () => {
  const calls = [{ name: "create_file", arguments: JSON.stringify({ ["k".repeat(3_000_000)]: 1 }) }];
  await using model = await startModel([{ calls }, { text: "sorry" }]);
  await runThndrs({ args: ["-p", "hi"], env: model.env });
  const result = model.server.requests[1]?.body.messages.find((message: { role: string }) => message.role === "tool");
  expect(Buffer.byteLength(result.content)).toBeLessThan(100_000);
});

test("brackets in strings are no nesting", () => {
  const text = JSON.stringify({ a: '["\\'.repeat(2000), b: [[1]] });
  expect(nestedTooDeep(text)).toBe(false);
  expect(parseJson(text)).toEqual(JSON.parse(text));
  expect(parseJson(DEEP)).toBeUndefined();
});
