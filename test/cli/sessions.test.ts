import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "../../src/cli/args.ts";
import type { CommandContext } from "../../src/cli/command.ts";
import { runSessions } from "../../src/cli/sessions.ts";
import { runUsage } from "../../src/cli/usage.ts";
import { acquireLock } from "../../src/session/lock.ts";
import type { OutputStream } from "../../src/ui/output.ts";
import { fileOf, finished, line, SAMPLES, said, started, user } from "../session/samples.ts";
import { type TempDir, tempDir } from "../support/temp.ts";

type Ran = { readonly code: number; readonly out: string; readonly err: string };

function stream(parts: string[], isTerminal: boolean): OutputStream {
  const write = (text: string | Uint8Array): void =>
    void parts.push(typeof text === "string" ? text : Buffer.from(text).toString());
  return {
    isTerminal,
    color: false,
    columns: 100,
    rows: 24,
    onResize: () => () => undefined,
    writeNow: () => undefined,
    prepare: () => undefined,
    hurry: () => undefined,
    busy: false,
    broken: undefined,
    lost: false,
    write,
    line: (text) => write(`${text}\n`),
    flush: async () => undefined,
    onBroken: () => undefined,
  };
}

async function run(cwd: string, argv: readonly string[], terminal = false): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const { command, words, flags } = parseArgs(argv);
  const context: CommandContext = {
    words,
    flags,
    output: { stdout: stream(out, terminal), stderr: stream(err, terminal) },
    env: { HOME: cwd },
    cwd,
    signal: new AbortController().signal,
  };
  const code = await (command === "usage" ? runUsage : runSessions)(context);
  return { code, out: out.join(""), err: err.join("") };
}

const KEY = "sk-test-9f8e7d6c5b4a3928";
const DIR = ".thndrs/sessions";
const A = "session-20260101-000000-aaaa";
const B = "session-20260102-000000-bbbb";

const T01 = "\u001b]52;c;aGk=\u0007\u001b[2J\u009b31m\u202eevil\u200b</pre><script>alert(1)</script>";
const FULL = [
  { ...SAMPLES.session_meta, session_id: A, title: `title ${T01}` },
  user(1, `find needle <b>&"' ${T01}`),
  said(1, "````\n# not a heading\n<img src=x onerror=alert(1)>", { request: 1 }),
  { ...started(1, "c1"), name: "run_shell", arguments: { argv: ["echo", KEY, T01] } },
  finished(1, "c1", `output with ${KEY} and\nDB_PASSWORD=hunter2\n`),
  { ...SAMPLES.usage },
];

async function workspace(files: Record<string, string> = {}): Promise<TempDir> {
  return tempDir({ [`${DIR}/${A}.jsonl`]: fileOf(FULL), ".git/HEAD": "ref: refs/heads/main\n", ...files });
}

const dangerous = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u200b]/;

for (const format of ["json", "jsonl", "text", "markdown", "html"] as const) {
  test(`T05 J09 export --format ${format}: no control sequences, no secrets`, async () => {
    await using ws = await workspace();
    const { code, out } = await run(ws.path, ["sessions", "export", A, "--format", format]);
    expect(code).toBe(0);
    expect(out).toContain("needle");
    expect(out).not.toContain(KEY);
    expect(out).not.toContain("hunter2");
    expect(out).toContain("[redacted:");
    expect(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(out)).toBe(false);
    expect(/[\u202a-\u202e\u2066-\u2069]/.test(out)).toBe(false);
    if (format !== "markdown" && format !== "html") expect(dangerous.test(out)).toBe(false);
  });
}

