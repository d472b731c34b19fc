/**
 * `bun run test [bun test arguments]`: install, build, every test file over all cores, then one closing line
 * `N passed, N failed[, N skipped]` counted from the runner's own report. Refuses: calling a run without tests a success.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "./build.ts";
import { args, install, root, run } from "./steps.ts";

type Tally = { passed: number; failed: number; skipped: number; readonly failures: string[] };

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function decode(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, dec, name) => {
    if (hex) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (dec) return String.fromCodePoint(Number(dec));
    return ENTITIES[name] ?? whole;
  });
}

function attribute(tag: string, name: string): string {
  return decode(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? "");
}

/** Counts the `<testcase>` elements of a JUnit report one by one: sums in its headers are not trusted. */
export function tally(report: string): Tally {
  const count: Tally = { passed: 0, failed: 0, skipped: 0, failures: [] };
  for (const [, tag = "", selfClosed, body = ""] of report.matchAll(
    /<testcase((?:\s[\w:-]+="[^"]*")*)\s*(?:(\/)>|>([\s\S]*?)<\/testcase>)/g,
  )) {
    if (selfClosed || !/<(failure|error|skipped)\b/.test(body)) count.passed++;
    else if (/<skipped\b/.test(body)) count.skipped++;
    else {
      count.failed++;
      const where = [attribute(tag, "file"), attribute(tag, "classname"), attribute(tag, "name")];
      count.failures.push(where.filter((part, at) => part !== "" && where.indexOf(part) === at).join(" > "));
    }
  }
  return count;
}

/** Runs the suite and prints its closing lines; returns the exit code. */
async function test(): Promise<number> {
  const work = await mkdtemp(join(tmpdir(), "thndrs-test-"));
  try {
    const report = join(work, "report.xml");
    const flags = [
      "--parallel",
      "--timeout=30000",
      "--only-failures",
      "--no-orphans",
      "--reporter=junit",
      `--reporter-outfile=${report}`,
    ];
    const code = await run([process.execPath, "test", ...flags, ...args], { env: { ...process.env, FORCE_COLOR: undefined } });
    const text = await Bun.file(report)
      .text()
      .catch(() => "");
    const count = tally(text);
    for (const failure of count.failures) console.log(`FAILED ${failure}`);
    if (count.failed === 0 && code !== 0) {
      console.log(`FAILED bun test ended with ${code} although no single test failed: an error outside the tests, or a crash`);
      count.failed = 1;
    }
    if (count.passed + count.failed === 0) {
      console.log("FAILED no test ran");
      count.failed = 1;
    }
    console.log(`${count.passed} passed, ${count.failed} failed${count.skipped > 0 ? `, ${count.skipped} skipped` : ""}`);
    return count.failed > 0 ? 1 : code;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  process.chdir(root);
  try {
    await install();
    await build();
    process.exitCode = await test();
  } catch (error) {
    console.error(error);
    console.log("0 passed, 1 failed");
    process.exitCode = 1;
  }
}
