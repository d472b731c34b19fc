/**
 * An `rg` on PATH that is a script with a banner, or prints JSON of another shape, ended the run with exit 70; a flood of lines that
 * are no JSON cost an exception each.
 */
import { expect, test } from "bun:test";
import { createFileReader } from "../../src/tools/rg-files.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const JUNK = [
  "banner 1.0",
  "null",
  "[]",
  "{}",
  '{"type":"match"}',
  '{"type":"match","data":{}}',
  '{"type":"begin","data":{"path":5}}',
];

test("records of another shape are skipped, others are kept", () => {
  const found: string[] = [];
  const reader = createFileReader({ prefix: "", wants: () => "lines", take: (file) => found.push(file.path) });
  const good = [
    '{"type":"begin","data":{"path":{"text":"./a"}}}',
    '{"type":"match","data":{"path":{"text":"./a"},"lines":{"text":"x\\n"},"line_number":1,"submatches":[{"start":0,"end":1}]}}',
    '{"type":"end","data":{"path":{"text":"./a"},"binary_offset":null}}',
  ];
  const lines = good.flatMap((line) => [...JUNK, line]);
  reader.push(Buffer.from(`${lines.join("\n")}\n`), () => false);
  expect(found).toEqual(["a"]);
});

test("a search with such an rg is served by the built-in engine", async () => {
  await using bin = await tempDir({ rg: `#!/bin/sh\n${JUNK.map((line) => `echo '${line}'`).join("\n")}\n` });
  Bun.spawnSync(["chmod", "755", bin.at("rg")]);
  await using model = await startModel([
    { calls: [{ name: "search_text", arguments: { pattern: "needle" } }] },
    { text: "done" },
  ]);
  const path = `${bin.path}:/usr/bin:/bin`;
  const result = await runThndrs({ args: ["-p", "find"], files: { "a.txt": "a needle\n" }, path, env: model.env });
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  expect(model.server.requests[1]?.raw).toContain("a.txt:1:a needle");
});
