import { expect, test } from "bun:test";
import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { acquireLock, isLocked, lockHolder, sweepLocks } from "../../src/session/lock.ts";
import { canUnshare } from "../support/namespaces.ts";
import { tempDir } from "../support/temp.ts";

const ID = "session-20260101-000000-abcd";
const lockModule = JSON.stringify(new URL("../../src/session/lock.ts", import.meta.url).pathname);

/** Runs a program against the lock module in another process. */
function child(code: string): Bun.Subprocess<"pipe", "pipe", "inherit"> {
  return Bun.spawn([process.execPath, "-e", `const { acquireLock } = await import(${lockModule}); ${code}`], {
    stdin: "pipe",
    stdout: "pipe",
  });
}

test("a second writer is refused and told who holds the session", async () => {
  await using temp = await tempDir();
  const lock = acquireLock(temp.path, ID, () => new Date("2026-01-01T00:00:00.000Z"));
  expect(() => acquireLock(temp.path, ID)).toThrow(`process ${process.pid}, since 2026-01-01T00:00:00.000Z`);
  expect(lockHolder(temp.path, ID)?.pid).toBe(process.pid);
  lock.release();
  lock.release();
  expect(readdirSync(temp.path)).toEqual([]);
});

test("a lock survives its neighbour's refusal, and is free after a kill", async () => {
  await using temp = await tempDir();
  const holder = child(`acquireLock(${JSON.stringify(temp.path)}, "${ID}"); console.log("held"); await new Promise(() => {});`);
  await holder.stdout.getReader().read();
  expect(() => acquireLock(temp.path, ID)).toThrow(`process ${holder.pid}`);
  holder.kill(9);
  await holder.exited;
  acquireLock(temp.path, ID).release();
  expect(readdirSync(temp.path)).toEqual([]);
});

const stale: readonly (readonly [string, object])[] = [
  ["process gone", { pid: 4_194_303, start: "x", host: hostname() }],
  ["pid reused by another process", { pid: process.ppid, start: "another boot:1", host: hostname() }],
];
for (const [what, holder] of stale) {
  test(`a stale lock is taken over: ${what}`, async () => {
    await using temp = await tempDir();
    writeFileSync(temp.at(`${ID}.lock`), JSON.stringify({ since: "2026-01-01T00:00:00.000Z", nonce: "ab", ...holder }));
    expect(isLocked(temp.path, ID)).toBe(false);
    const lock = acquireLock(temp.path, ID);
    expect(lockHolder(temp.path, ID)?.pid).toBe(process.pid);
    lock.release();
    expect(readdirSync(temp.path)).toEqual([]);
  });
}

test("a lock of another machine is respected, and the message names the file", async () => {
  await using temp = await tempDir();
  const text = JSON.stringify({ pid: 1, start: "", host: "elsewhere.invalid", since: "2026-01-01T00:00:00.000Z", nonce: "ab" });
  writeFileSync(temp.at(`${ID}.lock`), text);
  expect(() => acquireLock(temp.path, ID)).toThrow(temp.at(`${ID}.lock`));
  expect(readFileSync(temp.at(`${ID}.lock`), "utf8")).toBe(text);
});

test("a lock of another pid namespace is respected while this boot lasts: its number means somebody else here", async () => {
  await using temp = await tempDir();
  const own = acquireLock(temp.path, ID);
  const { start, space } = JSON.parse(readFileSync(temp.at(`${ID}.lock`), "utf8"));
  own.release();
  expect(space).toStartWith("pid:");
  const inside = { pid: 4_194_303, start, host: hostname(), space: "pid:[1]", since: "2026-01-01T00:00:00.000Z", nonce: "ab" };
  writeFileSync(temp.at(`${ID}.lock`), JSON.stringify(inside));
  expect(() => acquireLock(temp.path, ID)).toThrow("another container or sandbox");
  writeFileSync(temp.at(`${ID}.lock`), JSON.stringify({ ...inside, start: "another boot:1" }));
  acquireLock(temp.path, ID).release();
});

