import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  createFile,
  type InstallStep,
  installFile,
  openSafe,
  type ReadFile,
  readRegularFile,
  readSafe,
  sweepStaleTemps,
  writeOwnFile,
} from "../../src/base/files.ts";
import { openWorkspace, type SafePath, type Workspace } from "../../src/base/workspace.ts";
import { type TempDir, tempDir } from "../support/temp.ts";

let dir: TempDir;
let workspace: Workspace;
let root: string;

beforeEach(async () => {
  dir = await tempDir({ "ws/d/f": "old\n", "out/keep": "outside\n" });
  root = dir.at("ws");
  workspace = await openWorkspace(root);
});
afterEach(() => dir.remove());

async function safe(path: string): Promise<SafePath> {
  const resolved = await workspace.resolve(path);
  if (!resolved.ok) throw new Error(resolved.message);
  return resolved.path;
}

async function readWhole(path: string): Promise<ReadFile> {
  const read = await readSafe(await safe(path), { maxBytes: 1_000_000 });
  if (!read.ok) throw new Error(read.message);
  return read;
}

const names = (path = root) => readdirSync(path, { recursive: true, encoding: "utf8" }).sort();
const text = (path: string) => readFileSync(join(root, path), "utf8");
const bytes = (content: string) => Buffer.from(content);

const CREATE_STEPS: readonly InstallStep[] = [
  "noted",
  "made",
  "written",
  "synced",
  "checked",
  "linking",
  "linked",
  "installed",
  "settled",
  "forgotten",
];
const REPLACE_STEPS: readonly InstallStep[] = CREATE_STEPS.filter((step) => step !== "linking" && step !== "linked");

describe("killed at every step", () => {
  const killed = (kind: string, path: string, step: string) => {
    const child = Bun.spawnSync([process.execPath, join(import.meta.dir, "install-child.ts"), root, kind, path, "new\n", step]);
    expect([step, child.signalCode]).toEqual([step, "SIGKILL"]);
  };

  test("a replacement leaves the old bytes or the new, and nothing else after the next start", async () => {
    for (const step of REPLACE_STEPS) {
      writeFileSync(join(root, "d/f"), "old\n");
      chmodSync(join(root, "d/f"), 0o640);
      killed("replace", "d/f", step);
      expect(text("d/f")).toBe(["installed", "settled", "forgotten"].includes(step) ? "new\n" : "old\n");
      expect(statSync(join(root, "d/f")).mode & 0o777).toBe(0o640);
      // Between the note and its removal something does lie there: the sweep has work.
      expect(names().length > 2).toBe(step !== "forgotten");
      await openWorkspace(root);
      expect(names()).toEqual(["d", "d/f"]);
    }
  });

  test("a creation leaves no file or the whole file, and nothing else after the next start", async () => {
    for (const step of CREATE_STEPS) {
      killed("create", "d/n", step);
      const made = ["linked", "installed", "settled", "forgotten"].includes(step);
      expect(existsSync(join(root, "d/n"))).toBe(made);
      if (made) expect(text("d/n")).toBe("new\n");
      await openWorkspace(root);
      expect(names()).toEqual(made ? ["d", "d/f", "d/n"] : ["d", "d/f"]);
      if (made) expect(statSync(join(root, "d/n")).nlink).toBe(1);
      rmSync(join(root, "d/n"), { force: true });
    }
  });

  test("a file of our own: the next write in its directory clears up", async () => {
    for (const step of REPLACE_STEPS) {
      writeFileSync(join(root, "d/f"), "old\n");
      killed("own", "d/f", step);
      expect(text("d/f")).toBe(["installed", "settled", "forgotten"].includes(step) ? "new\n" : "old\n");
      expect(await writeOwnFile(join(root, "d/f"), "next\n")).toEqual({ ok: true });
      expect(names()).toEqual(["d", "d/f"]);
    }
  });
});

