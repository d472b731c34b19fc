/** `docker run -u 1000` with the image's HOME=/root: whether there is a configuration cannot be known, and nothing started. */
import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { nobody } from "../support/launch.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { giveTo, type TempDir, tempDir } from "../support/temp.ts";

const none = { XDG_CONFIG_HOME: undefined, XDG_STATE_HOME: undefined, XDG_DATA_HOME: undefined, XDG_CACHE_HOME: undefined };

async function home(): Promise<TempDir> {
  const dir = await tempDir();
  mkdirSync(dir.at(".config", "thndrs"), { recursive: true });
  writeFileSync(dir.at(".config", "thndrs", "config.toml"), "modle = 1\n");
  return dir;
}

for (const args of [["-p", "x"], ["doctor"], ["config", "show"], ["skills"], ["usage"], ["sessions"], ["models"], ["auth"]]) {
  test(`a home that may not be entered is a warning: ${args.join(" ")}`, async () => {
    await using dir = await home();
    chmodSync(dir.path, 0);
    await using model = await startModel([{ text: "done" }]);
    const result = await runThndrs({ args, user: "nobody", env: { ...model.env, ...none, HOME: dir.path } });
    chmodSync(dir.path, 0o700);
    expect(result.code).toBe(0);
    const said = result.stderr + result.stdout;
    for (const part of [`${dir.path} cannot be entered`, "THNDRS_HOME", "XDG_CONFIG_HOME"]) expect(said).toContain(part);
    expect(said.split("cannot be entered")).toHaveLength(2);
  });
}

test("a configuration that is there and cannot be read stays an error", async () => {
  await using dir = await home();
  giveTo(dir.path, nobody);
  chmodSync(dir.at(".config", "thndrs", "config.toml"), 0);
  await using model = await startModel([]);
  const result = await runThndrs({ args: ["-p", "x"], user: "nobody", env: { ...model.env, ...none, HOME: dir.path } });
  expect(result).toMatchObject({ code: 2, stdout: "" });
  expect(result.stderr).toContain("config.toml: cannot be read: permission denied");
});

test("a project's directory that may not be entered is a warning too", async () => {
  await using dir = await tempDir({ ".thndrs/config.toml": "authority = 1\n" });
  giveTo(dir.path, nobody);
  chmodSync(dir.at(".thndrs"), 0);
  await using model = await startModel([{ text: "done" }]);
  const result = await runThndrs({ args: ["-p", "x"], cwd: dir.path, user: "nobody", env: model.env });
  chmodSync(dir.at(".thndrs"), 0o700);
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  expect(result.stderr).toContain(`${dir.at(".thndrs")} cannot be entered`);
  expect(result.stderr).not.toContain("THNDRS_HOME");
});
