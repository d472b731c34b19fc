import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { UserError } from "../../src/base/user-error.ts";
import { openWorkspace } from "../../src/base/workspace.ts";
import { giveTo, type TempDir, tempDir } from "../support/temp.ts";

let dir: TempDir;
let root: string;

beforeEach(async () => {
  dir = await tempDir({ "ws/a": "a", "ws/sub/b": "b", "ws-evil/a": "evil", "out/secret": "secret" });
  root = dir.at("ws");
});
afterEach(() => dir.remove());

const resolve = async (input: string) => (await openWorkspace(root)).resolve(input);

describe("C1 workspace root", () => {
  test("C1 the nearest directory upwards with .git, a directory or a file", async () => {
    mkdirSync(join(root, ".git"));
    mkdirSync(join(root, "sub/deep/er"), { recursive: true });
    const opened = await openWorkspace(join(root, "sub/deep/er"));
    expect(opened.root).toBe(root);
    expect(opened.cwd).toBe(join(root, "sub/deep/er"));
    writeFileSync(join(root, "sub/deep/.git"), "gitdir: ../../.git/worktrees/deep\n");
    expect((await openWorkspace(join(root, "sub/deep/er"))).root).toBe(join(root, "sub/deep"));
    expect((await openWorkspace(join(root, "sub"))).root).toBe(root);
  });

  test("C1 without .git the real path of cwd; anything else called .git does not count", async () => {
    symlinkSync(root, dir.at("link-to-ws"));
    const opened = await openWorkspace(dir.at("link-to-ws/sub"));
    expect([opened.root, opened.cwd]).toEqual([join(root, "sub"), join(root, "sub")]);
    Bun.spawnSync(["mkfifo", join(root, ".git")]);
    expect((await openWorkspace(join(root, "sub"))).root).toBe(join(root, "sub"));
  });

  test.skipIf(process.getuid?.() !== 0)("C1 a .git that a stranger planted above does not move the root", async () => {
    mkdirSync(dir.at(".git"));
    giveTo(dir.at(".git"), 65534);
    expect((await openWorkspace(root)).root).toBe(root);
    // The same owner for both is a tree of one other person, seen by root.
    giveTo(root, 65534);
    expect((await openWorkspace(root)).root).toBe(dir.path);
  });

  test("C1 a missing directory or a file is an error for the person", async () => {
    for (const cwd of [join(root, "none"), join(root, "a"), join(root, "a/x")]) {
      const error = await openWorkspace(cwd).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UserError);
    }
  });
});