describe("a failing system call at every step", () => {
  const failAt = (fatal: InstallStep) => (step: InstallStep) => {
    if (step === fatal) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
  };
  const before: readonly InstallStep[] = ["noted", "made", "written", "synced", "checked"];

  test("the previous bytes stay, no temporary file, no empty directory", async () => {
    for (const step of before) {
      const replaced = await installFile(workspace, await safe("d/f"), await readWhole("d/f"), bytes("new\n"), {
        onStep: failAt(step),
      });
      expect(replaced).toEqual({ ok: false, reason: "no_space", message: "no space is left on the device" });
      const created = await createFile(workspace, await safe("x/y/n"), bytes("new\n"), { onStep: failAt(step) });
      expect(created).toMatchObject({ ok: false, reason: "no_space" });
      expect(text("d/f")).toBe("old\n");
      expect(names()).toEqual(["d", "d/f"]);
    }
  });
});

describe("no clobber", () => {
  test("a file that appears at the last moment is kept", async () => {
    const onStep = (step: InstallStep) => {
      if (step === "linking") writeFileSync(join(root, "d/n"), "theirs\n");
    };
    const result = await createFile(workspace, await safe("d/n"), bytes("ours\n"), { onStep });
    expect(result).toMatchObject({ ok: false, reason: "exists" });
    expect(text("d/n")).toBe("theirs\n");
    expect(names()).toEqual(["d", "d/f", "d/n"]);
  });

  test("a dangling link that appears at the last moment is not written through", async () => {
    const onStep = (step: InstallStep) => {
      if (step === "linking") symlinkSync(dir.at("out/new"), join(root, "d/n"));
    };
    expect(await createFile(workspace, await safe("d/n"), bytes("ours\n"), { onStep })).toMatchObject({
      ok: false,
      reason: "exists",
    });
    expect(names(dir.at("out"))).toEqual(["keep"]);
  });

  test("without hard links: created all the same, and still nothing replaced", async () => {
    const noLinks = (also: () => void) => (step: InstallStep) => {
      if (step !== "linking") return;
      also();
      throw Object.assign(new Error("links"), { code: "EPERM" });
    };
    expect(await createFile(workspace, await safe("d/n"), bytes("ours\n"), { onStep: noLinks(() => {}) })).toEqual({ ok: true });
    expect(text("d/n")).toBe("ours\n");
    const appears = noLinks(() => writeFileSync(join(root, "d/m"), "theirs\n"));
    expect(await createFile(workspace, await safe("d/m"), bytes("ours\n"), { onStep: appears })).toMatchObject({
      reason: "exists",
    });
    expect(text("d/m")).toBe("theirs\n");
    expect(names()).toEqual(["d", "d/f", "d/m", "d/n"]);
  });

  test("E24 what somebody else writes meanwhile is kept, whatever the moment", async () => {
    for (const step of ["noted", "made", "written", "synced", "checked"] as const) {
      writeFileSync(join(root, "d/f"), "old\n");
      const original = await readWhole("d/f");
      const onStep = (now: InstallStep) => {
        if (now === step) appendFileSync(join(root, "d/f"), "theirs\n");
      };
      const result = await installFile(workspace, await safe("d/f"), original, bytes("new\n"), { onStep });
      expect(result).toMatchObject({ ok: false, reason: "changed" });
      expect(text("d/f")).toBe("old\ntheirs\n");
    }
    expect(names()).toEqual(["d", "d/f"]);
  });

  test("E24 also when the size and the time of the file are the same as before", async () => {
    const original = await readWhole("d/f");
    const { atime, mtime } = statSync(join(root, "d/f"));
    writeFileSync(join(root, "d/f"), "OLD\n");
    utimesSync(join(root, "d/f"), atime, mtime);
    expect(await installFile(workspace, await safe("d/f"), original, bytes("new\n"))).toMatchObject({ reason: "changed" });
    rmSync(join(root, "d/f"));
    expect(await installFile(workspace, await safe("d/f"), original, bytes("new\n"))).toMatchObject({ reason: "missing" });
    expect(names()).toEqual(["d"]);
  });
});