test("inspect is one JSON document by default, export one record a line; both hold the same records in order", async () => {
  await using ws = await workspace();
  const inspected = JSON.parse((await run(ws.path, ["sessions", "inspect", "latest"])).out);
  const exported = (await run(ws.path, ["sessions", "export", A])).out
    .trimEnd()
    .split("\n")
    .map((text) => JSON.parse(text));
  expect(inspected.records).toEqual(exported);
  expect(inspected).toMatchObject({
    version: 1,
    session_id: A,
    skipped: { malformed: 0, nul_blocks: 0, oversized: 0 },
    unrecognized: 0,
  });
  expect(exported.map((record) => record.seq)).toEqual([0, 1, 2, 3, 4, 5]);
  // Lossless but for what is redacted.
  expect(exported[1].text).toBe(`find needle <b>&"' ${T01}`);
});

test("html: nothing stored becomes markup, and the page loads nothing", async () => {
  await using ws = await workspace();
  const { out } = await run(ws.path, ["sessions", "export", A, "--format", "html"]);
  const tags = new Set<string>();
  const attributes = new Set<string>();
  const rewriter = new HTMLRewriter().on("*", {
    element(element) {
      tags.add(element.tagName);
      for (const [name] of element.attributes) attributes.add(`${element.tagName}.${name}`);
    },
  });
  await rewriter.transform(new Response(out)).text();
  expect([...tags].sort()).toEqual(
    [
      "article",
      "body",
      "details",
      "h1",
      "head",
      "header",
      "html",
      "meta",
      "p",
      "pre",
      "span",
      "strong",
      "style",
      "summary",
      "title",
    ].sort(),
  );
  for (const attribute of attributes) expect(attribute).not.toMatch(/\.(?:on|src|href|style)/);
  expect(out).toContain("default-src 'none'");
});

test("markdown: a text cannot leave its fence", async () => {
  await using ws = await workspace();
  const { out } = await run(ws.path, ["sessions", "export", A, "--format", "markdown"]);
  const html = Bun.markdown.html(out);
  expect(html).not.toContain("not a heading</h1>");
  expect(html).not.toMatch(/<img|<script/);
});

test("J02 J16 damage is counted on stderr, foreign records are marked in inspect and kept in export", async () => {
  await using ws = await workspace();
  const file = `${fileOf(FULL)}{"schema_version":1,"seq":5,"ty\n${line(6, { type: "hologram", depth: 3 })}\n${line(7, user(2, "after"))}\n`;
  writeFileSync(ws.at(DIR, `${A}.jsonl`), file);
  const inspected = await run(ws.path, ["sessions", "inspect", A]);
  expect(inspected.err).toContain("skipped 1 malformed line");
  const { records } = JSON.parse(inspected.out);
  expect(records.at(-2)).toMatchObject({ type: "hologram", unrecognized: true });
  expect(records.at(-1)).toMatchObject({ text: "after" });
  const exported = await run(ws.path, ["sessions", "export", A]);
  expect(JSON.parse(exported.out.trimEnd().split("\n").at(-2) ?? "")).toEqual(
    JSON.parse(line(6, { type: "hologram", depth: 3 })),
  );
  expect((await run(ws.path, ["sessions", "inspect", A, "--format", "text"])).out).toContain("[unrecognized, schema 1]");
});

for (const id of ["../../../etc/passwd", "a/b", "", ".", "..", "nope", `${A}.jsonl`]) {
  test(`J13 no such session: ${JSON.stringify(id)}`, async () => {
    await using ws = await workspace();
    for (const verb of ["inspect", "export", "show", "delete"]) {
      expect(run(ws.path, ["sessions", verb, id])).rejects.toThrow("No such session");
    }
    expect(readdirSync(ws.at(DIR))).toEqual([`${A}.jsonl`]);
  });
}

test("J13 links and other non-files in the sessions directory are no sessions", async () => {
  await using ws = await workspace({ "outside.jsonl": fileOf([user(1, "outside secret")]) });
  symlinkSync(ws.at("outside.jsonl"), ws.at(DIR, "session-link.jsonl"));
  mkdirSync(ws.at(DIR, "session-dir.jsonl"));
  Bun.spawnSync(["mkfifo", ws.at(DIR, "session-fifo.jsonl")]);
  const { out } = await run(ws.path, ["sessions", "list"]);
  expect(out.trimEnd().split("\n")).toHaveLength(1);
  for (const id of ["session-link", "session-dir", "session-fifo"]) {
    expect(run(ws.path, ["sessions", "inspect", id])).rejects.toThrow("No such session");
  }
  expect((await run(ws.path, ["sessions", "search", "outside secret"])).code).toBe(1);
});

