/** Where benchmarks run: one temporary directory with the floor programs, a small workspace, and trees made when first asked for. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { binary, compile } from "../build.ts";
import { root } from "../steps.ts";
import type { Contestant } from "./measure.ts";
import type { BenchServer, Scenario } from "./server.ts";

export const ENV = { PATH: "/usr/bin:/bin", TERM: "dumb" };

export type Place = Disposable & {
  readonly directory: string;
  readonly floor: string;
  readonly oneLine: string;
  /** A small workspace. */
  readonly work: string;
  readonly home: string;
  /** 100,000 files, 2,000 of them nested AGENTS.md. */
  bigRepository(): string;
  /** 50,000 source files, some of them with needles. */
  sources(): string;
};

/** Directories of 50 files; the file names and texts are up to the caller. */
function growTree(
  base: string,
  directories: number,
  files: (directory: number) => readonly (readonly [string, string])[],
): string {
  mkdirSync(join(base, ".git"), { recursive: true });
  for (let n = 0; n < directories; n++) {
    const directory = join(base, `area-${n % 20}`, `part-${n}`);
    mkdirSync(directory, { recursive: true });
    for (const [name, text] of files(n)) writeFileSync(join(directory, name), text);
  }
  return base;
}

const LINES = Array.from({ length: 24 }, (_, n) => `export const value${n} = compute(${n}, "text of line ${n}");`).join("\n");

/** Every hundredth file holds `needle_0` … `needle_9`; every file holds `compute`. */
function sourceFile(directory: number, n: number): string {
  const number = directory * 50 + n;
  return number % 100 === 7 ? `${LINES}\nconst needle_${Math.floor(number / 100) % 10} = ${number};\n` : `${LINES}\n`;
}

export async function preparePlace(): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), "thndrs-bench-"));
  const floor = join(directory, "floor");
  const oneLine = join(directory, "one-line");
  await compile(join(root, "scripts", "bench", "floor.ts"), floor);
  await compile(join(root, "scripts", "bench", "one-line.ts"), oneLine);
  const work = join(directory, "work");
  await mkdir(join(work, ".git"), { recursive: true });
  const home = join(directory, "home");
  await mkdir(home);
  await Bun.write(join(work, "notes.txt"), Array.from({ length: 240 }, (_, n) => `note ${n + 1}\n`).join(""));
  let big: string | undefined;
  let sources: string | undefined;
  return {
    directory,
    floor,
    oneLine,
    work,
    home,
    bigRepository() {
      big ??= growTree(join(directory, "big"), 2000, (area) => [
        ["AGENTS.md", `# Part ${area}\n\nRules of part ${area}.\n`],
        ...Array.from({ length: 49 }, (_, n) => [`file-${n}.ts`, `export const n = ${n};\n`] as const),
      ]);
      return big;
    },
    sources() {
      sources ??= growTree(join(directory, "sources"), 1000, (area) =>
        Array.from(
          { length: 50 },
          (_, n) => [n % 5 === 0 ? `view-${area}-${n}.tsx` : `model-${area}-${n}.ts`, sourceFile(area, n)] as const,
        ),
      );
      return sources;
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** One run of thndrs in `cwd` that plays `scenario`; tells when its first request arrived. */
export function thndrsRun(
  place: Place,
  server: BenchServer,
  scenario: Scenario,
  cwd: string,
  more: readonly string[] = [],
): Contestant {
  const url = server.play(scenario);
  return {
    command: [binary, "-p", "go", "--model", "ollama/bench", "--quiet", ...more],
    cwd,
    env: { ...ENV, HOME: place.home, OLLAMA_BASE_URL: url },
    prepare: () => {
      server.play(scenario);
      return () => server.arrivals()[0];
    },
  };
}