describe("containment", () => {
  test("W03 sibling with the same prefix, dots, absolute, URL, home, NUL, empty: the rule is named", async () => {
    for (const [input, rule] of [
      [dir.at("ws-evil/a"), "outside the workspace"],
      ["../ws-evil/a", "outside the workspace"],
      ["sub/../../x", "outside the workspace"],
      ["..", "outside the workspace"],
      ["/", "outside the workspace"],
      ["/etc/hostname", "outside the workspace"],
      [`file://${root}/a`, "URL"],
      ["https://example.com/a", "URL"],
      ["~/a", "`~` is not expanded"],
      ["~", "`~` is not expanded"],
      ["~root/a", "`~` is not expanded"],
      ["a\0b", "NUL"],
      ["", "empty"],
      ["a\ud800", "surrogate"],
    ] as const) {
      const result = await resolve(input);
      expect(result.ok).toBe(false);
      if (!result.ok) expect(result.message).toContain(rule);
    }
  });

  test("W03 inside, however it is written", async () => {
    for (const [input, shown, exists] of [
      ["a", "a", true],
      [".", ".", true],
      ["./sub/", "sub", true],
      ["sub/../a", "a", true],
      [join(root, "..", "ws", "a"), "a", true],
      [`${root}/../ws/a`, "a", true],
      [`${root}//sub///b`, "sub/b", true],
      [root, ".", true],
      ["new/deep/file", "new/deep/file", false],
      ["a/not/a/directory", "a/not/a/directory", false],
      ["..a", "..a", false],
      ["...", "...", false],
      ["./~a", "~a", false],
      ["-rf", "-rf", false],
      ["sp ace\n", "sp ace\n", false],
      ["A", "A", existsSync(join(root, "A"))],
    ] as const) {
      expect(await resolve(input)).toMatchObject({ ok: true, relative: shown, path: join(root, shown), exists });
    }
  });

  test("W01 links that leave the tree: at the end, in the middle, dangling, in chains", async () => {
    symlinkSync(dir.at("out"), join(root, "outbox"));
    symlinkSync("../out/secret", join(root, "file"));
    symlinkSync("../out/none", join(root, "dangling"));
    symlinkSync("outbox", join(root, "chain"));
    symlinkSync("sub/../../out", join(root, "dots"));
    symlinkSync("/proc/self/cwd/../../../../../../../etc", join(root, "proc"));
    symlinkSync("missing/../../out", join(root, "through"));
    for (const input of [
      "outbox/x",
      "outbox",
      "file",
      "dangling",
      "chain/secret",
      "dots/secret",
      "proc/hostname",
      "sub/../outbox/y",
    ]) {
      const result = await resolve(input);
      expect([input, result.ok]).toEqual([input, false]);
      if (!result.ok) expect(result.message).toContain("outside the workspace");
    }
    expect((await resolve("through")).ok).toBe(false);
    const named = await resolve("outbox/secret");
    expect(!named.ok && named.message).toContain("symbolic link `outbox`");
  });

  test("W01 nothing is said about what exists outside", async () => {
    const there = await resolve(dir.at("out/secret"));
    const missing = await resolve(dir.at("out/absent"));
    expect(!there.ok && there.message.replace("secret", "")).toBe(!missing.ok && missing.message.replace("absent", ""));
  });

  test("W01 link loops end", async () => {
    symlinkSync("loop2", join(root, "loop1"));
    symlinkSync("loop1", join(root, "loop2"));
    const result = await resolve("loop1/x");
    expect(!result.ok && result.message).toContain("circle");
  });

  test("W04 links inside the tree work, also when the root itself is a link", async () => {
    mkdirSync(join(root, "real"));
    writeFileSync(join(root, "real/mem"), "m");
    symlinkSync("real/mem", join(root, "mem"));
    symlinkSync("real", join(root, "folder"));
    symlinkSync(root, dir.at("link-to-ws"));
    const workspace = await openWorkspace(dir.at("link-to-ws"));
    expect(workspace.root).toBe(root);
    for (const input of ["mem", "folder/mem", join(root, "mem"), dir.at("link-to-ws/mem"), "folder/../mem"]) {
      expect(await workspace.resolve(input)).toMatchObject({ ok: true, relative: "real/mem", exists: true });
    }
    expect(await workspace.resolve("folder/new")).toMatchObject({ ok: true, relative: "real/new", exists: false });
  });

  test("W04 a dangling link that stays inside is told from a new file", async () => {
    symlinkSync("real/none", join(root, "d"));
    const result = await resolve("d");
    expect(result).toMatchObject({ ok: true, exists: false, relative: "real/none", danglingLink: "d" });
    expect(await resolve("sub/none")).not.toHaveProperty("danglingLink");
  });

  test("W05 composed and decomposed root: exact always works, and no false escape", async () => {
    const decomposed = dir.at("cafe\u0301");
    mkdirSync(decomposed);
    writeFileSync(join(decomposed, "x"), "x");
    const workspace = await openWorkspace(decomposed);
    expect(workspace.root).toBe(realpathSync(decomposed));
    for (const input of ["x", join(decomposed, "x"), dir.at("caf\u00e9/x")]) {
      expect(await workspace.resolve(input)).toMatchObject({ ok: true, relative: "x", exists: true });
    }
    expect(await workspace.resolve("new")).toMatchObject({ ok: true, exists: false });
    expect((await openWorkspace(dir.at("caf\u00e9"))).root).toBe(realpathSync(decomposed));
  });

  test.skipIf(process.platform !== "linux")("W05 two directories that differ only in form stay two", async () => {
    mkdirSync(dir.at("cafe\u0301"));
    mkdirSync(dir.at("caf\u00e9"));
    writeFileSync(dir.at("caf\u00e9/x"), "other");
    const workspace = await openWorkspace(dir.at("cafe\u0301"));
    expect((await workspace.resolve(dir.at("caf\u00e9/x"))).ok).toBe(false);
  });

  test("a message shows odd names on one line", async () => {
    const result = await resolve("../\u001b[31mred\u202e\nname");
    expect(!result.ok && result.message).toContain('`"../\\u001b[31mred\\u202e\\nname"`');
  });

  test.skipIf(process.getuid?.() !== 0)("a directory that cannot be searched proves nothing", async () => {
    mkdirSync(join(root, "closed"));
    chmodSync(dir.path, 0o755);
    giveTo(root, 65534);
    chmodSync(join(root, "closed"), 0o000);
    const script = `
      import { openWorkspace } from ${JSON.stringify(join(import.meta.dir, "../../src/base/workspace.ts"))};
      console.log(JSON.stringify(await (await openWorkspace(process.argv[1])).resolve("closed/x")));
    `;
    const child = Bun.spawnSync([
      "setpriv",
      "--reuid=65534",
      "--regid=65534",
      "--clear-groups",
      process.execPath,
      "-e",
      script,
      root,
    ]);
    expect(JSON.parse(child.stdout.toString())).toMatchObject({
      ok: false,
      message: expect.stringContaining("permission denied"),
    });
  });
});

