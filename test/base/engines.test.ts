/** Engines are looked up on PATH, and what leads into the workspace is passed over for the next one. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { detectEngines } from "../../src/base/engines.ts";
import { tempDir } from "../support/temp.ts";

test("a program that leads into the workspace gives way to the next one on PATH", async () => {
  await using dir = await tempDir({ "ws/bin/rg": "#!/bin/sh\n", "usr/rg": "#!/bin/sh\n", "usr/fdfind": "#!/bin/sh\n" });
  for (const file of ["ws/bin/rg", "usr/rg", "usr/fdfind"]) chmodSync(dir.at(file), 0o755);
  mkdirSync(dir.at("first"));
  symlinkSync(dir.at("ws/bin/rg"), dir.at("first/rg"));
  const path = [dir.at("ws/bin"), dir.at("first"), dir.at("nowhere"), dir.at("usr")].join(":");
  expect(detectEngines(path, dir.at("ws"))).toEqual({ rg: dir.at("usr/rg"), fd: dir.at("usr/fdfind"), find: undefined });
  expect(detectEngines(dir.at("first"), dir.at("ws")).rg).toBeUndefined();
  expect(detectEngines(dir.at("ws/bin"), dir.at("ws"))).toEqual({
    ...{ rg: undefined, fd: undefined, find: undefined },
    inside: ["rg"],
  });
});

test("where the workspace holds the system, its programs serve, and no others; not where a repository begins at its root", async () => {
  await using dir = await tempDir({ "bin/rg": "#!/bin/sh\n" });
  chmodSync(dir.at("bin/rg"), 0o755);
  const system = detectEngines("/usr/bin:/bin", "/nonexistent");
  expect(system.rg).toBeDefined();
  if (existsSync("/.git")) expect(detectEngines("/usr/bin:/bin", "/").rg).toBeUndefined();
  else expect(detectEngines("/usr/bin:/bin", "/")).toEqual(system);
  expect(detectEngines("/usr/bin", "/usr").rg).toBe(system.rg);
  expect(detectEngines(dir.at("bin"), "/")).toMatchObject({ rg: undefined, inside: ["rg"] });
  expect(detectEngines(dir.at("bin"), dir.path)).toMatchObject({ rg: undefined, inside: ["rg"] });
  mkdirSync(dir.at("linked"));
  symlinkSync(system.rg ?? "", dir.at("linked/rg"));
  expect(detectEngines(dir.at("linked"), "/")).toMatchObject({ rg: undefined, inside: ["rg"] });
});