describe("W06 swaps between check and use", () => {
  const swap = () => {
    renameSync(join(root, "d"), join(root, "d.real"));
    symlinkSync(dir.at("out"), join(root, "d"));
  };

  test("W06 a directory replaced by a link after the proof: refused, for reading and writing", async () => {
    writeFileSync(dir.at("out/f"), "outside\n");
    const [file, fresh, deep] = [await safe("d/f"), await safe("d/n"), await safe("d/e/n")];
    const original = await readWhole("d/f");
    swap();
    expect(await createFile(workspace, fresh, bytes("x"))).toMatchObject({ ok: false, reason: "escaped" });
    expect(await createFile(workspace, deep, bytes("x"))).toMatchObject({ ok: false, reason: "escaped" });
    expect(await installFile(workspace, file, original, bytes("x"))).toMatchObject({ ok: false, reason: "escaped" });
    expect(await openSafe(file)).toMatchObject({ ok: false, reason: "escaped" });
    expect(names(dir.at("out"))).toEqual(["f", "keep"]);
    expect(readFileSync(dir.at("out/f"), "utf8")).toBe("outside\n");
  });

  test("W06 replaced or moved away while the file is written: refused, and nothing is left in either place", async () => {
    const original = await readWhole("d/f");
    for (const moment of ["noted", "made", "written", "synced", "checked"] as const) {
      const onStep = (step: InstallStep) => {
        if (step === moment) swap();
      };
      const [file, fresh] = [await safe("d/f"), await safe("d/e/n")];
      expect(await createFile(workspace, fresh, bytes("x"), { onStep })).toMatchObject({ ok: false, reason: "escaped" });
      expect(names(dir.at("out"))).toEqual(["keep"]);
      expect(names(join(root, "d.real"))).toEqual(["f"]);
      rmSync(join(root, "d"));
      renameSync(join(root, "d.real"), join(root, "d"));
      expect(await installFile(workspace, file, original, bytes("x"), { onStep })).toMatchObject({
        ok: false,
        reason: "escaped",
      });
      expect(names(dir.at("out"))).toEqual(["keep"]);
      expect(text("d.real/f")).toBe("old\n");
      rmSync(join(root, "d"));
      renameSync(join(root, "d.real"), join(root, "d"));
    }
    expect(names()).toEqual(["d", "d/f"]);
  });

  test("W06 the file itself replaced by a link: never followed", async () => {
    const file = await safe("d/f");
    const original = await readWhole("d/f");
    rmSync(join(root, "d/f"));
    symlinkSync(dir.at("out/keep"), join(root, "d/f"));
    expect(await openSafe(file)).toMatchObject({ ok: false, reason: "not_regular" });
    expect(await installFile(workspace, file, original, bytes("x"))).toMatchObject({ ok: false, reason: "changed" });
    expect(readFileSync(dir.at("out/keep"), "utf8")).toBe("outside\n");
  });

  test("W06 on a platform without /proc the path is proved again before each use", async () => {
    const script = `
      Object.defineProperty(process, "platform", { value: "darwin" });
      const { createFile, installFile, readSafe } = await import(${JSON.stringify(join(import.meta.dir, "../../src/base/files.ts"))});
      const { openWorkspace } = await import(${JSON.stringify(join(import.meta.dir, "../../src/base/workspace.ts"))});
      const { renameSync, symlinkSync, readdirSync, rmSync } = await import("node:fs");
      const [root, out] = process.argv.slice(1);
      const workspace = await openWorkspace(root);
      const path = async (name) => (await workspace.resolve(name)).path;
      const reasons = [];
      const say = (result) => reasons.push(result.ok ? "ok" : result.reason);
      const swap = () => { renameSync(root + "/d", root + "/d.real"); symlinkSync(out, root + "/d"); };
      say(await createFile(workspace, await path("d/n"), Buffer.from("x")));
      const original = await readSafe(await path("d/f"), { maxBytes: 100 });
      const [file, fresh] = [await path("d/f"), await path("d/m")];
      say(await installFile(workspace, file, original, Buffer.from("x"), { onStep: (step) => step === "synced" && swap() }));
      say(await createFile(workspace, fresh, Buffer.from("x")));
      say(await readSafe(file, { maxBytes: 100 }));
      rmSync(root + "/d");
      renameSync(root + "/d.real", root + "/d");
      console.log(JSON.stringify(reasons));
    `;
    const child = Bun.spawnSync([process.execPath, "-e", script, root, dir.at("out")]);
    expect(child.stderr.toString()).toBe("");
    expect(JSON.parse(child.stdout.toString())).toEqual(["ok", "escaped", "escaped", "escaped"]);
    expect(names(dir.at("out"))).toEqual(["keep"]);
    // The temporary file could not be reached while the directory was elsewhere; its note brings the next start to it.
    await openWorkspace(root);
    expect(names()).toEqual(["d", "d/f", "d/n"]);
    expect(text("d/f")).toBe("old\n");
  });

  test("W06 500 creations and reads against a process that swaps without rest", async () => {
    symlinkSync(dir.at("out"), join(root, "link"));
    writeFileSync(dir.at("out/f"), "outside\n");
    const swapper = Bun.spawn([process.execPath, join(import.meta.dir, "swap-child.ts"), root], {
      stdout: "pipe",
      stderr: "ignore",
    });
    let created = 0;
    try {
      await swapper.stdout.getReader().read();
      for (let index = 0; index < 500; index++) {
        const target = await workspace.resolve(`d/f${index}`);
        if (target.ok && (await createFile(workspace, target.path, bytes("x"))).ok) created += 1;
        const source = await workspace.resolve("d/f");
        const read = source.ok ? await readSafe(source.path, { maxBytes: 100 }) : source;
        if (read.ok) expect(read.bytes.toString()).toBe("old\n");
      }
    } finally {
      swapper.kill("SIGKILL");
      await swapper.exited;
    }
    expect(names(dir.at("out"))).toEqual(["f", "keep"]);
    const kept = names().filter((name) => /(?:^|\/)f\d+$/.test(name) && lstatSync(join(root, name)).isFile());
    expect(kept.length).toBe(created);
  }, 20_000);
});

