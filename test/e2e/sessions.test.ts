/** The sessions log and its commands through the binary: secrets, modes, odd places, full disks, closed pipes. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModel, TEST_KEY } from "../support/model.ts";
import { Terminal } from "../support/pty.ts";
import { runThndrs, startThndrs } from "../support/run.ts";
import { giveTo, tempDir } from "../support/temp.ts";

function logText(dir: string): string {
  return readdirSync(dir)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => readFileSync(join(dir, name), "utf8"))
    .join("");
}

const shell = (...argv: string[]) => ({ name: "run_shell", arguments: { argv } });

test("J09 J10 secrets from files, arguments, prompts and errors are in no log, inspect or export", async () => {
  const secrets = {
    provider: "sk-proj-aB3dE5gH7jK9mN1pQ4sT6vW8",
    aws: "AKIAABCDEFGHIJKLMNOP",
    github: `ghp_${"aB3dE5gH7j".repeat(4)}`,
    pem: "MIIEowIBAAKCAQEAaB3dE5gH7jK9mN1pQ4sT6vW8xYz0",
    url: "hunter2hunter",
    prompt: "sk-ant-api03-zY8xW6vT4sQ1pN9mK7jH5gE3",
    header: "sk-test-AAAABBBBCCCC1111",
  };
  await using dir = await tempDir({
    ".env": [
      `OPENAI_API_KEY=${secrets.provider}`,
      `AWS_ACCESS_KEY_ID=${secrets.aws}`,
      `GITHUB_TOKEN=${secrets.github}`,
      `DATABASE_URL=postgres://app:${secrets.url}@db/x`,
      `KEY="-----BEGIN PRIVATE KEY-----\n${secrets.pem}\n-----END PRIVATE KEY-----"`,
      "COMMIT=9fceb02d0ae598e95dc970b74767f19372d61af8",
    ].join("\n"),
  });
  await using model = await startModel([
    { calls: [shell("cat", ".env"), shell("echo", "-H", `Authorization: Bearer ${secrets.header}`)] },
    { text: `your key is ${secrets.provider}, mine is ${TEST_KEY}` },
  ]);
  await runThndrs({ args: ["-p", `use ${secrets.prompt}`], cwd: dir.path, env: model.env });
  const seen = [logText(dir.at(".thndrs", "sessions"))];
  for (const args of [
    ["inspect", "latest"],
    ["inspect", "latest", "--format", "text"],
    ["export", "latest", "--format", "html"],
    ["list"],
    ["show", "latest"],
  ]) {
    const { code, stdout } = await runThndrs({ args: ["sessions", ...args], cwd: dir.path });
    expect(code).toBe(0);
    seen.push(stdout);
  }
  for (const text of seen) for (const secret of [...Object.values(secrets), TEST_KEY]) expect(text).not.toContain(secret);
  for (const kind of ["provider_key", "aws_key", "github_token", "url_password", "pem"])
    expect(seen[0]).toContain(`[redacted:${kind}]`);
  expect(seen[0]).toContain("9fceb02d0ae598e95dc970b74767f19372d61af8");
  for (const line of (seen[0] ?? "").trimEnd().split("\n")) JSON.parse(line);
});

test("J19 with umask 022 and 000 the directory is 700, the files 600", async () => {
  for (const mask of ["022", "000"]) {
    await using dir = await tempDir();
    await using model = await startModel([{ text: "ok" }]);
    const { binary } = await import("../support/launch.ts");
    const command = ["sh", "-c", `umask ${mask}; exec "$0" "$@"`, binary];
    expect((await runThndrs({ command, args: ["-p", "hi"], cwd: dir.path, env: model.env })).code).toBe(0);
    const sessions = dir.at(".thndrs", "sessions");
    expect(statSync(sessions).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(sessions)) expect([name, statSync(join(sessions, name)).mode & 0o777]).toEqual([name, 0o600]);
    expect(readFileSync(join(sessions, ".gitignore"), "utf8")).toBe("*\n");
    expect(readdirSync(sessions).filter((name) => name.includes(".lock"))).toEqual([]);
  }
});

test("J14 a workspace with spaces, quotes and non-ASCII letters", async () => {
  await using dir = await tempDir();
  const cwd = dir.at("a b'c", 'é"$x');
  mkdirSync(cwd, { recursive: true });
  await using model = await startModel([{ text: "one" }, { text: "two" }]);
  await runThndrs({ args: ["-p", "hi"], cwd, env: model.env });
  expect(await runThndrs({ args: ["-c", "-p", "again"], cwd, env: model.env })).toMatchObject({ code: 0, stdout: "two\n" });
  expect((await runThndrs({ args: ["sessions", "list"], cwd })).stdout.trimEnd().split("\n")).toHaveLength(1);
});

const LOST = "warning: This session is not being saved from here on";

for (const target of ["../outside", "../missing"]) {
  test(`J13 a sessions directory that leads out of the workspace (${target}) is not written through`, async () => {
    await using dir = await tempDir({ "ws/.git/HEAD": "ref: refs/heads/main\n", "outside/notes.txt": "x" });
    mkdirSync(dir.at("ws", ".thndrs"));
    symlinkSync(join("..", target), dir.at("ws", ".thndrs", "sessions"));
    await using model = await startModel([{ text: "answer" }]);
    const result = await runThndrs({ args: ["-p", "hi"], cwd: dir.at("ws"), env: model.env });
    expect(result).toMatchObject({ code: 0, stdout: "answer\n" });
    expect(result.stderr).toContain("not being saved");
    expect(readdirSync(dir.path).sort()).toEqual(["outside", "ws"]);
    expect(readdirSync(dir.at("outside"))).toEqual(["notes.txt"]);
  });
}

for (const promised of [false, true]) {
  test(`J14 a read-only sessions directory: one warning, the run goes on, exit ${promised ? "1 where the log was promised" : "0"}`, async () => {
    await using dir = await tempDir();
    mkdirSync(dir.at("ro"));
    giveTo(dir.path, 65534);
    chmodSync(dir.at("ro"), 0o555);
    await using model = await startModel([{ text: "answer" }]);
    const args = [...(promised ? ["--session-dir", dir.at("ro")] : []), "-p", "hi", "--output-format", "json"];
    const env = promised ? model.env : { ...model.env, THNDRS_SESSION_DIR: dir.at("ro") };
    const result = await runThndrs({ args, cwd: dir.path, env, user: "nobody" });
    expect(JSON.parse(result.stdout)).toMatchObject({ text: "answer", exit_code: promised ? 1 : 0 });
    expect(result.code).toBe(promised ? 1 : 0);
    expect(result.stderr.split(LOST)).toHaveLength(2);
    chmodSync(dir.at("ro"), 0o755);
    expect(readdirSync(dir.at("ro"))).toEqual([]);
  });
}

test("J14 --continue in a directory that became read-only: the conversation is there, one warning, exit 1, no byte changed", async () => {
  await using dir = await tempDir();
  giveTo(dir.path, 65534);
  await using model = await startModel([{ text: "one" }, { text: "two" }]);
  const options = { cwd: dir.path, env: model.env, user: "nobody" } as const;
  await runThndrs({ ...options, args: ["-p", "first words"] });
  const sessions = dir.at(".thndrs", "sessions");
  const before = logText(sessions);
  chmodSync(sessions, 0o555);
  const result = await runThndrs({ ...options, args: ["-c", "-p", "second", "--output-format", "json"] });
  chmodSync(sessions, 0o700);
  expect(result.code).toBe(1);
  expect(JSON.parse(result.stdout)).toMatchObject({ text: "two", status: "failed" });
  expect(result.stderr.split(LOST)).toHaveLength(2);
  expect(model.server.requests[1]?.raw).toContain("first words");
  expect(logText(sessions)).toBe(before);
});

test("J18 the disk fills up in the middle of a run: one warning, no glued record, exit 1 where the log was promised", async () => {
  await using dir = await tempDir();
  mkdirSync(dir.at("small"));
  const mounted =
    process.getuid?.() === 0 &&
    spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k,mode=777", "tmpfs", dir.at("small")]).status === 0;
  // Without the right to mount, a file size limit stands in for the full disk.
  const { binary } = await import("../support/launch.ts");
  const limited = ["sh", "-c", 'trap "" XFSZ; ulimit -f 40; exec "$0" "$@"', binary];
  try {
    const chatty = (index: number) => shell("sh", "-c", `echo ${index}; yes 'some words of output' | head -c 6000`);
    const steps = Array.from({ length: 30 }, (_, index) => ({ calls: [chatty(index)] }));
    await using model = await startModel([...steps, { text: "finished" }, { text: "again" }]);
    const args = ["--session-dir", dir.at("small"), "-p", "hi", "--output-format", "json"];
    const options = { args, cwd: dir.path, env: model.env, timeoutMs: 30_000 };
    const result = await runThndrs(mounted ? options : { ...options, command: limited });
    expect(result).toMatchObject({ code: 1, leftovers: [] });
    expect(JSON.parse(result.stdout)).toMatchObject({ text: "finished", status: "failed" });
    expect(result.stderr.split(LOST)).toHaveLength(2);
    const before = logText(dir.at("small"));
    const whole = before.split("\n").slice(0, -1);
    for (const line of whole) JSON.parse(line);
    expect(whole.length).toBeGreaterThan(5);
    expect(readdirSync(dir.at("small")).filter((name) => name.includes(".lock"))).toEqual([]);
    // Room again: what was torn is closed with a newline, nothing is glued to it or taken away.
    if (mounted) spawnSync("mount", ["-o", "remount,size=4m", dir.at("small")]);
    const more = await runThndrs({ ...options, args: ["-c", "--session-dir", dir.at("small"), "-p", "go on"] });
    expect(more).toMatchObject({ code: 0, stdout: "again\n" });
    const after = logText(dir.at("small"));
    expect(after).toStartWith(before);
    const seqs = after.split("\n").flatMap((line) => (whole.includes(line) || !line.endsWith("}") ? [] : [JSON.parse(line).seq]));
    expect(seqs).toEqual(seqs.map((_, index) => whole.length + index));
  } finally {
    if (mounted) spawnSync("umount", [dir.at("small")]);
  }
});

/** Damage done to a real log, what a person is told, and which of its records are lost to it. */
const DAMAGES: readonly (readonly [name: string, damage: (lines: string[]) => string, told: string, lost: readonly number[]])[] =
  [
    [
      "J02 a bad line in the middle",
      (lines) => joined(lines.with(5, '{"schema_version":1,"seq":5,"ty')),
      "1 malformed line",
      [5],
    ],
    [
      "J03 a block of NULs with a newline",
      (lines) => joined(lines.with(4, `${"\0".repeat(400)}\n${lines[4]}`)),
      "1 block of NUL",
      [],
    ],
    ["J03 a block of NULs without one", (lines) => joined(lines.with(4, `${"\0".repeat(400)}${lines[4]}`)), "1 block of NUL", []],
    [
      "J04 two records on one line",
      (lines) => joined([...lines.slice(0, 3), `${lines[3]}${lines[4]}`, ...lines.slice(5)]),
      "",
      [],
    ],
    [
      "J16 a newer schema",
      (lines) => joined(lines.with(1, (lines[1] ?? "").replace('_version":1', '_version":2'))),
      "1 unrecognized record",
      [],
    ],
    ["a torn tail", (lines) => joined(lines).slice(0, -20), "1 malformed line", [-1]],
  ];
