/**
 * `sessions prune` deleted whatever ended in `.jsonl` in the sessions directory, which a repository may choose inside itself:
 * data sets went with the sessions.
 */
import { expect, test } from "bun:test";
import { copyFileSync, readdirSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const DATA = {
  "data/.gitignore": "*\n",
  "data/train.jsonl": '{"a":1}\n',
  "data/latest.jsonl": "",
  "data/session-notes.jsonl": '{"type":"user","seq":1}\n',
};

test("only logs are listed, counted, found and removed; a log with another name is one", async () => {
  await using dir = await tempDir({ ...DATA, ".thndrs/config.toml": 'session_dir = "../data"\n' });
  await using model = await startModel([{ text: "one" }, { text: "two" }]);
  const run = (...args: string[]) => runThndrs({ args, cwd: dir.path, env: model.env });
  await run("-p", "first");
  const [log = ""] = readdirSync(dir.at("data")).filter((name) => /^session-2/.test(name));
  copyFileSync(dir.at(`data/${log}`), dir.at("data/mine.jsonl"));
  const listed = JSON.parse((await run("sessions", "list", "--json")).stdout) as { session_id: string }[];
  expect(listed.map((one) => one.session_id).sort()).toEqual(["mine", log.replace(".jsonl", "")]);
  for (const id of ["train", "session-notes"]) expect((await run("sessions", "delete", id)).code).toBe(2);
  await run("-p", "second");
  const pruned = await run("sessions", "prune", "--keep", "1");
  expect(pruned.code).toBe(0);
  const left = readdirSync(dir.at("data")).filter((name) => name.endsWith(".jsonl"));
  expect(left.filter((name) => !/^session-2/.test(name)).sort()).toEqual(["latest.jsonl", "session-notes.jsonl", "train.jsonl"]);
  expect(left.filter((name) => /^session-2/.test(name))).toHaveLength(1);
  expect(await dir.read("data/train.jsonl")).toBe(DATA["data/train.jsonl"]);
});
