/** What a command was started with was shown with the keys in it: in stream-json, and on stderr when a background process ended. */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const TOKEN = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
const KEY = "my-custom-key-value-1234";

test.each(["text", "json", "stream-json"])("--output-format %s shows no key of a command", async (format) => {
  await using dir = await tempDir();
  await using model = await startModel([
    {
      calls: [
        { name: "run_shell", arguments: { argv: ["echo", KEY, TOKEN] } },
        { name: "run_shell", arguments: { argv: ["sh", "-c", `sleep 30; echo ${TOKEN} ${KEY}`], background: true } },
      ],
    },
    { text: "done" },
  ]);
  const env = { ...model.env, XAI_API_KEY: KEY };
  const result = await runThndrs({ args: ["-p", "x", "-v", "--output-format", format], cwd: dir.path, env });
  expect(result.code).toBe(0);
  expect(result.stderr).toContain("bg1");
  if (format === "stream-json") expect(result.stdout).toContain('"type":"shell_exec"');
  for (const secret of [TOKEN, KEY])
    expect([result.stdout.includes(secret), result.stderr.includes(secret)]).toEqual([false, false]);
});
