/** Repeated words of a command's arguments were taken out, as if every list were a set. */
import { expect, test } from "bun:test";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

test("argument lists are kept as they are", async () => {
  const toml =
    '[mcp.servers.m]\ncommand = "x"\nargs = ["-e", "a", "-e", "b", "a"]\n[acp.agents.o]\ncommand = "y"\nargs = ["--in", "a", "--out", "a"]\n';
  await using home = await tempDir({ "config.toml": toml });
  const { stdout } = await runThndrs({ args: ["config", "show", "--json"], env: { THNDRS_HOME: home.path } });
  const keys = JSON.parse(stdout).keys as { key: string; value: string }[];
  expect(keys.filter(({ key }) => key.endsWith(".args")).map(({ value }) => JSON.parse(value))).toEqual([
    ["-e", "a", "-e", "b", "a"],
    ["--in", "a", "--out", "a"],
  ]);
});
