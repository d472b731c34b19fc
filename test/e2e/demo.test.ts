/** `bun run demo` on a bare machine: no key, no home, no search programs. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { root } from "../support/source-tree.ts";
import { tempDir } from "../support/temp.ts";

test("the demo fails the tests first, repairs the project, passes them", async () => {
  await using home = await tempDir();
  const child = Bun.spawn([process.execPath, join(root, "scripts", "demo.ts")], {
    cwd: home.path,
    env: { HOME: home.path, PATH: home.path, NO_COLOR: "1" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("All four tests pass now.");
  // The session the demo looks back on is the one it has just had.
  expect(stdout).toMatch(/src\/money\.ts[^\n]*src\/invoice\.ts|src\/invoice\.ts[^\n]*src\/money\.ts/);
  // The last tests are run by the demo itself, outside thndrs.
  expect(stderr).toContain("4 pass");
  expect(stderr).toContain("0 fail");
});
