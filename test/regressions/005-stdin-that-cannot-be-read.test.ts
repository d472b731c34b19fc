/** A directory as stdin, or a descriptor open for writing only, was an internal error (exit 70, "this is a bug"). */
import { expect, test } from "bun:test";
import { binary } from "../support/launch.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";

for (const [what, redirect] of [
  ["a directory", "< ."],
  ["open for writing only", "0> out"],
] as const) {
  test(`stdin is ${what}: a usage error that says what to do`, async () => {
    await using model = await startModel([{ text: "here" }]);
    const run = (more: string) =>
      runThndrs({ command: ["/bin/sh", "-c", `exec "$@" ${more} ${redirect}`, "sh", binary, "-p", "hi"], env: model.env });
    const result = await run("");
    expect(result.code).toBe(2);
    expect(result.stderr).toMatch(/^thndrs: error: stdin .*--stdin ignore/);
    expect(await run("--stdin ignore")).toMatchObject({ code: 0, stdout: "here\n" });
  });
}
