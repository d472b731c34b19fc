/** `bun run release`: its plan without any download, its pieces byte by byte, and one real release of the native target. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { type Entry, tarGz, zip } from "../../scripts/release/archive.ts";
import { inspectExecutable, proveExecutable } from "../../scripts/release/executable.ts";
import { type Lock, productPackages, readLock } from "../../scripts/release/lock.ts";
import { signAdHoc, signatureHolds } from "../../scripts/release/mach-sign.ts";
import { runtimeProject } from "../../scripts/release/runtimes.ts";
import { acceptable, notices, readComponents, sbom } from "../../scripts/release/sbom.ts";
import { archiveName, chooseTargets, nativeTarget, TARGETS, thisHost } from "../../scripts/release/targets.ts";
import { checkTag, sumsFile } from "../../scripts/release.ts";
import { smoke } from "../../scripts/smoke.ts";
import { root } from "../support/source-tree.ts";
import { tempDir } from "../support/temp.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const target = (name: string) => {
  const found = TARGETS.find((one) => one.name === name);
  if (!found) throw new Error(name);
  return found;
};

test("L07 archives are named after version, system, processor and C library", () => {
  expect(TARGETS.map((one) => archiveName("1.2.3", one))).toEqual([
    "thndrs-1.2.3-linux-x64.tar.gz",
    "thndrs-1.2.3-linux-arm64.tar.gz",
    "thndrs-1.2.3-linux-x64-musl.tar.gz",
    "thndrs-1.2.3-linux-arm64-musl.tar.gz",
    "thndrs-1.2.3-darwin-x64.tar.gz",
    "thndrs-1.2.3-darwin-arm64.tar.gz",
    "thndrs-1.2.3-windows-x64.zip",
  ]);
});

test("every machine has at most one native target", () => {
  const native = (platform: string, arch: string, musl = false) => nativeTarget({ platform, arch, musl })?.name;
  expect(native("linux", "x64")).toBe("linux-x64");
  expect(native("linux", "arm64", true)).toBe("linux-arm64-musl");
  expect(native("darwin", "arm64")).toBe("darwin-arm64");
  expect(native("win32", "x64")).toBe("windows-x64");
  expect(native("win32", "arm64")).toBeUndefined();
  expect(native("freebsd", "x64")).toBeUndefined();
  expect(nativeTarget(thisHost())).toBeDefined();
});

test("targets are chosen by name, in the table's order; a name that is none is named", () => {
  const native = target("linux-arm64");
  expect(chooseTargets("all", native)).toEqual(TARGETS);
  expect(chooseTargets("windows-x64,native,linux-x64", native).map(({ name }) => name)).toEqual([
    "linux-x64",
    "linux-arm64",
    "windows-x64",
  ]);
  expect(() => chooseTargets("linux-x86", native)).toThrow("no such target: linux-x86 (there are linux-x64,");
  expect(() => chooseTargets("native", undefined)).toThrow("no such target: native");
});

test("every target's runtime has its hash in bun.lock, and comes with nothing else", async () => {
  const lock = await readLock();
  const project = runtimeProject(TARGETS, lock);
  const made = JSON.parse(project.lock) as Lock;
  expect(Object.keys(made.packages).sort()).toEqual(TARGETS.map(({ runtime }) => runtime).sort());
  for (const row of Object.values(made.packages)) expect(row[3]).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
  expect(JSON.parse(project.manifest).dependencies).toEqual(made.workspaces[""].dependencies);
  const other = { ...lock, packages: { "@oven/bun-linux-x64": ["@oven/bun-linux-x64@0.0.1", "", {}, "sha512-x"] } } as const;
  expect(() => runtimeProject([target("linux-x64")], other)).toThrow("bun.lock has no hash for @oven/bun-linux-x64@");
});

const ENTRIES: readonly Entry[] = [0, 1, 511, 512, 513, 70_000].map((size, index) => ({
  path: `thndrs-1/file ${index} é`,
  bytes: new Uint8Array(size).map((_, at) => (at * 31) % 251),
  executable: index === 5,
}));
const TIME = 1_750_000_000;

test("a tar.gz unpacks to the same bytes and modes, and is the same every time", async () => {
  const packed = tarGz(ENTRIES, TIME);
  expect(tarGz(ENTRIES, TIME)).toEqual(packed);
  const files = await new Bun.Archive(packed).files();
  for (const entry of ENTRIES) expect(await files.get(entry.path)?.bytes()).toEqual(entry.bytes);
  await using dir = await tempDir({ "a.tar.gz": packed });
  const list = Bun.spawnSync(["tar", "-tvzf", dir.at("a.tar.gz")], { env: { ...process.env, TZ: "UTC", LC_ALL: "C.UTF-8" } });
  expect(list.exitCode).toBe(0);
  const lines = list.stdout.toString().trimEnd().split("\n");
  expect(lines).toHaveLength(ENTRIES.length);
  expect(lines[0]).toStartWith("-rw-r--r--");
  expect(lines[5]).toStartWith("-rwxr-xr-x");
  expect(() => tarGz([{ path: "x".repeat(101), bytes: bytes("") }], 0)).toThrow("too long");
});

/** The entries of a zip file by its central directory. */
function unzip(packed: Uint8Array): readonly (Entry & { readonly mode: number })[] {
  const file = Buffer.from(packed);
  const end = file.length - 22;
  expect(file.toString("latin1", end, end + 4)).toBe("PK\x05\x06");
  const found: (Entry & { mode: number })[] = [];
  let at = file.readUInt32LE(end + 16);
  for (let left = file.readUInt16LE(end + 10); left > 0; left--) {
    expect(file.toString("latin1", at, at + 4)).toBe("PK\x01\x02");
    const [size, nameSize, mode] = [file.readUInt32LE(at + 20), file.readUInt16LE(at + 28), file.readUInt32LE(at + 38) >>> 16];
    const local = file.readUInt32LE(at + 42);
    const path = file.toString("utf8", at + 46, at + 46 + nameSize);
    expect(file.toString("utf8", local + 30, local + 30 + nameSize)).toBe(path);
    const start = local + 30 + nameSize;
    const content = new Uint8Array(inflateRawSync(file.subarray(start, start + size)));
    expect(file.readUInt32LE(at + 24)).toBe(content.length);
    expect(file.readUInt32LE(at + 16)).toBe(Bun.hash.crc32(content));
    found.push({ path, bytes: content, mode });
    at += 46 + nameSize;
  }
  expect(at).toBe(end);
  return found;
}

