/**
 * Keys were taken out of a command's environment, but `cat /proc/$PPID/environ` read them from the parent: any command of the same
 * user could.
 */
import { expect, test } from "bun:test";
import { startModel, TEST_KEY } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";

test.skipIf(process.platform !== "linux")("a command cannot read the keys of its parent from /proc", async () => {
  const look = "for p in $PPID $(cut -d' ' -f4 /proc/$PPID/stat); do tr '\\0' '\\n' < /proc/$p/environ; done; echo $?; id -u";
  const shell = (argv: readonly string[]) => ({ name: "run_shell", arguments: { argv } });
  const write = { name: "create_file", arguments: { path: "a/b", content: "x" } };
  await using model = await startModel([
    { calls: [shell(["sh", "-c", look]), write, shell(["sh", "-c", "ls a; echo x >/dev/stderr"])] },
    { text: "done" },
  ]);
  const result = await runThndrs({ args: ["-p", "go"], user: "nobody", env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "done\n", leftovers: [] });
  const said = model.server.requests[1]?.raw ?? "";
  expect(said).toContain("Permission denied");
  expect(said).not.toContain(TEST_KEY);
  // What the program does by way of its own /proc goes on.
  expect(said).toContain("created a/b");
});
