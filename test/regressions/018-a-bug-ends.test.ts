/** A bug that left something waiting for ever (a child whose end the system forgot) made the run hang after "internal error". */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { startModel } from "../support/model.ts";
import { startThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const root = join(import.meta.dir, "..", "..");

/** Something goes on after it; `more` happens first. */
const bug = (more: string): string =>
  `process.on("SIGURG", () => { ${more} setInterval(() => {}, 1000); throw new Error("boom"); });`;

test.each([
  ["that cannot wind down after a bug", bug("Promise.all = () => new Promise(() => {});"), { signal: "SIGTERM" }],
  ["that winds down after a bug, and something goes on", bug(""), { code: 70, signal: null }],
])(
  "a run %s is ended, its children too",
  async (_, fixture, how) => {
    await using dir = await tempDir({ "fixture.ts": fixture });
    await using model = await startModel([
      { calls: [{ name: "run_shell", arguments: { argv: ["sleep", "559"] } }] },
      { hang: true },
    ]);
    await using running = await startThndrs({
      command: [process.execPath, "--preload", dir.at("fixture.ts"), join(root, "src/main.ts")],
      args: ["-p", "hi"],
      env: model.env,
      timeoutMs: 20_000,
    });
    await model.server.request(1);
    running.signal("SIGURG");
    const result = await running.exited;
    expect(result).toMatchObject({ ...how, leftovers: [] });
    expect(result.stderr).toContain("internal error: boom");
    expect(result.elapsedMs).toBeLessThan(10_000);
  },
  30_000,
);