test("a zip unpacks to the same bytes and modes, and is the same every time", async () => {
  const packed = zip(ENTRIES, TIME);
  expect(zip(ENTRIES, TIME)).toEqual(packed);
  const found = unzip(packed);
  expect(found.map(({ path }) => path)).toEqual(ENTRIES.map(({ path }) => path));
  for (const [index, entry] of ENTRIES.entries()) expect(found[index]?.bytes).toEqual(entry.bytes);
  expect(found.map(({ mode }) => mode)).toEqual([...Array(5).fill(0o100644), 0o100755]);
  if (!Bun.which("unzip")) return;
  await using dir = await tempDir({ "a.zip": packed });
  expect(Bun.spawnSync(["unzip", "-tq", dir.at("a.zip")]).exitCode).toBe(0);
  const list = Bun.spawnSync(["unzip", "-Z", "-T", dir.at("a.zip")], { env: { ...process.env, LC_ALL: "C.UTF-8" } });
  expect(list.stdout.toString()).toContain("20250615.150640");
});

/** A header with nothing behind it. */
function header(write: (file: Buffer) => void): Buffer {
  const file = Buffer.alloc(2048);
  write(file);
  return file;
}

function elf(machine: number, loader: string): Buffer {
  return header((file) => {
    file.write("\x7fELF\x02\x01\x01", "latin1");
    file.writeUInt16LE(machine, 18);
    file.writeBigUInt64LE(64n, 32);
    file.writeUInt16LE(56, 54);
    file.writeUInt16LE(2, 56);
    file.writeUInt32LE(1, 64);
    file.writeUInt32LE(3, 120);
    file.writeBigUInt64LE(1024n, 128);
    file.writeBigUInt64LE(BigInt(loader.length), 152);
    file.write(loader, 1024, "latin1");
  });
}

