import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { summarize } from "../../src/session/list.ts";
import { newSessionId, openSessionLog, type SessionLog } from "../../src/session/log.ts";
import { directoryProblem } from "../../src/session/log-directory.ts";
import { newTally, readRecords } from "../../src/session/read.ts";
import { createClassifier } from "../../src/session/record-schemas.ts";
import { tempDir } from "../support/temp.ts";
import { line, SAMPLES } from "./samples.ts";

const never = (message: string): void => {
  throw new Error(`broken: ${message}`);
};

async function open(dir: string, extra: Partial<Parameters<typeof openSessionLog>[0]> = {}): Promise<SessionLog> {
  return openSessionLog({ dir, onBroken: never, ...extra });
}

const linesOf = (path: string): string[] => readFileSync(path, "utf8").split("\n").slice(0, -1);

test("session ids carry the UTC time and do not meet within a second", () => {
  const date = new Date("2026-01-02T03:04:05.678Z");
  const ids = new Set(Array.from({ length: 50 }, () => newSessionId(date)));
  for (const id of ids) expect(id).toMatch(/^session-20260102-030405-[0-9a-z]{4}$/);
  expect(ids.size).toBeGreaterThan(45);
});

test("every record type round-trips through the log and its schema", async () => {
  await using temp = await tempDir();
  const log = await open(temp.at("sessions"));
  const samples = Object.values(SAMPLES);
  for (const record of samples) expect(log.append(record)).toBe(true);
  log.close();
  const tally = newTally();
  const read = (await Array.fromAsync(readRecords(log.path, tally))).flat();
  expect(read.every((one) => one.known)).toBe(true);
  expect(read.map(({ record: { schema_version, seq, time, ...record } }) => record)).toEqual(samples.map((one) => ({ ...one })));
  expect(read.map((one) => one.record.seq)).toEqual(samples.map((_, index) => index));
  expect(tally).toEqual({ records: samples.length, malformed: 0, nulBlocks: 0, oversized: 0, foreign: 0 });
});

test("a record missing any of its fields is malformed", () => {
  const classify = createClassifier();
  const optional = new Set([
    "turn_id context",
    "request",
    "partial",
    "mcp",
    "cost_usd",
    "usage",
    "agent_info",
    "option_id",
    "after_hash",
    "after_bytes",
    "input_tokens",
    "output_tokens",
  ]);
  for (const record of Object.values(SAMPLES)) {
    for (const field of Object.keys(record)) {
      if (field === "type" || optional.has(field) || optional.has(`${field} ${record.type}`)) continue;
      const { [field]: _, ...rest } = record as Record<string, unknown>;
      expect([record.type, field, classify(JSON.parse(line(0, rest)))]).toEqual([record.type, field, undefined]);
    }
  }
});

test("J19 directory 0700, file 0600, .gitignore, whatever the umask", async () => {
  await using temp = await tempDir();
  const before = process.umask(0);
  try {
    const log = await open(temp.at("ws", ".thndrs", "sessions"));
    expect(statSync(temp.at("ws", ".thndrs", "sessions")).mode & 0o777).toBe(0o700);
    expect(statSync(log.path).mode & 0o777).toBe(0o600);
    expect(statSync(log.path.replace(".jsonl", ".lock")).mode & 0o777).toBe(0o600);
    expect(readFileSync(temp.at("ws", ".thndrs", "sessions", ".gitignore"), "utf8")).toBe("*\n");
    log.close();
  } finally {
    process.umask(before);
  }
});

test("a directory of the user's own gets no .gitignore and keeps its mode", async () => {
  await using temp = await tempDir({ "mine/notes.txt": "x" });
  const mode = statSync(temp.at("mine")).mode;
  (await open(temp.at("mine"))).close();
  expect(readdirSync(temp.at("mine"))).not.toContain(".gitignore");
  expect(statSync(temp.at("mine")).mode).toBe(mode);
});

test("seq goes on after the highest valid one; a torn tail is closed, not glued to and not removed", async () => {
  await using temp = await tempDir();
  const id = "session-20260101-000000-abcd";
  const torn = line(3, SAMPLES.user).slice(0, 40);
  await temp.write({
    [`${id}.jsonl`]: `${line(0, SAMPLES.session_meta)}\n${line(2, SAMPLES.user)}\n${line(1, SAMPLES.user)}\n${torn}`,
  });
  const log = await open(temp.path, { id, resume: true });
  expect(log.lastSeq).toBe(2);
  log.append(SAMPLES.assistant_finished);
  log.close();
  const lines = linesOf(log.path);
  expect(lines[3]).toBe(torn);
  expect(JSON.parse(lines[4] ?? "")).toMatchObject({ seq: 3, type: "assistant_finished" });
});