describe("notes of temporary files", () => {
  /** A name as a process that is gone would have given it: real but finished pid, this boot and namespace. */
  const deadName = async () => {
    const child = Bun.spawn([
      process.execPath,
      "-e",
      `console.log((await import(${JSON.stringify(join(import.meta.dir, "../../src/base/file-temps.ts"))})).tempName())`,
    ]);
    const name = (await new Response(child.stdout).text()).trim();
    await child.exited;
    return name;
  };
  const note = (name: string, where: string) => {
    mkdirSync(join(root, ".thndrs/installs"), { recursive: true });
    writeFileSync(join(root, ".thndrs/installs", name), where);
  };

  test("a note cannot make the sweep delete anything else", async () => {
    const name = await deadName();
    writeFileSync(dir.at("out", name), "outside");
    symlinkSync(dir.at("out"), join(root, "link"));
    for (const where of ["../out", dir.at("out"), "link", "d/../../out", "d\0", "x".repeat(5000)]) {
      note(name, where);
      sweepStaleTemps(root);
      expect(existsSync(dir.at("out", name))).toBe(true);
    }
    note("important.txt", "d");
    note(name, "d/f");
    mkdirSync(join(root, "e", name), { recursive: true });
    note(name, "e");
    sweepStaleTemps(root);
    expect(names().filter((one) => !one.startsWith("link"))).toEqual([
      ".thndrs",
      ".thndrs/installs",
      ".thndrs/installs/important.txt",
      "d",
      "d/f",
      "e",
      `e/${name}`,
    ]);
  });

  test("what a living process is writing is left alone; what is old is not", async () => {
    const child = Bun.spawn([process.execPath, "-e", "console.log(process.pid); await Bun.stdin.text()"], { stdin: "pipe" });
    try {
      await child.stdout.getReader().read();
      const living = (await deadName()).replace(/tmp-\d+-/, `tmp-${child.pid}-`);
      const elsewhere = (await deadName()).replace(/-[0-9a-f]{8}(?=[0-9a-f]{16}$)/, "-00000000");
      for (const name of [living, elsewhere]) {
        writeFileSync(join(root, "d", name), "half");
        note(name, "d");
      }
      sweepStaleTemps(root);
      expect(readdirSync(join(root, "d")).sort()).toEqual([elsewhere, living, "f"].sort());
      const hourAgo = new Date(Date.now() - 3_600_000);
      for (const name of [living, elsewhere]) utimesSync(join(root, ".thndrs/installs", name), hourAgo, hourAgo);
      sweepStaleTemps(root);
      expect(names()).toEqual(["d", "d/f"]);
    } finally {
      child.kill();
      await child.exited;
    }
  });

  test("`.thndrs` as a link outwards is not used; the write works without a note", async () => {
    symlinkSync(dir.at("out"), join(root, ".thndrs"));
    const seen: string[][] = [];
    const onStep = () => seen.push(names(dir.at("out")));
    expect(await createFile(workspace, await safe("d/n"), bytes("x"), { onStep })).toEqual({ ok: true });
    expect(new Set(seen.map(String))).toEqual(new Set(["keep"]));
  });

  test("what else is in `.thndrs` stays", async () => {
    mkdirSync(join(root, ".thndrs/sessions"), { recursive: true });
    expect(await createFile(workspace, await safe("n"), bytes("x"))).toEqual({ ok: true });
    expect(names()).toEqual([".thndrs", ".thndrs/sessions", "d", "d/f", "n"]);
  });
});