test("ids: exact, unique prefix, latest; an ambiguous one names the candidates", async () => {
  await using ws = await workspace({ [`${DIR}/${B}.jsonl`]: fileOf([SAMPLES.session_meta]).replace("2026-01-01", "2026-01-03") });
  expect((await run(ws.path, ["sessions", "latest"])).out).toBe(`${B}\n`);
  expect(JSON.parse((await run(ws.path, ["sessions", "show", "20260101", "--json"])).out)).toMatchObject({
    session_id: A,
    turns: 1,
  });
  const failure = await run(ws.path, ["sessions", "show", "session-2026010"]).catch((error: Error) => error.message);
  expect(failure).toContain(A);
  expect(failure).toContain(B);
});

test("list: plain lines in a pipe, an aligned table on a terminal, JSON when asked", async () => {
  await using ws = await workspace({ [`${DIR}/${B}.jsonl`]: fileOf([SAMPLES.session_meta]).replace("2026-01-01", "2026-01-03") });
  const plain = (await run(ws.path, ["sessions", "list"])).out
    .trimEnd()
    .split("\n")
    .map((text) => text.split("\t"));
  expect(plain.map((cells) => cells[0])).toEqual([B, A]);
  expect(plain[0]).toHaveLength(5);
  const table = (await run(ws.path, ["sessions"], true)).out;
  expect(table).toStartWith("ID ");
  expect(dangerous.test(table.replaceAll("\n", ""))).toBe(false);
  for (const row of table.trimEnd().split("\n")) expect(Bun.stringWidth(row)).toBeLessThanOrEqual(100);
  const json = JSON.parse((await run(ws.path, ["sessions", "list", "--json", "--limit", "1"])).out);
  expect(json).toEqual([expect.objectContaining({ session_id: B, model: "gpt", title: "a title" })]);
});

test("rename: appended, shown, cleaned; refused while another process writes", async () => {
  await using ws = await workspace();
  await run(ws.path, ["sessions", "rename", A, "my", "\u001b[31mnew", "name"]);
  expect(JSON.parse((await run(ws.path, ["sessions", "list", "--json"])).out)[0].title).toBe("my [31mnew name");
  expect(readFileSync(ws.at(DIR, `${A}.jsonl`), "utf8")).toStartWith(fileOf(FULL));
  const lock = acquireLock(ws.at(DIR), A);
  expect(run(ws.path, ["sessions", "rename", A, "again"])).rejects.toThrow("in use by process");
  lock.release();
});

test("search: case-insensitive, redacted, exit 1 when nothing is found", async () => {
  await using ws = await workspace();
  const found = await run(ws.path, ["sessions", "search", "NEEDLE", "--json"]);
  expect(JSON.parse(found.out)).toEqual([expect.objectContaining({ session_id: A, matches: 1, type: "user", seq: 1 })]);
  const plain = await run(ws.path, ["sessions", "search", "needle"]);
  expect(plain.out).toContain("needle");
  expect(dangerous.test(plain.out)).toBe(false);
  expect(await run(ws.path, ["sessions", "search", KEY])).toMatchObject({ code: 1, out: "" });
  expect(await run(ws.path, ["sessions", "search", "hunter2"])).toMatchObject({ code: 1, out: "" });
});

test("delete removes the file; one in use is kept and said", async () => {
  await using ws = await workspace({ [`${DIR}/${B}.jsonl`]: fileOf([SAMPLES.session_meta]) });
  const lock = acquireLock(ws.at(DIR), B);
  const { code, out, err } = await run(ws.path, ["sessions", "delete", A, B]);
  lock.release();
  expect({ code, out }).toEqual({ code: 1, out: `deleted ${A}\n` });
  expect(err).toContain("in use by process");
  expect(readdirSync(ws.at(DIR))).toEqual([`${B}.jsonl`]);
});

