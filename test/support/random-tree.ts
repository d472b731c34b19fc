/** Generated directory trees with everything a listing or search can stumble over. The same seed gives the same tree. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export type Random = () => number;

/** Mulberry32: small and the same everywhere. */
export function seededRandom(seed: number): Random {
  let state = seed * 0x9e3779b1;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export function pick<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[Math.floor(random() * choices.length)];
  if (choice === undefined) throw new Error("nothing to pick from");
  return choice;
}

const DIRECTORIES = ["src", "lib", "node_modules", "dist", ".hid", "a b", "-x", "tmp", "UP", "é", "foo.d", "[x]"];
const FILES = [
  "a.ts",
  "b.js",
  "c.log",
  ".env",
  "keep.log",
  "-f",
  "x y.md",
  "new\nline.ts",
  "esc\x1b[31m.ts",
  "日本.ts",
  "q?.txt",
  "st*r",
  "br[a]ce",
  "Makefile",
  "a.tmp",
  "UPPER.TS",
  "b#c",
  "!bang",
  'quo"te',
  "back\\slash",
];
const RULES = [
  "node_modules/",
  "dist",
  "*.log",
  "!keep.log",
  "/a.ts",
  "src/*.js",
  "tmp/**",
  "**/UP",
  "*.tmp",
  "!.env",
  "!.hid",
  "foo.d/",
  "lib/**/b.js",
  "[a-c].ts",
  "q\\?.txt",
  "\\!bang",
  "# comment",
  "",
  "a b/",
  "*.md ",
  "/src/lib",
  "b#c",
  "!src/a.ts",
  "-x",
  "*",
  "!*/",
  "!*.ts",
  "Make*",
  "é",
  "/*/a.ts",
  "?.js",
  "**/lib/**",
  "*.[jt]s",
  "[!a].ts",
];

export type TreeOptions = {
  readonly repository: boolean;
  /** Text of each file; default: its name. */
  readonly content?: (name: string, random: Random) => string | Uint8Array;
};

/** Fills `root`; returns its directories, relative to it. */
export function randomTree(root: string, random: Random, options: TreeOptions): string[] {
  const directories: string[] = [];
  const put = (path: string, content: string | Uint8Array): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  const ignoreFile = (): string =>
    Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(random, RULES)).join(pick(random, ["\n", "\r\n"]));
  const fill = (at: string, depth: number): void => {
    const below = (name: string) => (at === "" ? name : `${at}/${name}`);
    mkdirSync(join(root, at), { recursive: true });
    for (const name of FILES) {
      if (random() < 0.4) put(below(name), options.content?.(name, random) ?? name);
    }
    if (random() < (at === "" ? 0.9 : 0.3)) put(below(".gitignore"), ignoreFile());
    if (random() < 0.12) put(below(".ignore"), ignoreFile());
    if (random() < 0.04 && at !== "") put(below(".git/HEAD"), "ref: refs/heads/main\n");
    if (random() < 0.15) symlinkSync(pick(random, [".", "..", "a.ts", "nowhere"]), join(root, below("link")));
    if (depth === 0) return;
    for (const name of DIRECTORIES) {
      if (random() >= 0.28) continue;
      directories.push(below(name));
      fill(below(name), depth - 1);
    }
  };
  fill("", 3);
  if (options.repository) {
    put(".git/HEAD", "ref: refs/heads/main\n");
    put(".git/info/exclude", random() < 0.5 ? ignoreFile() : "");
    put(".git/objects/a.ts", "");
  }
  return directories;
}
