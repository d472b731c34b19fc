/** The driver itself: a test tool that cannot fail proves nothing. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { runThndrs, startThndrs } from "./run.ts";
import { tempDir } from "./temp.ts";

const shell = (script: string) => ({ command: ["/bin/sh", "-c", script] });

test("gives exit code, both streams and a blank environment", async () => {
  const result = await runThndrs({ ...shell("echo out; echo err >&2; env | cut -d= -f1 | sort | tr '\\n' ' '; exit 7") });
  expect(result.code).toBe(7);
  expect(result.stdout).toStartWith("out\n");
  expect(result.stderr).toBe("err\n");
  const names = result.stdout.slice(4).trim().split(" ");
  expect(names.filter((name) => !/^(PATH|HOME|XDG_\w+|PWD|OLDPWD|SHLVL|_)$/.test(name))).toEqual([]);
});

test("a hang is a failure that shows what was said", async () => {
  const hang = runThndrs({ ...shell("echo before; echo trouble >&2; sleep 60"), timeoutMs: 300 });
  await expect(hang).rejects.toThrow(/still running after 300 ms[\s\S]*before[\s\S]*trouble/);
});

test("the kinds of stdin", async () => {
  const what = "if [ -e /proc/self/fd/0 ]; then readlink /proc/self/fd/0; else echo none; fi";
  expect((await runThndrs({ ...shell(what) })).stdout).toBe("/dev/null\n");
  const closed = await runThndrs({
    command: ["/bin/sh", "-c", "[ -e /proc/$$/fd/0 ] && echo there || echo none"],
    stdin: "closed",
  });
  expect(closed.stdout).toBe("none\n");
  expect((await runThndrs({ ...shell("cat"), stdin: { text: "péché" } })).stdout).toBe("péché");
  await using dir = await tempDir({ "in.txt": "from a file" });
  expect((await runThndrs({ ...shell("cat"), stdin: { file: dir.at("in.txt") } })).stdout).toBe("from a file");
});

test("leftovers are named and ended, directories are gone", async () => {
  const daemon = "setsid sh -c 'touch up; exec sleep 54321' >/dev/null 2>&1 & while ! [ -e up ]; do sleep 0.01; done";
  const result = await runThndrs(shell(`${daemon}; pwd; echo $HOME`));
  expect(result.leftovers.join()).toContain("sleep 54321");
  for (const directory of result.stdout.trim().split("\n")) expect(existsSync(directory)).toBe(false);
  const pid = Number.parseInt(result.leftovers[0] ?? "", 10);
  // An unreaped child of the test machine's init has an empty command line.
  while (
    (await Bun.file(`/proc/${pid}/cmdline`)
      .text()
      .catch(() => "")) !== ""
  )
    await Bun.sleep(1);
});

test("two runs may share a directory", async () => {
  await using dir = await tempDir();
  await using first = await startThndrs({ ...shell("echo up >&2; cat"), cwd: dir.path, stdin: "open" });
  await first.waitFor("up");
  await runThndrs({ ...shell("true"), cwd: dir.path });
  first.write("still here");
  await first.waitFor("still here", "stdout");
  first.endStdin();
  expect((await first.exited).code).toBe(0);
});

test("waits for text, signals, and says so when the text never comes", async () => {
  await using child = await startThndrs({
    ...shell("trap 'echo caught >&2; exit 3' INT; echo ready >&2; while :; do sleep 0.01; done"),
  });
  await child.waitFor("ready");
  child.signal("SIGINT");
  expect(await child.waitFor(/caught/)).toBe("caught");
  expect((await child.exited).code).toBe(3);
  await expect(child.waitFor("never")).rejects.toThrow(/never saw never/);
});

test("runs without root's powers", async () => {
  const result = await runThndrs({ ...shell("id -u; touch here && echo ok"), user: "nobody" });
  expect(result.stdout).not.toStartWith("0\n");
  expect(result.stdout).toEndWith("ok\n");
});