const HEADERS: Readonly<Record<string, Buffer>> = {
  "linux-x64": elf(62, "/lib64/ld-linux-x86-64.so.2\0"),
  "linux-arm64": elf(183, "/lib/ld-linux-aarch64.so.1\0"),
  "linux-x64-musl": elf(62, "/lib/ld-musl-x86_64.so.1\0"),
  "linux-arm64-musl": elf(183, "/lib/ld-musl-aarch64.so.1\0"),
  "darwin-x64": header((file) => file.writeUInt32LE(0xfeedfacf, 0) && file.writeUInt32LE(0x01000007, 4)),
  "darwin-arm64": header((file) => file.writeUInt32LE(0xfeedfacf, 0) && file.writeUInt32LE(0x0100000c, 4)),
  "windows-x64": header((file) => {
    file.write("MZ");
    file.writeUInt32LE(128, 60);
    file.write("PE\0\0", 128, "latin1");
    file.writeUInt16LE(0x8664, 132);
  }),
};

test("an executable is what its archive's name says, or the release fails", async () => {
  for (const one of TARGETS) {
    for (const [name, file] of Object.entries(HEADERS)) {
      if (name === one.name) expect(() => proveExecutable(file, one)).not.toThrow();
      else
        expect(() => proveExecutable(file, one), `${name} as ${one.name}`).toThrow(`${one.name}: the program that was built is`);
    }
  }
  const native = nativeTarget(thisHost());
  const self = new Uint8Array(await Bun.file(process.execPath).slice(0, 65_536).arrayBuffer());
  expect(inspectExecutable(self)).toEqual(
    native && { os: native.os, arch: native.arch, ...(native.libc ? { libc: native.libc } : {}) },
  );
  for (const junk of [new Uint8Array(0), bytes("#!/bin/sh\n".repeat(300)), elf(62, "").fill(0, 56, 58), elf(40, "/lib/ld.so\0")])
    expect(inspectExecutable(junk)).toBeUndefined();
});

/** A Mach-O file with a __TEXT and a __LINKEDIT segment, `size` bytes before its signature. */
function macho(size: number): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(size + 64).map((_, at) => (at * 7) % 253);
  const view = new DataView(file.buffer);
  file.fill(0, 0, 32 + 72 * 2 + 16);
  for (const [index, word] of [0xfeedfacf, 0x01000007, 3, 2, 3, 72 * 2 + 16].entries()) view.setUint32(index * 4, word, true);
  for (const [at, name, start, length] of [
    [32, "__TEXT", 0, 4096],
    [104, "__LINKEDIT", 4096, size + 64 - 4096],
  ] as const) {
    view.setUint32(at, 0x19, true);
    view.setUint32(at + 4, 72, true);
    file.set(bytes(name), at + 8);
    view.setBigUint64(at + 32, BigInt(length), true);
    view.setBigUint64(at + 40, BigInt(start), true);
    view.setBigUint64(at + 48, BigInt(length), true);
  }
  for (const [index, word] of [0x1d, 16, size, 64].entries()) view.setUint32(176 + index * 4, word, true);
  return file;
}

