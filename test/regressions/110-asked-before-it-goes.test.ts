/** `sessions prune` and `delete` had a `--yes` and never asked: on a terminal a slip took every session but one. */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { Terminal } from "../support/pty.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const meta = (id: string) =>
  `${JSON.stringify({ schema_version: 1, seq: 0, time: "2026-01-01T00:00:00.000Z", type: "user", turn_id: "turn-1", text: `about ${id}` })}\n`;
const IDS = ["session-20260101-000000-aaaa", "session-20260102-000000-bbbb", "session-20260103-000000-cccc"];

async function place() {
  const dir = await tempDir(Object.fromEntries(IDS.map((id) => [`s/${id}.jsonl`, meta(id)])));
  const left = () => readdirSync(dir.at("s")).filter((name) => name.endsWith(".jsonl")).length;
  return { dir, left, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

test.each([
  [["prune", "--keep", "1"], "Delete these 2 sessions?", 1],
  [["delete", IDS[0] ?? ""], "Delete this session?", 2],
])("sessions %j asks on a terminal; no is no, yes is yes", async (words, question, rest) => {
  await using made = await place();
  const args = ["sessions", ...words, "--session-dir", made.dir.at("s")];
  for (const [key, code, left] of [
    ["n", 1, 3],
    ["y", 0, rest],
  ] as const) {
    await using terminal = await Terminal.start({ args, cwd: made.dir.path });
    await terminal.waitFor(question);
    expect(made.left()).toBe(3);
    terminal.write(key);
    expect((await terminal.exited).code).toBe(code);
    expect(made.left()).toBe(left);
  }
});

test("nobody is asked with --yes, with --dry-run, or where nobody could answer", async () => {
  await using made = await place();
  const args = ["sessions", "prune", "--keep", "2", "--session-dir", made.dir.at("s")];
  await using dry = await Terminal.start({ args: [...args, "--dry-run"], cwd: made.dir.path });
  expect((await dry.exited).code).toBe(0);
  expect(made.left()).toBe(3);
  await using sure = await Terminal.start({ args: [...args, "--yes"], cwd: made.dir.path });
  expect((await sure.exited).code).toBe(0);
  expect(made.left()).toBe(2);
  const script = await runThndrs({ args: ["sessions", "delete", IDS[2] ?? "", "--session-dir", made.dir.at("s")] });
  expect(script).toMatchObject({ code: 0, stderr: "" });
  expect(made.left()).toBe(1);
});
