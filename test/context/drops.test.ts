import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { contentHash } from "../../src/base/hash.ts";
import { bench, paths, states } from "./bench.ts";

const TREE = {
  "repo/AGENTS.md": "ROOT @style.md",
  "repo/style.md": "STYLE @more.md",
  "repo/more.md": "MORE",
  "repo/api/AGENTS.md": "API",
  "repo/api/x.ts": "x",
  "repo/web/AGENTS.md": "WEB",
  "repo/web/x.ts": "x",
};

test("a dropped file that was sent is withdrawn with what it brought, once, and stays away until its content changes", async () => {
  await using b = await bench(TREE);
  await b.engine.start();
  expect(await b.engine.drop("AGENTS.md")).toMatchObject({ ok: true, source: { path: b.at("AGENTS.md"), state: "dropped" } });
  const told = await b.engine.turn("");
  expect(told.text.match(/status="(withdrawn|removed)"/g)).toEqual([
    'status="withdrawn"',
    'status="removed"',
    'status="removed"',
  ]);
  expect(told.text).toContain("The user dropped this file");
  expect(told.sources).toEqual([]);
  expect((await b.engine.turn("")).text).toBe("");
  expect(b.engine.sources().find((source) => source.path === b.at("AGENTS.md"))).toMatchObject({
    state: "dropped",
    reason: "dropped by the user until its content changes",
  });
  const again = await b.engine.compacted([]);
  expect(again.text).not.toMatch(/ROOT|STYLE|repo\/AGENTS\.md/);
  await b.dir.write({ "repo/AGENTS.md": "ROOT-2" });
  const back = await b.engine.turn("");
  expect(paths(b, back)).toEqual(["repo/AGENTS.md"]);
  expect(b.engine.drops()).toEqual([]);
  await b.dir.write({ "repo/AGENTS.md": "ROOT @style.md" });
  expect((await b.engine.turn("")).text).toContain("ROOT");
});

test("a candidate that is dropped is not sent by mention, touch, pin or compaction; the index keeps its state", async () => {
  await using b = await bench(TREE);
  await b.engine.start();
  await b.engine.indexed();
  expect((await b.engine.drop("api")).ok).toBe(true);
  expect((await b.engine.turn("api/x.ts")).text).toBe("");
  expect((await b.engine.touched([{ path: b.at("api/x.ts"), kind: "read" }])).text).toBe("");
  await b.engine.pin("api/x.ts", "scope");
  expect((await b.engine.turn("")).text).toBe("");
  const whole = { path: b.at("api/AGENTS.md"), kind: "read", completeHash: contentHash("API") };
  expect((await b.engine.touched([whole])).text).toBe("");
  await b.engine.indexed();
  expect(states(b)["repo/api/AGENTS.md"]).toBe("dropped");
  const compacted = await b.engine.compacted([{ path: b.at("api/AGENTS.md"), contentHash: contentHash("API") }]);
  expect(compacted.text).not.toContain("api/AGENTS.md");
  expect(states(b)["repo/api/AGENTS.md"]).toBe("dropped");
});

test("drop --reset: before the model was told nothing happens, after it the file comes again", async () => {
  await using b = await bench(TREE);
  await b.engine.start();
  await b.engine.turn("api/x.ts web/x.ts");
  await b.engine.drop("api/AGENTS.md");
  expect(await b.engine.resetDrops("api/AGENTS.md")).toEqual([b.at("api/AGENTS.md")]);
  expect(states(b)["repo/api/AGENTS.md"]).toBe("visible");
  expect((await b.engine.turn("api/x.ts")).text).toBe("");
  await b.engine.drop("api/AGENTS.md");
  await b.engine.drop("AGENTS.md");
  expect((await b.engine.turn("")).text.match(/withdrawn/g)?.length).toBe(2);
  expect([...(await b.engine.resetDrops())].sort()).toEqual([b.at("AGENTS.md"), b.at("api/AGENTS.md")]);
  const back = await b.engine.turn("");
  expect(paths(b, back)).toEqual(["repo/AGENTS.md", "repo/style.md", "repo/more.md"]);
  expect(paths(b, await b.engine.touched([{ path: b.at("api/x.ts"), kind: "read" }]))).toEqual(["repo/api/AGENTS.md"]);
  expect(await b.engine.resetDrops()).toEqual([]);
});

test("a file that changed before the model was told is delivered as changed: the drop was for its old content", async () => {
  await using b = await bench(TREE);
  await b.engine.start();
  await b.engine.turn("web/x.ts");
  await b.engine.drop("web");
  await b.dir.write({ "repo/web/AGENTS.md": "WEB-2" });
  expect((await b.engine.turn("")).text).toMatch(/status="changed">\nWEB-2/);
  rmSync(b.at("web/AGENTS.md"));
  expect((await b.engine.turn("")).text).toContain('status="removed"');
});

test("drops of a resumed run hold for the recorded content alone; a pinned file can be dropped", async () => {
  await using b = await bench(TREE);
  const drops = [
    { path: b.at("AGENTS.md"), contentHash: contentHash("ROOT @style.md") },
    { path: b.at("api/AGENTS.md"), contentHash: contentHash("older") },
  ];
  await b.engine.restore({ pins: ["api/x.ts"], drops });
  expect((await b.engine.start()).text).toBe("");
  const first = await b.engine.turn("");
  expect(paths(b, first)).toEqual(["repo/api/AGENTS.md", "repo/api/x.ts"]);
  expect(await b.engine.drop("api/x.ts")).toMatchObject({ ok: true });
  expect((await b.engine.turn("")).text).toMatch(/x\.ts".*kind="pinned_file" status="withdrawn">/);
  expect((await b.engine.turn("")).text).toBe("");
  await b.dir.write({ "repo/api/x.ts": "y" });
  expect((await b.engine.turn("")).text).toContain("\ny\n</source>");
});

test("what is no source cannot be dropped", async () => {
  await using b = await bench({ ...TREE, "repo/bad/AGENTS.md": new Uint8Array([255]) });
  await b.engine.start();
  await b.engine.indexed();
  for (const path of ["api/x.ts", "/etc/passwd", "nowhere", "bad"]) expect((await b.engine.drop(path)).ok).toBe(false);
  await using off = await bench(TREE, { enabled: false });
  expect(await off.engine.drop("AGENTS.md")).toMatchObject({ ok: false });
  expect(await off.engine.pin("AGENTS.md")).toMatchObject({ ok: false, message: expect.stringContaining("--no-context") });
});

test("text that left the conversation with an old tool result is due again when its directory is touched", async () => {
  await using b = await bench(TREE);
  await b.engine.start();
  const touch = () => b.engine.touched([{ path: b.at("api/x.ts"), kind: "read" }]);
  const [source] = (await touch()).sources;
  expect(source).toMatchObject({ heldBytes: 3 });
  expect((await touch()).text).toBe("");
  b.engine.lost([{ path: b.at("api/AGENTS.md"), contentHash: "xxh64:0000000000000000" }]);
  expect((await touch()).text).toBe("");
  b.engine.lost([{ path: b.at("api/AGENTS.md"), contentHash: source?.contentHash ?? "" }]);
  expect(states(b)["repo/api/AGENTS.md"]).toBe("candidate");
  expect(paths(b, await touch())).toEqual(["repo/api/AGENTS.md"]);
});
