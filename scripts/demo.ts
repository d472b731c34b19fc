/**
 * `bun run demo`: the compiled binary repairs a small project with two failing tests, in a temporary directory, with real
 * tools; only the model's words come from a recording. Needs no key, no network, no other program (git and node are used
 * where they exist). Ends non-zero when the project's tests do not pass afterwards. Refuses: acting any part of it.
 */
import { cp, mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { binary, build } from "./build.ts";
import { install, read, root, run } from "./steps.ts";

const material = join(root, "scripts", "demo-project");
const PROMPT = "fix tests";

type Stage = { readonly project: string; readonly recording: string; readonly env: Readonly<Record<string, string>> };

function heading(text: string): void {
  console.log(`\n── ${text}`);
}

/** Copies the project, makes it a repository where git exists, and gives it a home of its own. */
async function prepare(directory: string): Promise<Stage> {
  const project = join(directory, "invoices");
  await cp(join(material, "project"), project, { recursive: true });
  const home = join(directory, "home");
  const bin = join(directory, "bin");
  for (const made of [home, bin]) await mkdir(made);
  // The project's own test command is `bun test`, and this very runtime is the bun that is surely here.
  await symlink(process.execPath, join(bin, "bun"));
  const env = {
    HOME: home,
    PATH: [bin, process.env.PATH ?? ""].join(delimiter),
    TERM: process.env.TERM ?? "dumb",
    ...(process.env.NO_COLOR ? { NO_COLOR: process.env.NO_COLOR } : {}),
  };
  const git = ["git", "-c", "user.name=Demo", "-c", "user.email=demo@example.invalid", "-c", "commit.gpgsign=false"];
  if (Bun.which("git"))
    for (const step of [
      ["init", "-q", "-b", "main"],
      ["add", "-A"],
      ["commit", "-q", "-m", "Invoices"],
    ])
      await run([...git, ...step], { cwd: project, env, quiet: true });
  return { project, recording: join(material, "recording.jsonl"), env };
}

/** Runs the project's tests outside thndrs. */
async function testsPass(stage: Stage): Promise<boolean> {
  return (await run([process.execPath, "test"], { cwd: stage.project, env: stage.env })) === 0;
}

async function demo(): Promise<number> {
  await install();
  await build();
  const directory = await realpath(await mkdtemp(join(tmpdir(), "thndrs-demo-")));
  try {
    const stage = await prepare(directory);
    console.log(`A small project with two failing tests: ${stage.project}`);
    console.log(`The model's answers come from a recording; everything else is real.`);
    heading(`thndrs -p "${PROMPT}" --replay recording.jsonl`);
    const here = { cwd: stage.project, env: stage.env };
    const code = await run([binary, "-p", PROMPT, "--replay", stage.recording], here);
    if (code !== 0) {
      console.error(`demo: thndrs ended with ${code}`);
      return 1;
    }
    if (read(["git", "rev-parse", "--is-inside-work-tree"], stage.project) === "true") {
      heading("git diff --stat");
      await run(["git", "--no-pager", "diff", "--stat"], here);
    }
    heading("thndrs sessions show latest");
    const summary = await run([binary, "sessions", "show", "latest"], here);
    heading("bun test");
    const passed = await testsPass(stage);
    if (!passed) console.error("demo: the project's tests still fail");
    return passed && summary === 0 ? 0 : 1;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

if (import.meta.main) process.exitCode = await demo();
