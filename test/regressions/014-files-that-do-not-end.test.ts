/**
 * `--replay` and `--output-schema` at a FIFO or `/dev/zero` hung for ever, past `--timeout` and a SIGTERM. A schema with a BOM was
 * "not JSON".
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { binary } from "../support/launch.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";

const SCHEMA = '{"type":"object"}';

for (const flag of ["--replay", "--output-schema"]) {
  test(`${flag}: what does not end is refused at once`, async () => {
    const script = 'mkfifo fifo; exec "$@"';
    for (const [file, says] of [
      ["fifo", "is not a regular file"],
      ["/dev/zero", "is not a regular file"],
      [".", "is a directory"],
      ["nosuch", "there is no such file"],
    ] as const) {
      await using model = await startModel([]);
      const command = ["/bin/sh", "-c", script, "sh", binary, "-p", "hi", flag, file];
      const result = await runThndrs({ command, env: model.env });
      expect(result.code).toBe(2);
      expect(result.stderr).toContain(says);
    }
  });
}

test("a BOM is no part of a schema; a pipe of the shell is a file", async () => {
  await using model = await startModel([{ text: "{}" }, { text: "{}" }]);
  const args = ["-p", "hi", "--output-schema"];
  const result = await runThndrs({ args: [...args, "schema"], env: model.env, files: { schema: `\ufeff${SCHEMA}` } });
  expect(result).toMatchObject({ code: 0, stdout: "{}\n" });
  if (!existsSync("/bin/bash")) return;
  const command = ["/bin/bash", "-c", `"$@" <(sleep 0.1; echo '${SCHEMA}')`, "sh", binary, ...args];
  expect(await runThndrs({ command, env: model.env })).toMatchObject({ code: 0, stdout: "{}\n" });
});