describe("reading without surprises", () => {
  test("R01 nothing but a regular file is opened, and nothing blocks", async () => {
    Bun.spawnSync(["mkfifo", join(root, "pipe")]);
    symlinkSync("pipe", join(root, "to-pipe"));
    const start = performance.now();
    expect(await readRegularFile(join(root, "pipe"), { maxBytes: 10 })).toMatchObject({ ok: false, reason: "not_regular" });
    expect(await readRegularFile(join(root, "to-pipe"), { maxBytes: 10 })).toMatchObject({ ok: false, reason: "not_regular" });
    expect(await readRegularFile("/dev/zero", { maxBytes: 10, cut: true })).toMatchObject({ ok: false, reason: "not_regular" });
    expect(await readRegularFile(root, { maxBytes: 10 })).toMatchObject({ ok: false, reason: "directory" });
    expect(await readRegularFile(join(root, "none"), { maxBytes: 10 })).toMatchObject({ ok: false, reason: "missing" });
    expect(performance.now() - start).toBeLessThan(1000);
  });

  test("links are followed unless told otherwise; limits hold", async () => {
    symlinkSync("d/f", join(root, "link"));
    const path = join(root, "link");
    expect(await readRegularFile(path, { maxBytes: 4 })).toMatchObject({ ok: true, bytes: bytes("old\n"), truncated: false });
    expect(await readRegularFile(path, { maxBytes: 4, noFollow: true })).toMatchObject({ ok: false, reason: "not_regular" });
    expect(await readRegularFile(path, { maxBytes: 3 })).toMatchObject({ ok: false, reason: "too_large" });
    expect(await readRegularFile(path, { maxBytes: 3, cut: true })).toMatchObject({
      ok: true,
      bytes: bytes("old"),
      truncated: true,
    });
    expect(await readRegularFile(path, { maxBytes: 0, cut: true })).toMatchObject({
      ok: true,
      bytes: bytes(""),
      truncated: true,
    });
  });

  test.skipIf(process.platform !== "linux")("files that say they are empty and are not", async () => {
    const read = await readRegularFile("/proc/self/status", { maxBytes: 100_000 });
    expect(read.ok && read.bytes.toString()).toContain("Pid:");
    expect(await readRegularFile("/proc/self/status", { maxBytes: 20 })).toMatchObject({ ok: false, reason: "too_large" });
  });
});