const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

for (const [name, damage, told, lost] of DAMAGES) {
  test(`${name}: inspect, export and resume see the rest and say so`, async () => {
    await using dir = await tempDir({ "a.txt": "alpha }{ omega\n" });
    const read = { name: "read_file_range", arguments: { path: "a.txt" } };
    await using model = await startModel([{ text: "looking", calls: [read] }, { text: "seen" }, { text: "again" }]);
    await runThndrs({ args: ["-p", "first"], cwd: dir.path, env: model.env });
    const sessions = dir.at(".thndrs", "sessions");
    const file = join(sessions, readdirSync(sessions).find((one) => one.endsWith(".jsonl")) ?? "");
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    const left = lines.map((_, seq) => seq).filter((seq) => !lost.includes(seq) && !lost.includes(seq - lines.length));
    writeFileSync(file, damage(lines));
    const inspected = await runThndrs({ args: ["sessions", "inspect", "latest"], cwd: dir.path });
    expect(JSON.parse(inspected.stdout).records.map((record: { seq: number }) => record.seq)).toEqual(left);
    const exported = await runThndrs({ args: ["sessions", "export", "latest"], cwd: dir.path });
    expect(
      exported.stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).seq),
    ).toEqual(left);
    const resumed = await runThndrs({ args: ["-c", "-p", "second"], cwd: dir.path, env: model.env });
    expect(resumed).toMatchObject({ code: 0, stdout: "again\n" });
    for (const { stderr } of [inspected, exported, resumed]) expect(stderr).toContain(told);
    expect(model.server.requests.at(-1)?.raw).toContain("second");
  });
}