test("a seq at the end of what numbers can hold does not make later records unreadable", async () => {
  await using temp = await tempDir();
  const id = "session-20260101-000000-abcd";
  await temp.write({ [`${id}.jsonl`]: `${line(4, SAMPLES.user)}\n${line(Number.MAX_SAFE_INTEGER, SAMPLES.user)}\n` });
  const log = await open(temp.path, { id, resume: true });
  expect(log.append(SAMPLES.assistant_finished)).toBe(true);
  log.close();
  const read = (await Array.fromAsync(readRecords(log.path, newTally()))).flat();
  expect(read.map((one) => one.record.seq)).toEqual([4, 5, Number.MAX_SAFE_INTEGER]);
});

test("the highest seq is found behind a hole longer than any record, which is never held whole", async () => {
  const id = "session-20260101-000000-aaaa";
  await using temp = await tempDir({ [`sessions/${id}.jsonl`]: `${line(0, SAMPLES.session_meta)}\n${line(7, SAMPLES.user)}\n` });
  truncateSync(temp.at(`sessions/${id}.jsonl`), 100 * 1024 * 1024);
  const log = await open(temp.at("sessions"), { id, resume: true });
  expect(log.lastSeq).toBe(7);
  log.close();
});

test("an object inside of a last line longer than the window is no record", async () => {
  await using temp = await tempDir();
  const id = "session-20260101-000000-abcd";
  const rows = Array.from({ length: 400 }, () => ({ ...JSON.parse(line(3, SAMPLES.user)), pad: "x".repeat(1000) }));
  const call = line(33, { ...SAMPLES.tool_started, arguments: { rows } });
  await temp.write({ [`${id}.jsonl`]: `${line(32, SAMPLES.user)}\n${call}\n` });
  const log = await open(temp.path, { id, resume: true });
  expect(log.lastSeq).toBe(33);
  log.close();
});

test("of a line with two numbers the one that readers see counts", async () => {
  const id = "session-20260101-000000-abcd";
  const second =
    '{"seq":9,"schema_version":1,"time":"2026-01-01T00:00:00.000Z","type":"user","turn_id":"turn-2","text":"second"}';
  for (const [last, seq] of [
    [`${line(5, SAMPLES.user).slice(0, -1)},"seq":50}`, 50],
    [line(4, SAMPLES.user) + second, 9],
    [line(4, { ...SAMPLES.user, text: '"seq":70, {"schema_version":1,"seq":71}' }), 4],
  ] as const) {
    await using temp = await tempDir();
    await temp.write({ [`${id}.jsonl`]: `${line(3, SAMPLES.user)}\n${last}\n` });
    const log = await open(temp.path, { id, resume: true });
    expect([last, log.lastSeq]).toEqual([last, seq]);
    log.close();
  }
});

