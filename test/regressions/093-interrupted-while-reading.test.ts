/** Ctrl+C while a command read a long log was reported as a bug of ours (exit 70). */
import { expect, test } from "bun:test";
import { startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const ID = "session-20260101-000000-abcd";

function longLog(): string {
  const line = (seq: number, rest: object) =>
    `${JSON.stringify({ schema_version: 1, seq, time: "2026-01-01T00:00:00.000Z", ...rest })}\n`;
  let text = "";
  for (let seq = 0; seq < 20_000; seq++)
    text += line(seq, { type: "user", turn_id: `turn-${seq + 1}`, text: "needle ".repeat(60) });
  return text;
}

test.each([
  [["sessions", "export", ID], "SIGINT", 130],
  [["sessions", "inspect", ID, "--json"], "SIGTERM", 143],
] as const)("%j ends with the signal's code and says nothing", async (args, signal, code) => {
  await using dir = await tempDir({ [`.thndrs/sessions/${ID}.jsonl`]: longLog().repeat(4) });
  // Nobody reads: it waits in the middle of its output, or in the middle of the log.
  await using running = await startThndrs({ args: [...args], cwd: dir.path });
  await running.waitFor("needle", "stdout");
  running.signal(signal);
  expect(await running.exited).toMatchObject({ code, stderr: "" });
});
