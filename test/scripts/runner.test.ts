/** `bun run test` itself: it must not be able to call a failure a success. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { tally } from "../../scripts/test.ts";
import { root } from "../support/source-tree.ts";

async function runSuite(...paths: string[]): Promise<{ code: number; last: string; output: string }> {
  const files = paths.map((path) => `./test/fixtures/runner/${path}.ts`);
  const child = Bun.spawn([process.execPath, join(root, "scripts", "test.ts"), ...files], {
    cwd: root,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, last: stdout.trimEnd().split("\n").at(-1) ?? "", output: stdout + stderr };
}

test("counts every test case of a report, whatever its headers say", () => {
  const report = `<testsuites tests="99" failures="0"><testsuite file="a.test.ts">
    <testcase name="one" file="a.test.ts" />
    <testcase name="two &gt; &quot;x&quot; &#10;" file="a.test.ts"><failure message="&lt;skipped /&gt;">x</failure></testcase>
    <testsuite name="group"><testcase name="three" classname="group" file="a.test.ts"><skipped /></testcase></testsuite>
    <testcase name="four" file="a.test.ts"></testcase>
  </testsuite></testsuites>`;
  expect(tally(report)).toEqual({ passed: 2, failed: 1, skipped: 1, failures: ['a.test.ts > two > "x" \n'] });
});

test("passing, failing and skipped tests: counts, names of the failures, exit 1", async () => {
  const { code, last, output } = await runSuite("mixed");
  expect(last).toBe("1 passed, 1 failed, 1 skipped");
  expect(code).toBe(1);
  expect(output).toContain("FAILED test/fixtures/runner/mixed.ts > does not hold");
});

test("an error outside the tests is a failure", async () => {
  const { code, last } = await runSuite("broken");
  expect(last).toMatch(/^\d+ passed, [1-9]\d* failed/);
  expect(code).toBe(1);
});

test("no test at all is a failure", async () => {
  const { code, last } = await runSuite("nothing");
  expect(last).toBe("0 passed, 1 failed");
  expect(code).toBe(1);
});
