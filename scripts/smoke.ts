/**
 * `bun scripts/smoke.ts PROGRAM [--version=X]`: does this executable work on this machine, in a directory that wants something
 * from it? Needs no network and no key. Ends with 1 and says what was different. Refuses: being the test suite; it asks
 * only what must hold on every platform a release is made for.
 */
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { args, root } from "./steps.ts";

const LIMIT_MS = 120_000;

/** Writes a file when it runs: nothing of it may run. */
const TRAP = 'require("node:fs").writeFileSync(require("node:path").join(__dirname, "RAN"), "x");\n';

const HOSTILE: Readonly<Record<string, string>> = {
  "bunfig.toml": 'preload = ["./trap.ts"]\n[test]\npreload = ["./trap.ts"]\n[run]\npreload = ["./trap.ts"]\n',
  "trap.ts": TRAP,
  "tsconfig.json": '{ "compilerOptions": { "paths": { "*": ["./trap.ts"] } } }',
  "package.json": '{ "name": "hostile", "main": "./trap.ts", "imports": { "#x": "./trap.ts" }, "type": "module" }',
  "node_modules/zod/package.json": '{ "main": "index.js" }',
  "node_modules/zod/index.js": TRAP,
  ".npmrc": "registry=http://127.0.0.1:1/\n",
  ".env": "BUN_OPTIONS=--preload ./trap.ts\nNODE_OPTIONS=--require ./trap.ts\nTHNDRS_MODEL=openai/poisoned\nHOME=/poisoned\n",
  "notes.txt": "the fox is in the notes\n",
};

const RECORDING = [
  { thndrs_recording: 1, provider: "smoke" },
  { response: 1, model: "smoke" },
  { type: "text", text: "I look and write." },
  { type: "tool_call", call: { id: "a", name: "read_file_range", arguments: { path: "notes.txt" } } },
  { type: "tool_call", call: { id: "b", name: "search_text", arguments: { pattern: "fox" } } },
  { type: "tool_call", call: { id: "c", name: "create_file", arguments: { path: "made/new.txt", content: "made by thndrs\n" } } },
  { type: "stop", reason: "tool_calls" },
  { response: 2, model: "smoke" },
  { type: "text", text: "Done: naïve — 漢字." },
  { type: "stop", reason: "end" },
];

type Run = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

async function start(program: string, words: readonly string[], cwd: string, env: Record<string, string>): Promise<Run> {
  const child = Bun.spawn([program, ...words], {
    cwd,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await child.exited;
  return { code: child.exitCode, stdout, stderr };
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Only what a program needs to start at all: on Windows that is more than nothing. */
function blank(): Record<string, string> {
  const kept = process.platform === "win32" ? ["SystemRoot", "TEMP", "TMP", "USERPROFILE"] : [];
  return Object.fromEntries(kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name] ?? ""]])));
}

/** What does not hold, in words; nothing when all is well. `version`: what `--version` must say. */
export async function smoke(program: string, version: string): Promise<readonly string[]> {
  const directory = await mkdtemp(join(tmpdir(), "thndrs smoke-"));
  const wrong: string[] = [];
  const claim = (what: string, holds: boolean, ran: Run) => {
    if (!holds) wrong.push(`${what}: ended with ${ran.code}\n── stdout\n${ran.stdout}\n── stderr\n${ran.stderr}`);
  };
  try {
    const work = join(directory, "work");
    for (const [path, text] of Object.entries(HOSTILE)) await Bun.write(join(work, path), text);
    const recording = join(directory, "recording.jsonl");
    await Bun.write(recording, RECORDING.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await mkdir(join(directory, "empty"));

    const named = await start(program, ["--version"], work, blank());
    claim("--version", named.code === 0 && named.stdout === `thndrs ${version}\n` && named.stderr === "", named);
    const empty = await start(program, ["--version"], join(directory, "empty"), blank());
    claim("--version in an empty directory", empty.code === 0 && empty.stdout === named.stdout, empty);
    const options = await start(program, ["--help"], work, { ...blank(), BUN_OPTIONS: "--smol" });
    claim("--help", options.code === 0 && options.stdout.includes("\n  thndrs [options]") && options.stderr === "", options);
    const topic = await start(program, ["help", "print-mode"], work, blank());
    claim("help print-mode", topic.code === 0 && topic.stdout.startsWith("# "), topic);

    const played = await start(program, ["-p", "--replay", recording, "go"], work, { ...blank(), BUN_OPTIONS: "--smol" });
    claim("-p --replay", played.code === 0 && played.stdout.endsWith("Done: naïve — 漢字.\n"), played);
    const made = await Bun.file(join(work, "made", "new.txt"))
      .text()
      .catch(() => "");
    claim("a file made by a tool", made === "made by thndrs\n", played);
    const sessions = await readdir(join(work, ".thndrs", "sessions")).catch(() => []);
    claim("a session on disk", sessions.length > 0, played);
    for (const place of ["RAN", "node_modules/zod/RAN"])
      claim("nothing of the directory runs", !(await exists(join(work, place))), played);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  return wrong;
}

if (import.meta.main) {
  const [program] = args.filter((arg) => !arg.startsWith("--"));
  const { version } = (await Bun.file(join(root, "package.json")).json()) as { version: string };
  const expected = args.find((arg) => arg.startsWith("--version="))?.slice("--version=".length) ?? version;
  if (program === undefined) throw new Error("usage: bun scripts/smoke.ts PROGRAM [--version=X]");
  const wrong = await smoke(resolve(program), expected);
  for (const one of wrong) console.error(`smoke: ${one}`);
  console.log(wrong.length === 0 ? `smoke: ${program} works` : `smoke: ${wrong.length} wrong`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}
