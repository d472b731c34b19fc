/**
 * `bun scripts/profile.ts`: records which functions the usual ways of starting use, so that the build can place their bytecode
 * together (scripts/profiles/*.order; the commonest first). Run it before a release and commit the result: functions are known
 * by a hash of what they say, so an older profile still fits most of them. Refuses: running on every build.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "./bench/server.ts";
import { build } from "./build.ts";
import { install, root, run } from "./steps.ts";

const profiles = join(root, "scripts", "profiles");

/** One question at a pseudo-terminal, then the end of input. Answers the exit code. */
async function converse(command: readonly string[], cwd: string, env: Readonly<Record<string, string>>): Promise<number> {
  let seen = "";
  let asked = false;
  let left = false;
  const decoder = new TextDecoder();
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...env, TERM: "xterm-256color" },
    terminal: {
      cols: 80,
      rows: 24,
      data(terminal, data) {
        seen += decoder.decode(data, { stream: true });
        if (!asked && seen.includes("❯")) {
          asked = true;
          seen = "";
          terminal.write("go\r");
        } else if (asked && !left && seen.includes("sleepy old dog")) {
          left = true;
          terminal.write("\x04");
        }
      },
    },
  });
  return await child.exited;
}

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
  const start = async (name: string, turns: number, words: readonly string[], terminal: boolean): Promise<void> => {
    const url = server.play({ turns, bytes: 2000 });
    const out = join(profiles, name);
    const env = { PATH: "/usr/bin:/bin", HOME: directory, OLLAMA_BASE_URL: url, BUN_BYTECODE_ORDER_OUT: out };
    const command = [plain, ...words, "--model", "ollama/bench"];
    const code = terminal ? await converse(command, work, env) : await run(command, { cwd: work, env, quiet: true });
    if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}`);
    // Keys of constants are four fifths of the file and gave nothing that could be measured.
    const lines = (await Bun.file(out).text()).split("\n").filter((line) => !line.startsWith("K "));
    await Bun.write(out, lines.join("\n"));
    console.log(`${name}  ${Bun.file(out).size} bytes`);
  };
  await start("1-print.order", 2, ["-p", "go"], false);
  await start("2-repl.order", 2, [], true);
} finally {
  await rm(directory, { recursive: true, force: true });
}