const unshared = test.skipIf(!canUnshare("-p", "-f"));
unshared("with the /proc of another pid namespace a living holder is still seen, and a dead one too", async () => {
  await using temp = await tempDir();
  const place = JSON.stringify(temp.path);
  const code = `
    const { acquireLock, isLocked } = await import(${lockModule});
    if (process.argv[1] === "inner") { acquireLock(${place}, "${ID}"); console.log("held"); process.stdin.resume(); }
    else {
      const inner = Bun.spawn([process.execPath, "-e", process.env.CODE, "inner"], { stdin: "pipe", stdout: "pipe" });
      await inner.stdout.getReader().read();
      const held = isLocked(${place}, "${ID}");
      inner.kill(9);
      await inner.exited;
      console.log(held, isLocked(${place}, "${ID}"));
    }`;
  const options = { env: { ...process.env, CODE: code }, stdout: "pipe" } as const;
  const outer = Bun.spawn(["unshare", "-p", "-f", process.execPath, "-e", code, "outer"], options);
  expect(await new Response(outer.stdout).text()).toBe("true false\n");
});

test("a guard left by a taker that died does not block the next one", async () => {
  await using temp = await tempDir();
  const dead = { pid: 4_194_303, start: "x", host: hostname(), since: "2026-01-01T00:00:00.000Z" };
  writeFileSync(temp.at(`${ID}.lock`), JSON.stringify({ ...dead, nonce: "aa" }));
  writeFileSync(temp.at(`${ID}.lock.takeover-aa`), JSON.stringify({ ...dead, nonce: "bb" }));
  acquireLock(temp.path, ID).release();
  expect(readdirSync(temp.path)).toEqual([]);
});

test("sweeping takes away locks of sessions that never were and old half-made ones, and nothing a live process holds", async () => {
  await using temp = await tempDir();
  const dead = { pid: 4_194_303, start: "x", host: hostname(), since: "2026-01-01T00:00:00.000Z", nonce: "ab" };
  const held = acquireLock(temp.path, "session-20260101-000000-aaaa");
  await temp.write({
    "session-20260101-000000-bbbb.lock": JSON.stringify(dead),
    "session-20260101-000000-cccc.lock": JSON.stringify(dead),
    "session-20260101-000000-cccc.jsonl": "",
    "session-20260101-000000-dddd.lock.0123456789abcdef": "",
    "session-20260101-000000-eeee.lock.0123456789abcdef": "",
    "session-20260101-000000-eeee.lock.takeover-ab": "",
    "yarn.lock": "",
    "yarn.lock.old": "",
  });
  const longAgo = new Date(Date.now() - 3_600_000);
  for (const name of [
    "yarn.lock",
    "yarn.lock.old",
    "session-20260101-000000-eeee.lock.0123456789abcdef",
    "session-20260101-000000-eeee.lock.takeover-ab",
  ])
    utimesSync(temp.at(name), longAgo, longAgo);
  sweepLocks(temp.at("missing"));
  sweepLocks(temp.path);
  expect(readdirSync(temp.path).sort()).toEqual(
    [
      "yarn.lock",
      "yarn.lock.old",
      "session-20260101-000000-cccc.jsonl",
      "session-20260101-000000-cccc.lock",
      "session-20260101-000000-aaaa.lock",
      "session-20260101-000000-dddd.lock.0123456789abcdef",
    ].sort(),
  );
  held.release();
});

test("of many takers of one stale lock exactly one wins, every time", async () => {
  await using temp = await tempDir();
  const dir = JSON.stringify(temp.path);
  // Each round both processes start from the same stale lock; a winner holds until the round is over.
  const code = `
    const { writeFileSync } = await import("node:fs");
    for await (const round of console) {
      let won = 0, lock;
      try { lock = acquireLock(${dir}, "${ID}-" + round); won = 1; } catch {}
      console.log(won);
      globalThis.held = lock;
    }`;
  const takers = Array.from({ length: 4 }, () => child(code));
  const readers = takers.map((taker) => taker.stdout.getReader());
  for (let round = 0; round < 40; round++) {
    const holder = { pid: 4_194_303, start: "x", host: hostname(), since: "2026-01-01T00:00:00.000Z", nonce: "ab" };
    writeFileSync(temp.at(`${ID}-${round}.lock`), JSON.stringify(holder));
    for (const taker of takers) {
      taker.stdin.write(`${round}\n`);
      taker.stdin.flush();
    }
    const answers = await Promise.all(
      readers.map(async (reader) => new TextDecoder().decode((await reader.read()).value).trim()),
    );
    expect(answers.filter((answer) => answer === "1")).toHaveLength(1);
  }
  for (const taker of takers) taker.kill(9);
  await Promise.all(takers.map((taker) => taker.exited));
});
