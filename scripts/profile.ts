/**
 * `bun scripts/profile.ts`: records which functions the usual ways of starting use, so that the build can place their bytecode
 * together (scripts/profiles/*.order; the commonest first). Run it before a release and commit the result.
 * Refuses: running on every build; an older profile still fits.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "./bench/server.ts";
import { build } from "./build.ts";
import { install, root, run } from "./steps.ts";

const profiles = join(root, "scripts", "profiles");

await install();
const directory = await mkdtemp(join(tmpdir(), "thndrs-profile-"));
try {
  const plain = join(directory, "thndrs");
  await build({ outfile: plain, order: [], force: true });
  await using server = startServer();
  const work = join(directory, "work");
  await mkdir(join(work, ".git"), { recursive: true });
  await Bun.write(join(work, "notes.txt"), "one\ntwo\nthree\n");
  await Bun.write(join(work, "AGENTS.md"), "# Rules\n\n- Be brief.\n");
  await rm(profiles, { recursive: true, force: true });
  await mkdir(profiles, { recursive: true });
  const ways: readonly (readonly [string, readonly string[], number])[] = [
    ["1-print.order", ["-p", "go", "--model", "ollama/bench"], 2],
    ["2-version.order", ["--version"], 0],
  ];
  for (const [name, words, turns] of ways) {
    const url = server.play({ turns, bytes: 2000 });
    const env = { PATH: "/usr/bin:/bin", HOME: directory, OLLAMA_BASE_URL: url, BUN_BYTECODE_ORDER_OUT: join(profiles, name) };
    const code = await run([plain, ...words], { cwd: work, env, quiet: true });
    if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}`);
    console.log(`${name}  ${Bun.file(join(profiles, name)).size} bytes`);
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