describe("files of our own", () => {
  test("exact mode, private directories, whole content", async () => {
    const path = dir.at("home/.config/thndrs/config.toml");
    expect(await writeOwnFile(path, "a = 1\n")).toEqual({ ok: true });
    expect(readFileSync(path, "utf8")).toBe("a = 1\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dir.at("home/.config/thndrs")).mode & 0o777).toBe(0o700);
    expect(await writeOwnFile(path, bytes("b"), 0o644)).toEqual({ ok: true });
    expect(statSync(path).mode & 0o777).toBe(0o644);
    expect(readdirSync(dir.at("home/.config/thndrs"))).toEqual(["config.toml"]);
  });

  test("pieces are written as they are made; a maker that throws leaves the old bytes and no temporary file", async () => {
    const path = dir.at("export/page.html");
    async function* pieces(count: number): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < count; at++) yield bytes(`piece ${at}\n`);
      if (count < 3) throw new Error("no more");
    }
    expect(await writeOwnFile(path, pieces(3))).toEqual({ ok: true });
    expect(readFileSync(path, "utf8")).toBe("piece 0\npiece 1\npiece 2\n");
    await expect(writeOwnFile(path, pieces(2))).rejects.toThrow("no more");
    expect(readFileSync(path, "utf8")).toBe("piece 0\npiece 1\npiece 2\n");
    expect(readdirSync(dir.at("export"))).toEqual(["page.html"]);
  });

  test("a device, a FIFO or a protected file is not replaced, whoever we are", async () => {
    Bun.spawnSync(["mkfifo", dir.at("pipe")]);
    symlinkSync(dir.at("pipe"), dir.at("to-pipe"));
    writeFileSync(dir.at("protected"), "old", { mode: 0o444 });
    for (const name of ["pipe", "to-pipe"]) {
      expect(await writeOwnFile(dir.at(name), "x")).toMatchObject({ ok: false, reason: "not_regular" });
    }
    expect(await writeOwnFile(dir.at("protected"), "x")).toMatchObject({ ok: false, reason: "denied" });
    expect(lstatSync(dir.at("pipe")).isFIFO()).toBe(true);
    expect(readFileSync(dir.at("protected"), "utf8")).toBe("old");
  });

  test("a link is kept and its target written; a dangling one or a directory is refused", async () => {
    mkdirSync(dir.at("dotfiles"));
    writeFileSync(dir.at("dotfiles/config"), "old");
    symlinkSync(dir.at("dotfiles/config"), dir.at("config"));
    symlinkSync(dir.at("nowhere"), dir.at("dangling"));
    expect(await writeOwnFile(dir.at("config"), "new")).toEqual({ ok: true });
    expect(readlinkSync(dir.at("config"))).toBe(dir.at("dotfiles/config"));
    expect(readFileSync(dir.at("dotfiles/config"), "utf8")).toBe("new");
    expect(await writeOwnFile(dir.at("dangling"), "x")).toMatchObject({ ok: false });
    expect(await writeOwnFile(dir.at("dotfiles"), "x")).toMatchObject({ ok: false, reason: "directory" });
    expect(existsSync(dir.at("nowhere"))).toBe(false);
    expect(readdirSync(dir.at("dotfiles"))).toEqual(["config"]);
  });
});
