/**
 * A sandbox with a pid namespace of its own and the `/proc` of outside (`bwrap --unshare-pid` without `--proc`): its numbers name
 * strangers. Skipped where `unshare -p` is not permitted.
 */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { binary } from "../support/launch.ts";
import { startModel } from "../support/model.ts";
import { canUnshare } from "../support/namespaces.ts";
import { runningWith } from "../support/processes.ts";
import { runThndrs, startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const inside = test.skipIf(!canUnshare("-p", "-f", "--mount-proc"));
const nap = (number: number): string => `${number}.${process.pid}`;
const shell = (script: string, more = {}) => ({ name: "run_shell", arguments: { argv: ["sh", "-c", script], ...more } });

/** As the first process of the namespace, and below one; as in a container without an init, whose `/proc` is its own. */
const PLACES = {
  container: ["unshare", "-p", "-f", "--mount-proc", binary],
  first: ["unshare", "-p", "-f", binary],
  second: ["unshare", "-p", "-f", "sh", "-c", '"$@"; echo rc=$?', "sh", binary],
} as const;

for (const [place, command] of Object.entries(PLACES)) {
  inside(
    `commands end, and nobody is signalled by a stranger's number (${place} process)`,
    async () => {
      const calls = [
        shell("true"),
        shell(`sleep ${nap(9901)} & echo hi`),
        shell(`sleep ${nap(9902)} & sleep ${nap(9903)}`, { timeout_ms: 200 }),
        shell(`trap "" TERM; sleep ${nap(9904)} & echo stubborn`, { background: true }),
      ];
      await using model = await startModel([...calls.map((call) => ({ calls: [call] })), { text: "done" }]);
      const result = await runThndrs({ args: ["-p", "x"], command: [...command], env: model.env, timeoutMs: 20_000 });
      expect(result).toMatchObject({ code: 0, stdout: place === "second" ? "done\nrc=0\n" : "done\n", leftovers: [] });
      expect([9901, 9902, 9903, 9904].flatMap((number) => runningWith(nap(number)))).toEqual([]);
    },
    30_000,
  );
}

inside(
  "who cannot be reached does not keep the program: the first process takes it along",
  async () => {
    await using model = await startModel([{ calls: [shell(`setsid sleep ${nap(9905)} & echo hi`)] }, { text: "done" }]);
    const result = await runThndrs({ args: ["-p", "x"], command: PLACES.first, env: model.env });
    expect(result).toMatchObject({ code: 0, stdout: "done\n" });
    expect(runningWith(nap(9905))).toEqual([]);
  },
  30_000,
);

inside(
  "the first process of a container ends at the second signal as others do",
  async () => {
    await using dir = await tempDir();
    const script = `trap 'echo x >told' TERM; sleep ${nap(9906)} & echo x >started; while :; do wait; done`;
    await using model = await startModel([{ calls: [shell(script)] }, { text: "done" }]);
    await using running = await startThndrs({ args: ["-p", "x"], command: PLACES.first, cwd: dir.path, env: model.env });
    while (!existsSync(dir.at("started"))) await Bun.sleep(5);
    const [thndrs] = runningWith(`${binary} -p x`).filter((pid) => pid !== running.pid);
    if (thndrs === undefined) throw new Error("not found");
    process.kill(thndrs, "SIGINT");
    while (!existsSync(dir.at("told"))) await Bun.sleep(5);
    process.kill(thndrs, "SIGINT");
    expect((await running.exited).code).toBe(130);
    // The command was not waited for: its end is not in the log, as it is after one signal.
    const log = [...new Bun.Glob("**/*.jsonl").scanSync({ cwd: dir.path, dot: true })].map((path) =>
      readFileSync(dir.at(path), "utf8"),
    );
    expect(log.join("")).toContain('"tool_started"');
    expect(log.join("")).not.toContain('"cancelled"');
    expect(runningWith(nap(9906))).toEqual([]);
  },
  30_000,
);