test("prune --older-than, --keep, --dry-run", async () => {
  const at = (time: string): string => `${line(0, SAMPLES.session_meta, { time })}\n`;
  const hours = (n: number): string => new Date(Date.now() - n * 3_600_000).toISOString();
  await using ws = await tempDir({
    [`${DIR}/session-1.jsonl`]: at(hours(1)),
    [`${DIR}/session-2.jsonl`]: at(hours(49)),
    [`${DIR}/session-3.jsonl`]: at(hours(100)),
  });
  const names = (): string[] => readdirSync(ws.at(DIR)).sort();
  expect(run(ws.path, ["sessions", "prune"])).rejects.toThrow("--older-than");
  expect((await run(ws.path, ["sessions", "prune", "--keep", "1", "--dry-run"])).out).toBe(
    "would delete session-3\nwould delete session-2\n",
  );
  expect(names()).toHaveLength(3);
  expect((await run(ws.path, ["sessions", "prune", "--older-than", "2d", "--keep", "2"])).out).toBe("deleted session-3\n");
  await run(ws.path, ["sessions", "prune", "--older-than", "2d"]);
  expect(names()).toEqual(["session-1.jsonl"]);
});

test("export --output writes the file 0600 and nothing on stdout", async () => {
  await using ws = await workspace();
  const { out } = await run(ws.path, ["sessions", "export", A, "--format", "html", "--output", "page.html"]);
  expect(out).toBe("");
  expect(readFileSync(ws.at("page.html"), "utf8")).toEndWith("</html>\n");
});

test("usage: by session, model and day; unknown is never 0", async () => {
  await using ws = await workspace({
    [`${DIR}/${B}.jsonl`]: fileOf([
      SAMPLES.session_meta,
      { ...SAMPLES.prompt_metadata, model: "other" },
      { type: "usage", turn_id: "t", output_tokens: 7 },
    ]),
  });
  const by = async (key: string): Promise<unknown> => JSON.parse((await run(ws.path, ["usage", "--by", key, "--json"])).out);
  expect(await by("model")).toEqual({
    by: "model",
    groups: [
      { model: "openai/other", requests: 1, output_tokens: 7 },
      { model: "openai/gpt", requests: 1, input_tokens: 5, output_tokens: 2, cost_usd: 0.01 },
    ],
    total: { requests: 2, input_tokens: 5, output_tokens: 9, cost_usd: 0.01 },
  });
  expect(await by("day")).toMatchObject({ groups: [{ day: "2026-01-01", requests: 2 }] });
  expect((await run(ws.path, ["usage", "--session", B])).out).toBe(`${B}\t1\t-\t-\t7\t-\ntotal\t1\t-\t-\t7\t-\n`);
});

test("2,000 sessions list quickly", async () => {
  await using ws = await tempDir();
  mkdirSync(ws.at(DIR), { recursive: true });
  const content = fileOf([...FULL, ...Array.from({ length: 40 }, (_, n) => user(n + 2, "x".repeat(1000)))]);
  for (let n = 0; n < 2000; n++)
    writeFileSync(join(ws.at(DIR), `session-20260101-000000-${String(n).padStart(4, "0")}.jsonl`), content);
  const start = performance.now();
  const { out } = await run(ws.path, ["sessions", "list"]);
  const elapsed = performance.now() - start;
  expect(out.split("\n")).toHaveLength(2001);
  expect(elapsed).toBeLessThan(1500);
});

test("no sessions at all: an empty list, and latest says so", async () => {
  await using ws = await tempDir();
  expect(await run(ws.path, ["sessions", "list"])).toMatchObject({ code: 0, out: "" });
  expect(JSON.parse((await run(ws.path, ["sessions", "list", "--json"])).out)).toEqual([]);
  expect(run(ws.path, ["sessions", "latest"])).rejects.toThrow("no sessions");
});
