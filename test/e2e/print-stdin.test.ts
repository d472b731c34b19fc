import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { startModel, type TestModel } from "../support/model.ts";
import { runThndrs, type Stdin, startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

function promptOf(model: TestModel, request = 0): string {
  const text: string =
    model.server.requests[request]?.body.messages.findLast((message: { role: string }) => message.role === "user")?.content ?? "";
  return text;
}

const hi = () => startModel([{ text: "hi" }]);
const run = (model: TestModel, args: string[], stdin: Stdin, env: Record<string, string> = {}) =>
  runThndrs({ args, stdin, env: { ...model.env, ...env } });

test("C01 a prompt in argv and a pipe nobody writes to: answers after the wait, says what was skipped", async () => {
  await using model = await hi();
  const result = await run(model, ["-p", "say hi", "--stdin-wait", "100ms"], "open", { TERM: "dumb" });
  expect(result).toMatchObject({ code: 0, stdout: "hi\n", leftovers: [] });
  expect(result.stderr).toContain("stdin is open but nothing came within 0.1 s: left alone (to avoid the wait: --stdin ignore");
  expect(promptOf(model)).toBe("say hi");
});

test("C01 --stdin ignore does not wait at all and says nothing", async () => {
  await using model = await hi();
  const result = await run(model, ["-p", "say hi", "--stdin", "ignore", "--stdin-wait", "1h"], "open");
  expect(result).toMatchObject({ code: 0, stdout: "hi\n" });
  expect(result.stderr).not.toContain("stdin");
});

test("C01 a terminal-less start without -p is print mode", async () => {
  await using model = await hi();
  expect(await run(model, ["say", "hi"], "null")).toMatchObject({ code: 0, stdout: "hi\n" });
  expect(promptOf(model)).toBe("say hi");
});

test("C02 piped text alone is the prompt, however late it comes", async () => {
  await using model = await hi();
  await using running = await startThndrs({ args: ["-p", "--stdin-wait", "1ms"], stdin: "open", env: model.env });
  running.write("say ");
  running.write("hi\n");
  running.endStdin();
  expect(await running.exited).toMatchObject({ code: 0, stdout: "hi\n" });
  expect(promptOf(model)).toBe("say hi\n");
});

test("C02 a lone dash waits for the end of stdin and joins both", async () => {
  await using model = await hi();
  const result = await run(model, ["-p", "explain", "-"], { text: "line one\r\nline two\n" });
  expect(result).toMatchObject({ code: 0, stdout: "hi\n" });
  expect(promptOf(model)).toBe("explain\n\nline one\r\nline two\n");
});

test("C02 piped text is appended to a prompt after a blank line", async () => {
  await using model = await hi();
  await run(model, ["-p", "explain this"], { text: "data" });
  expect(promptOf(model)).toBe("explain this\n\ndata");
});

test("C02 2 MB, CRLF, a BOM and U+0000 arrive whole", async () => {
  const body = `a\r\nb\u0000c ${"é🌲".repeat(350_000)}`;
  await using model = await hi();
  const result = await run(model, ["-p"], { text: `\ufeff${body}` });
  expect(result.code).toBe(0);
  expect(promptOf(model)).toBe(body);
});

test("C02 over the limit is an error, never a cut; not UTF-8 is an error", async () => {
  await using model = await startModel([]);
  const large = await run(model, ["-p", "--stdin-max-bytes", "1000"], { text: "x".repeat(1001) });
  expect(large).toMatchObject({ code: 2, stdout: "" });
  expect(large.stderr).toContain("stdin is larger than 1000 bytes");
  const latin = await run(model, ["-p"], { bytes: new Uint8Array([0x63, 0x61, 0x66, 0xe9]) });
  expect(latin).toMatchObject({ code: 2, stdout: "" });
  expect(latin.stderr).toContain("not UTF-8");
  expect(model.server.requests).toHaveLength(0);
});

test("C04 closed and empty stdin", async () => {
  for (const stdin of ["closed", "null", { text: "" }, { text: " \n" }] as const) {
    await using model = await hi();
    expect(await run(model, ["-p", "hi"], stdin)).toMatchObject({ code: 0, stdout: "hi\n" });
    expect(promptOf(model)).toBe("hi");
  }
});

test("C04 an empty prompt is a usage error; nothing is sent", async () => {
  const cases: readonly (readonly [string[], Stdin])[] = [
    [["-p", ""], "null"],
    [["-p"], "null"],
    [["-p"], "closed"],
    [["-p", "-"], { text: " \n" }],
    [[], { text: "" }],
    [["-p", "  "], { text: "\n" }],
  ];
  await using model = await startModel([]);
  for (const [args, stdin] of cases) {
    const result = await run(model, args, stdin);
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toBe(
      'thndrs: error: the prompt is empty: thndrs -p "what to do", or pipe it: echo "what to do" | thndrs\n',
    );
  }
  expect(model.server.requests).toHaveLength(0);
});

test("H06 a tool never reads the prompt's stdin", async () => {
  await using model = await startModel([{ calls: [{ name: "run_shell", arguments: { argv: ["cat"] } }] }, { text: "done" }]);
  const result = await run(model, ["-p", "-"], { text: "SECRETLINE\n" });
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  const tool = model.server.requests[1]?.body.messages.at(-1);
  expect(tool.role).toBe("tool");
  expect(tool.content).toContain("exit 0");
  expect(tool.content).not.toContain("SECRETLINE");
});

test("B04 prompts around pipe and buffer borders, through a pipe, a file and a slow writer", async () => {
  await using dir = await tempDir();
  for (const size of [16_383, 16_384, 65_536, 65_537]) {
    const text = "0123456789abcdef".repeat(Math.ceil(size / 16)).slice(0, size);
    writeFileSync(dir.at("prompt"), text);
    await using model = await startModel([{ text: "ok" }], { repeatLast: true });
    await run(model, ["-p"], { text });
    await run(model, ["-p"], { file: dir.at("prompt") });
    await using slow = await startThndrs({ args: ["-p"], stdin: "open", env: model.env });
    for (let at = 0; at < size; at += 4096) slow.write(text.slice(at, at + 4096));
    slow.endStdin();
    expect((await slow.exited).code).toBe(0);
    expect([0, 1, 2].map((n) => promptOf(model, n) === text)).toEqual([true, true, true]);
  }
});