test("J12 a large session: the head comes at once and a closed pipe ends it quietly", async () => {
  await using dir = await tempDir();
  const id = "session-20260101-000000-aaaa";
  const record = (seq: number, output: string): string =>
    JSON.stringify({
      schema_version: 1,
      seq,
      time: "2026-01-01T00:00:00.000Z",
      type: "tool_finished",
      turn_id: "t",
      call_id: "c",
      status: "ok",
      output,
      truncated: false,
      elapsed_ms: 1,
    });
  mkdirSync(dir.at(".thndrs", "sessions"), { recursive: true });
  const lines = Array.from({ length: 20_000 }, (_, seq) => record(seq, "words ".repeat(300)));
  lines[10_000] = record(10_000, "w ".repeat(10_000_000));
  writeFileSync(dir.at(".thndrs", "sessions", `${id}.jsonl`), `${lines.join("\n")}\n`);
  await using running = await startThndrs({
    args: ["sessions", "inspect", id, "--format", "text"],
    cwd: dir.path,
    timeoutMs: 30_000,
  });
  await running.waitFor(/^ +0 .*tool_finished/m, "stdout");
  running.closeOutput("stdout");
  const { code, stderr, elapsedMs } = await running.exited;
  expect([0, 141]).toContain(code ?? -1);
  expect(stderr).toBe("");
  expect(elapsedMs).toBeLessThan(5_000);
  const whole = await runThndrs({ args: ["sessions", "inspect", id, "--format", "text"], cwd: dir.path, timeoutMs: 60_000 });
  expect(whole.stdout.trimEnd().split("\n")).toHaveLength(20_000);
  await using model = await startModel([{ text: "small answer" }]);
  const resumed = await runThndrs({ args: ["-c", "-p", "go on"], cwd: dir.path, env: model.env, timeoutMs: 30_000 });
  expect(resumed).toMatchObject({ code: 0, stdout: "small answer\n" });
  expect(resumed.elapsedMs).toBeLessThan(10_000);
}, 90_000);