test("a macOS program is signed so that every changed byte shows", () => {
  for (const size of [8192, 20_000, 4096 * 9 + 1]) {
    const plain = macho(size);
    expect(signatureHolds(plain)).toBe(false);
    const signed = signAdHoc(plain, "thndrs");
    expect(signatureHolds(signed)).toBe(true);
    expect(signAdHoc(signed, "thndrs")).toEqual(signed);
    expect(signed.subarray(232, size)).toEqual(plain.subarray(232, size));
    const view = new DataView(signed.buffer);
    expect(view.getUint32(176 + 8, true) + view.getUint32(176 + 12, true)).toBe(signed.length);
    expect(Number(view.getBigUint64(104 + 40, true) + view.getBigUint64(104 + 48, true))).toBe(signed.length);
    for (const at of [5, 233, 4095, 4096, size - 1, size + 20 + 100]) {
      const changed = Uint8Array.from(signed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(signatureHolds(changed), `byte ${at}`).toBe(false);
    }
    expect(signatureHolds(signed.slice(0, -16))).toBe(false);
  }
  expect(() => signatureHolds(new Uint8Array(100))).toThrow("not a 64-bit Mach-O file");
});

test("the packages of the product: innermost copy wins, optional peers stay out, nothing is missed", () => {
  const row = (id: string, facts: object = {}) => [id, "", facts, "sha512-AAAA"] as const;
  const lock: Lock = {
    workspaces: { "": { dependencies: { a: "1", "@s/b": "1" } } },
    packages: {
      a: row("a@1.0.0", { dependencies: { c: "2" } }),
      "a/c": row("c@2.0.0", { dependencies: { a: "1" } }),
      c: row("c@1.0.0"),
      dev: row("dev@1.0.0"),
      "@s/b": row("@s/b@1.0.0", {
        dependencies: { c: "1" },
        optionalDependencies: { gone: "1" },
        peerDependencies: { a: "1", dev: "1" },
        optionalPeers: ["dev"],
      }),
    },
  };
  expect(productPackages(lock).map((one) => [`${one.name}@${one.version}`, one.directory, one.needs])).toEqual([
    ["@s/b@1.0.0", "node_modules/@s/b", ["a@1.0.0", "c@1.0.0"]],
    ["a@1.0.0", "node_modules/a", ["c@2.0.0"]],
    ["c@1.0.0", "node_modules/c", []],
    ["c@2.0.0", "node_modules/a/node_modules/c", ["a@1.0.0"]],
  ]);
  const { a: _, ...without } = lock.packages;
  expect(() => productPackages({ ...lock, packages: without })).toThrow("bun.lock has no a for the project");
});

test("a licence nobody has looked at stops the release", () => {
  for (const fine of ["MIT", "Apache-2.0", "(MIT OR GPL-3.0-only)", "MIT AND ISC"]) expect(acceptable(fine), fine).toBe(true);
  for (const open of ["", "GPL-3.0-only", "MIT AND GPL-3.0-only", "UNLICENSED", "SEE LICENSE IN x", "(MIT AND (GPL OR X))"])
    expect(acceptable(open), open).toBe(false);
});

type Bom = {
  readonly components: readonly { readonly "bom-ref": string; readonly name: string; readonly licenses: readonly unknown[] }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};

/** Names of the packages that end up in the program. */
async function bundledPackages(): Promise<ReadonlySet<string>> {
  const built = await Bun.build({ entrypoints: [join(root, "src/main.ts")], target: "bun", splitting: true, metafile: true });
  const names = Object.keys(built.metafile?.inputs ?? {}).flatMap(
    (path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  );
  return new Set(names);
}

test("the bill of materials names what is in the program, with licences, and agrees with itself", async () => {
  const components = await readComponents();
  const { dependencies } = await Bun.file(join(root, "package.json")).json();
  const about = { version: "1.2.3", commit: "abc", seconds: TIME };
  const text = sbom(components, Object.keys(dependencies), about);
  expect(sbom(components, Object.keys(dependencies), about)).toBe(text);
  expect(JSON.parse(text)).toMatchObject({
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    metadata: { component: { name: "thndrs" } },
  });
  expect(JSON.parse(text).serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const bom = JSON.parse(text) as Bom;
  const refs = new Set(bom.components.map((one) => one["bom-ref"]));
  expect(refs.size).toBe(bom.components.length);
  for (const one of bom.components) expect(one.licenses, one.name).toHaveLength(1);
  for (const { ref, dependsOn } of bom.dependencies.slice(1)) for (const one of [ref, ...dependsOn]) expect(refs).toContain(one);
  const top = bom.dependencies[0]?.dependsOn ?? [];
  for (const name of ["bun", ...Object.keys(dependencies)]) {
    expect(
      top.some((one) => one.startsWith(`pkg:npm/${name.replace("@", "%40")}@`)),
      name,
    ).toBe(true);
  }
  const bundled = await bundledPackages();
  expect(bundled.size).toBeGreaterThan(5);
  expect([...bundled].filter((name) => !components.some((one) => one.name === name))).toEqual([]);
  const legal = await notices(components);
  for (const one of components) expect(legal).toContain(`${one.name} ${one.version}: ${one.licence}\n`);
  for (const part of ["JavaScriptCore", "Permission is hereby granted"]) expect(legal).toContain(part);
});

test("a tag must fit the version, a clean tree and an address", () => {
  const url = "https://example.invalid/releases";
  expect(() => checkTag("v1.2.3", "1.2.3", "", url)).not.toThrow();
  expect(() => checkTag("v1.2.4", "1.2.3", "", url)).toThrow("version 1.2.3 is released as v1.2.3");
  expect(() => checkTag("1.2.3", "1.2.3", "", url)).toThrow("does not fit");
  expect(() => checkTag("v1.2.3", "1.2.3", " M src/main.ts", url)).toThrow("the working tree differs");
  expect(() => checkTag("v1.2.3", "1.2.3", undefined, url)).toThrow("no git checkout");
  expect(() => checkTag("v1.2.3", "1.2.3", "", undefined)).toThrow("needs --url");
});

test("sums are sorted and in the form sha256sum reads", () => {
  expect(
    sumsFile(
      new Map([
        ["b", "2"],
        ["a", "1"],
      ]),
    ),
  ).toBe("1  a\n2  b\n");
});

test("the smoke test fails on a program that does less, or lets the directory run something", async () => {
  await using dir = await tempDir({
    wrong: '#!/bin/sh\necho "thndrs 9.9.9"\n',
    lured: '#!/bin/sh\n: > RAN\ncase $1 in --version) echo "thndrs 1.2.3" ;; *) exit 3 ;; esac\n',
  });
  for (const name of ["wrong", "lured"]) chmodSync(dir.at(name), 0o755);
  const wrong = await smoke(dir.at("wrong"), "1.2.3");
  expect(wrong.join("\n")).toContain("--version: ended with 0\n── stdout\nthndrs 9.9.9");
  const lured = (await smoke(dir.at("lured"), "1.2.3")).map((one) => one.split(": ended")[0]);
  expect(lured).toEqual([
    "--help",
    "help print-mode",
    "-p --replay",
    "a file made by a tool",
    "a session on disk",
    "nothing of the directory runs",
  ]);
});

test("L07 a release of the native target: built, tried out, packed, summed, installed, and it runs", async () => {
  await using dir = await tempDir({});
  const release = Bun.spawn(
    [process.execPath, join(root, "scripts/release.ts"), "--targets=native", `--outdir=${dir.at("out")}`],
    { cwd: dir.path, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  );
  const [said, wrong] = await Promise.all([new Response(release.stdout).text(), new Response(release.stderr).text()]);
  expect(await release.exited, wrong).toBe(0);
  const { version } = await Bun.file(join(root, "package.json")).json();
  const native = nativeTarget(thisHost());
  if (!native) throw new Error("no native target");
  const archive = archiveName(version, native);
  expect(said).toContain(`${native.name.padEnd(18)} tried out in a hostile directory: works`);
  expect(said).toMatch(new RegExp(`MiB → +[\\d.]+ MiB +${archive}`));
  expect(readdirSync(dir.at("out")).sort()).toEqual(["SHA256SUMS", "install.sh", archive, `thndrs-${version}.cdx.json`].sort());
  const sums = await dir.read("out/SHA256SUMS");
  for (const line of sums.trimEnd().split("\n")) {
    const [sum, name = ""] = line.split("  ");
    expect(new Bun.CryptoHasher("sha256").update(await Bun.file(dir.at("out", name)).bytes()).digest("hex")).toBe(sum ?? "");
  }
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => new Response(Bun.file(dir.at("out", new URL(request.url).pathname.split("/").at(-1) ?? ""))),
  });
  try {
    const env = {
      PATH: process.env.PATH,
      HOME: dir.at("home"),
      TMPDIR: dir.path,
      THNDRS_RELEASES_URL: `http://127.0.0.1:${server.port}`,
    };
    const installed = Bun.spawn(["sh", dir.at("out/install.sh")], { cwd: dir.path, env, stdout: "pipe", stderr: "pipe" });
    expect(await installed.exited, await new Response(installed.stderr).text()).toBe(0);
  } finally {
    await server.stop(true);
  }
  const program = dir.at("home/.local/bin/thndrs");
  const run = Bun.spawnSync([program, "--version"], { env: {}, cwd: dir.path });
  expect(run.stdout.toString()).toBe(`thndrs ${version}\n`);
  expect(existsSync(dir.at("home/.local/bin/.thndrs-install"))).toBe(false);
}, 120_000);