test("the highest seq is found behind a tail of damaged lines", async () => {
  await using temp = await tempDir();
  const id = "session-20260101-000000-abcd";
  await temp.write({ [`${id}.jsonl`]: `${line(7, SAMPLES.user)}\n${`{"bad${"x".repeat(1000)}\n`.repeat(3000)}` });
  const log = await open(temp.path, { id, resume: true });
  expect(log.lastSeq).toBe(7);
  log.close();
});

test("U+2028 and U+2029 are escaped, lone surrogates become U+FFFD, in values and keys", async () => {
  await using temp = await tempDir();
  const log = await open(temp.at("s"));
  log.append({ type: "user", turn_id: "t", text: "a\u2028b\u2029c \\u2028 \ud82d!" });
  log.append({ ...SAMPLES.tool_started, type: "tool_started", arguments: { "k\udc00": ["\ud800", "😀"] } });
  log.close();
  const text = readFileSync(log.path, "utf8");
  expect(/[\u2028\u2029]/.test(text)).toBe(false);
  expect(/\\ud[89a-f]/.test(text)).toBe(false);
  const [first, second] = linesOf(log.path).map((one) => JSON.parse(one));
  expect(first.text).toBe("a\u2028b\u2029c \\u2028 \ufffd!");
  expect(second.arguments).toEqual({ "k\ufffd": ["\ufffd", "😀"] });
});

test("J15 a clock that goes backwards leaves seq in charge", async () => {
  await using temp = await tempDir();
  const times = ["2026-01-02T00:00:00.000Z", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.000Z"];
  let at = 0;
  const log = await open(temp.at("s"), {
    id: "session-20260102-000000-aaaa",
    now: () => new Date(times[Math.max(0, at++ - 1)] ?? 0),
  });
  log.append(SAMPLES.user);
  log.append(SAMPLES.assistant_finished);
  log.close();
  const read = (await Array.fromAsync(readRecords(log.path, newTally()))).flat();
  expect(read.map((one) => one.record.type)).toEqual(["user", "assistant_finished"]);
});

test("a directory that can be none is known before anything is made of it", async () => {
  await using temp = await tempDir({ file: "not a directory", "there/x": "" });
  symlinkSync("nowhere", temp.at("dangling"));
  symlinkSync("there", temp.at("link"));
  const none = "it is no directory";
  for (const [path, problem] of [
    ["there", undefined],
    ["link", undefined],
    ["there/new/deep", undefined],
    ["file", none],
    ["file/below", `it cannot be made: ${temp.at("file")} is no directory`],
    ["dangling", "it is a link that leads nowhere"],
  ] as const)
    expect([path, directoryProblem(temp.at(path))]).toEqual([path, problem]);
  expect(readdirSync(temp.path).sort()).toEqual(["dangling", "file", "link", "there"]);
  expect(readdirSync(temp.at("there"))).toEqual(["x"]);
});

test.skipIf(process.platform !== "linux")("a place where nobody can make a directory is known, root included", () => {
  for (const path of ["/proc/sessions", "/sys/sessions"])
    expect(directoryProblem(path)).toBe("it cannot be made: permission denied");
});

test("a log that cannot be written says so once and lets the run go on", async () => {
  await using temp = await tempDir({ file: "not a directory" });
  const told: string[] = [];
  const reasons: string[] = [];
  const onBroken = (message: string, why: string): void => {
    told.push(message);
    reasons.push(why);
  };
  const log = await open(temp.at("file", "sessions"), { onBroken });
  expect(log.healthy).toBe(false);
  expect(log.append(SAMPLES.user)).toBe(false);
  log.sync();
  log.close();
  log.close();
  expect(told).toHaveLength(1);
  expect(told[0]).toContain(temp.at("file", "sessions"));
  expect(told).toEqual([`This session is not being saved from here on: ${reasons[0]}.`]);
});

test("J13 a session file that is a link is not opened", async () => {
  await using temp = await tempDir({ "outside.jsonl": `${line(0, SAMPLES.user)}\n` });
  mkdirSync(temp.at("s"));
  symlinkSync(temp.at("outside.jsonl"), temp.at("s", "session-1.jsonl"));
  expect(open(temp.at("s"), { id: "session-1", resume: true })).rejects.toThrow("No such session");
  expect(readFileSync(temp.at("outside.jsonl"), "utf8").split("\n")).toHaveLength(2);
});

test("J13 a directory that links out of its bounds is not written through; one inside is", async () => {
  await using temp = await tempDir({ "ws/data/x": "", "outside/x": "" });
  mkdirSync(temp.at("ws", ".thndrs"));
  for (const [target, kept] of [
    ["../../outside", false],
    ["../../nowhere", false],
    ["../data", true],
  ] as const) {
    const dir = temp.at("ws", ".thndrs", "sessions");
    symlinkSync(target, dir);
    const told: string[] = [];
    const log = await open(dir, { within: temp.at("ws"), onBroken: (message) => void told.push(message) });
    expect([target, log.healthy, told.length]).toEqual([target, kept, kept ? 0 : 1]);
    log.close();
    unlinkSync(dir);
  }
  expect(readdirSync(temp.path).sort()).toEqual(["outside", "ws"]);
  expect(readdirSync(temp.at("outside"))).toEqual(["x"]);
});

test("an existing session is never overwritten by a new one", async () => {
  await using temp = await tempDir();
  writeFileSync(join(temp.path, "session-1.jsonl"), "x");
  expect(open(temp.path, { id: "session-1" })).rejects.toThrow("exists already");
  expect(readdirSync(temp.path)).toEqual(["session-1.jsonl"]);
});

test("a title of an earlier run is repeated on close, however wide its characters and what follows", async () => {
  await using temp = await tempDir();
  const first = await open(temp.at("s"));
  first.append({ type: "session_renamed", title: "题目" });
  first.append({ type: "user", turn_id: "t", text: "北".repeat(4000) });
  first.close();
  const titles = () => linesOf(first.path).map((text) => JSON.parse(text).title);
  expect(titles()).toEqual(["题目", undefined, "题目"]);
  for (const run of [1, 2]) {
    const again = await open(temp.at("s"), { id: first.id, resume: true });
    again.append({ type: "assistant_finished", turn_id: "t", text: `${run}${"x".repeat(6000)}` });
    again.close();
  }
  expect(titles().slice(3)).toEqual([undefined, undefined, "题目"]);
  expect(summarize(temp.at("s"), first.id)?.title).toBe("题目");
  const third = await open(temp.at("s"), { id: first.id, resume: true });
  third.append({ type: "session_renamed", title: "other" });
  third.close();
  expect(titles().slice(6)).toEqual(["other"]);
});

test("a title given early is repeated on close, where listings look", async () => {
  await using temp = await tempDir();
  const log = await open(temp.at("s"));
  log.append({ type: "session_renamed", title: "mine" });
  for (let i = 0; i < 40; i++) log.append({ type: "user", turn_id: "t", text: "x".repeat(500) });
  log.close();
  expect(JSON.parse(linesOf(log.path).at(-1) ?? "")).toMatchObject({ type: "session_renamed", title: "mine", seq: 41 });
});