test("T05 on a terminal: no stored control sequence comes out, lists are tables", async () => {
  const evil = "\u001b]52;c;aGk=\u0007\u001b[2J\u001bc\r\b\u009b31m\u202e text";
  await using dir = await tempDir();
  await using model = await startModel([{ text: `said ${evil}`, calls: [shell("echo", evil)] }, { text: "done" }]);
  await runThndrs({ args: ["-p", `text asked ${evil}`], cwd: dir.path, env: model.env });
  for (const args of [
    ["list"],
    ["show", "latest"],
    ["search", "text"],
    ["inspect", "latest", "--format", "text"],
    ["inspect", "latest"],
    ["export", "latest", "--format", "markdown"],
  ]) {
    await using terminal = await Terminal.start({ args: ["sessions", ...args], cwd: dir.path, columns: 100 });
    expect((await terminal.exited).code).toBe(0);
    // Newlines arrive as CR LF from the terminal.
    const raw = terminal.raw().replaceAll("\r\n", "\n");
    expect([args, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/.exec(raw)?.[0]]).toEqual([args, undefined]);
    expect([args, raw.includes("text")]).toEqual([args, true]);
    if (args[0] === "list" || args[0] === "search") expect(raw).toStartWith("ID   ");
  }
});

test("sessions commands need no model and no key; bad usage is exit 2", async () => {
  await using dir = await tempDir();
  expect(await runThndrs({ args: ["sessions", "list"], cwd: dir.path })).toMatchObject({ code: 0, stdout: "" });
  for (const args of [
    ["inspect"],
    ["inspect", "../../../etc/passwd"],
    ["show", "a", "b"],
    ["latest"],
    ["prune"],
    ["rename", "x"],
  ]) {
    const { code, stdout } = await runThndrs({ args: ["sessions", ...args], cwd: dir.path });
    expect([args, code, stdout]).toEqual([args, 2, ""]);
  }
});

test("session_meta and prompt_metadata hold provider and model apart; a pinned file is recorded after them", async () => {
  await using dir = await tempDir({ "notes/a.txt": "x" });
  await using model = await startModel([{ text: "ok" }]);
  await runThndrs({ args: ["--pin", "notes/a.txt", "-p", "hi"], cwd: dir.path, env: model.env });
  const records = logText(dir.at(".thndrs", "sessions"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(records[0]).toMatchObject({ type: "session_meta", provider: "openrouter", model: "mock" });
  expect(records[1]).toMatchObject({ type: "context_pin", item: { kind: "pinned_file", path: "notes/a.txt" } });
  expect(records.find((record) => record.type === "prompt_metadata")).toMatchObject({ provider: "openrouter", model: "mock" });
  expect((await runThndrs({ args: ["usage", "--by", "model"], cwd: dir.path })).stdout).toStartWith("openrouter/mock\t1\t");
  expect((await runThndrs({ args: ["sessions", "list"], cwd: dir.path })).stdout).toContain("\topenrouter/mock\thi\n");
});

test("a replayed run is recorded with the recording as its model", async () => {
  await using dir = await tempDir();
  await using model = await startModel([{ text: "ok" }]);
  await runThndrs({ args: ["--record", "talk.jsonl", "-p", "hi"], cwd: dir.path, env: model.env });
  await runThndrs({ args: ["--replay", dir.at("talk.jsonl"), "--session-dir", "logs", "-p", "hi"], cwd: dir.path });
  const records = logText(dir.at("logs"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  for (const type of ["session_meta", "prompt_metadata"])
    expect(records.find((record) => record.type === type)).toMatchObject({ provider: "replay", model: dir.at("talk.jsonl") });
});