function isMissing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOTDIR";
  }
}

/** Where the kernel says a path leads: the longest existing part for real, the rest as written. */
function kernelTruth(path: string): string | undefined {
  let rest: string[] = [];
  for (let head = path; ; head = dirname(head)) {
    try {
      return join(realpathSync(head), ...rest);
    } catch {
      // A link that leads nowhere, or a loop: the kernel cannot say.
      if (!isMissing(head)) return undefined;
      rest = [relative(dirname(head), head), ...rest];
    }
  }
}

test("W01 W03 property: over generated link farms, what is proved is inside, and what the kernel puts inside is proved", async () => {
  let seed = 20260101;
  const next = (limit: number) => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return (seed >> 8) % limit;
  };
  const pick = <T>(items: readonly T[]): T => items[next(items.length)] as T;
  const names = ["a", "b", "A", "ws", "ws-evil", "caf\u00e9", "cafe\u0301", "..a", "x y", "-"];
  let proved = 0;
  let refused = 0;
  for (let farm = 0; farm < 25; farm++) {
    const base = dir.at(`farm${farm}`);
    const ws = join(base, "ws");
    mkdirSync(join(ws, "a", "b"), { recursive: true });
    mkdirSync(join(base, "ws-evil", "a"), { recursive: true });
    const directories = [ws, join(ws, "a"), join(ws, "a", "b"), join(base, "ws-evil")];
    for (let count = 0; count < 12; count++) {
      const place = join(pick(directories), pick(names));
      if (lstatSync(place, { throwIfNoEntry: false }) !== undefined) continue;
      const target = [...Array.from({ length: next(4) }, () => pick(["..", ".", ...names])), pick(names)].join("/");
      if (next(3) === 0) mkdirSync(place);
      else symlinkSync(next(3) === 0 ? join(pick([...directories, base, "/"]), target) : target, place);
    }
    const workspace = await openWorkspace(ws);
    for (let count = 0; count < 80; count++) {
      const parts = Array.from({ length: 1 + next(5) }, () => pick(["..", ".", "", ...names, ...names]));
      const input = `${next(4) === 0 ? `${pick([ws, base, join(base, "ws-evil")])}/` : ""}${parts.join("/")}`;
      if (input === "" || input.startsWith("~")) continue;
      const result = await workspace.resolve(input);
      const lexical = join(input.startsWith("/") ? "/" : ws, input);
      const truth = kernelTruth(lexical.endsWith("/") && lexical !== "/" ? lexical.slice(0, -1) : lexical);
      const inside = truth !== undefined && (truth === ws || truth.startsWith(ws + sep));
      if (result.ok) {
        proved += 1;
        expect(result.path === ws || result.path.startsWith(ws + sep)).toBe(true);
        // No part of a proved path is a link.
        expect(kernelTruth(result.path)).toBe(result.path);
        if (truth !== undefined && result.respelled !== true) expect(result.path as string).toBe(truth);
        expect(result.exists).toBe(existsSync(result.path));
      } else {
        refused += 1;
        expect(inside).toBe(false);
      }
    }
  }
  expect(proved).toBeGreaterThan(200);
  expect(refused).toBeGreaterThan(200);
});
