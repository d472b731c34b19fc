/**
 * A model that insisted on a tool the policy leaves out ended the run with 1 instead of 3 (policy); a call that the output limit cut
 * before its arguments began was run.
 */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";

for (const args of [
  ["--deny-tool", "run_shell(ls*)"],
  ["--deny-tool", "run_shell"],
  ["--authority", "read-only"],
  ["--allow-tool", "read_file_range"],
]) {
  test(`${args.join(" ")}: insisting on run_shell is stopped by policy`, async () => {
    await using model = await startModel([{ calls: [{ name: "run_shell", arguments: { argv: ["ls"] } }] }], { repeatLast: true });
    const result = await runThndrs({ args: ["-p", "x", "--output-format", "json", ...args], env: model.env });
    expect(result.code).toBe(3);
    expect(JSON.parse(result.stdout)).toMatchObject({ status: "policy", exit_code: 3 });
  });
}

test("a tool that nobody knows is no matter of policy", async () => {
  await using model = await startModel([{ calls: [{ name: "make_coffee", arguments: {} }] }], { repeatLast: true });
  expect((await runThndrs({ args: ["-p", "x"], env: model.env })).code).toBe(1);
});

for (const wire of ["chat", "responses", "anthropic"] as const) {
  test(`${wire}: a call cut before its arguments began is not run`, async () => {
    const calls = [{ name: "list_searchable_files", arguments: "" }];
    await using model = await startModel([{ text: "I will list", calls, stop: "length" }, { text: "done" }], { wire });
    const result = await runThndrs({ args: ["-p", "x"], files: { "a.txt": "" }, env: model.env });
    expect(result).toMatchObject({ code: 0, stdout: "done\n" });
    expect(model.server.requests[1]?.raw).toContain("cut at the output limit and was not run");
  });
}
