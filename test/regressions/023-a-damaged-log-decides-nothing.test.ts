/**
 * A malformed line made a session of today 30 days old (prune deleted it) or the latest for ever, a rename to `null` took its title, and
 * a second record on a damaged line was found by one reader and not by another.
 */
import { expect, test } from "bun:test";
import { appendFileSync, readdirSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

function logOf(dir: string): string {
  const [name = ""] = readdirSync(`${dir}/.thndrs/sessions`).filter((file) => file.endsWith(".jsonl"));
  return `${dir}/.thndrs/sessions/${name}`;
}

const record = (seq: number, fields: object): string =>
  JSON.stringify({ schema_version: 1, seq, time: new Date().toISOString(), ...fields });

test("lines of a wrong shape neither age a session nor name it", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: "a" }]);
  const run = (...args: string[]) => runThndrs({ args, cwd: dir.path, env: model.env });
  await run("-p", "my title");
  appendFileSync(
    logOf(dir.path),
    [
      '{"seq":7,"time":"soon","type":"note"}',
      '{"schema_version":1,"seq":8,"time":"zz","type":"user","turn_id":"t","text":"x"}',
      record(9, { type: "session_renamed", title: null }),
      "",
    ].join("\n"),
  );
  expect((await run("sessions", "list")).stdout).toContain("my title");
  expect((await run("sessions", "prune", "--older-than", "30d", "--yes")).code).toBe(0);
  expect((await run("sessions", "list")).stdout).toContain("my title");
  expect((await run("sessions", "list")).stdout).not.toContain("soon");
});

test("a second record on a damaged line is searched, whatever lies between the two", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: "a" }]);
  const run = (...args: string[]) => runThndrs({ args, cwd: dir.path, env: model.env });
  await run("-p", `${"İ".repeat(60)} first thing and words after it`);
  const glue = ["\0\0", " ", "", "\t \0"];
  glue.forEach((between, at) => {
    const usage = record(20 + 2 * at, { type: "usage", turn_id: "turn-1", input_tokens: 1 });
    const user = record(21 + 2 * at, { type: "user", turn_id: "turn-2", text: `needle${at}` });
    appendFileSync(logOf(dir.path), `${usage}${between}${user}\n`);
  });
  for (const at of glue.keys()) expect((await run("sessions", "search", `needle${at}`)).stdout).toContain(`needle${at}`);
  expect((await run("sessions", "search", "FIRST thing")).stdout).toContain("İ first thing and wo");
});
