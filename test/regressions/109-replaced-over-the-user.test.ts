/** A whole-file replace undid what the user wrote into the file after the model had read it, also in the run before. */
import { expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const read = { name: "read_file_range", arguments: { path: "f.txt" } };
const replace = (content: string) => ({
  name: "write_patch",
  arguments: { patches: [{ op: "replace", path: "f.txt", content }] },
});

test("what was written since the read stays, until the file is read again", async () => {
  await using dir = await tempDir({ "f.txt": "one\ntwo\n" });
  await using model = await startModel([
    { calls: [read] },
    { text: "read" },
    { calls: [replace("one\nTWO\n")] },
    { calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", "echo formatted >>f.txt"] } }] },
    { calls: [read] },
    { calls: [replace("one\nTWO\nmine\nformatted\n")] },
    { text: "done" },
  ]);
  const state = await tempDir();
  const env = { ...model.env, XDG_STATE_HOME: state.path, XDG_DATA_HOME: state.path };
  const run = async (...args: string[]) => runThndrs({ args: ["-p", ...args, "x"], cwd: dir.path, env });
  expect((await run()).code).toBe(0);
  appendFileSync(dir.at("f.txt"), "mine\n");
  expect((await run("--continue")).code).toBe(0);
  const told: string[] = model.server.requests
    .at(-1)
    ?.body.messages.filter(({ role }: { role: string }) => role === "tool")
    .map(({ content }: { content: string }) => content);
  expect(told[1]).toContain("has changed since you last read or wrote it");
  expect(await dir.read("f.txt")).toBe("one\nTWO\nmine\nformatted\n");
  state.remove();
});
