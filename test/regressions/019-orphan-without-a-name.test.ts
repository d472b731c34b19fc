/**
 * A command that clears its environment, opens a session of its own and loses its parents (`env -i setsid sleep … &`) was
 * out of reach of marker, group and ancestry, and outlived the run. On Linux the program adopts orphans below it.
 */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { runThndrs, startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const linux = process.platform === "linux";
const ORPHAN = 'env -i /usr/bin/setsid -f /bin/sh -c "cd /; exec /bin/sleep 5151" && echo gone';

function sleepers(): number {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("sleep\u00005151");
    } catch {
      return false;
    }
  }).length;
}

test.skipIf(!linux)("an orphan without a name is ended with the run", async () => {
  await using model = await startModel([
    { calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", ORPHAN] } }] },
    { calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", "sleep 0.2; true"] } }] },
    { text: "done" },
  ]);
  expect(await runThndrs({ args: ["-p", "hi"], env: model.env })).toMatchObject({ code: 0, stdout: "done\n" });
  expect(sleepers()).toBe(0);
});

test.skipIf(!linux)("also when a signal ends it", async () => {
  await using dir = await tempDir();
  await using model = await startModel([
    { calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", `${ORPHAN}; echo up > mark; sleep 560`] } }] },
  ]);
  await using running = await startThndrs({ args: ["-p", "hi"], cwd: dir.path, env: model.env });
  await model.server.request(1);
  while (!readdirSync(dir.path).includes("mark")) await Bun.sleep(10);
  running.signal("SIGTERM");
  expect((await running.exited).code).toBe(143);
  expect(sleepers()).toBe(0);
});

test.skipIf(!linux)(
  "many orphans that end by themselves are taken notice of, and the runtime still sees its own children",
  async () => {
    const count = 70;
    let n = 0;
    await using model = await startModel(() => {
      n += 1;
      if (n > count) return { text: "done" };
      return {
        calls: [{ name: "run_shell", arguments: { argv: ["sh", "-c", `env -i /usr/bin/setsid -f /bin/true; exit ${n % 7}`] } }],
      };
    });
    const result = await runThndrs({ args: ["-p", "hi", "--output-format", "stream-json"], env: model.env, timeoutMs: 25_000 });
    expect(result.code).toBe(0);
    const exits = result.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
      .flatMap((event) => (event.type === "shell_exec" ? [event.exit_code] : []));
    expect(exits).toEqual(Array.from({ length: count }, (_, index) => (index + 1) % 7));
  },
);
