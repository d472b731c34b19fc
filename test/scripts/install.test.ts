/** scripts/install.sh against a local file server: what it installs, and that a refusal leaves nothing behind. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, statSync } from "node:fs";
import { copyFile, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { tarGz } from "../../scripts/release/archive.ts";
import { stampInstaller } from "../../scripts/release/installer.ts";
import { isOtherVariable } from "../../src/config/keys.ts";
import { root } from "../support/source-tree.ts";
import { giveTo, type TempDir, tempDir } from "../support/temp.ts";

const script = join(root, "scripts", "install.sh");
const nobody = 65534;

/** What the script may use besides what a test names. */
const TOOLS = "[ cat chmod cp dirname gzip head mkdir mktemp mv printf rm rmdir sed sh tar tr".split(" ");

const bytes = (text: string) => new TextEncoder().encode(text);
const sha256 = (data: Uint8Array) => new Bun.CryptoHasher("sha256").update(data).digest("hex");

function program(version: string, code = 0): Uint8Array<ArrayBuffer> {
  return bytes(`#!/bin/sh\nif [ ${code} != 0 ]; then echo "cannot start" >&2; exit ${code}; fi\necho "thndrs ${version}"\n`);
}

function archiveOf(version: string, target: string, content = program(version)): Uint8Array<ArrayBuffer> {
  return tarGz([{ path: `thndrs-${version}-${target}/thndrs`, bytes: content, executable: true }], 0);
}

type Served = Readonly<Record<string, Uint8Array<ArrayBuffer> | string>>;

/** A release with an archive for each target, as `bun run release` names things. The last one given is the latest. */
function releaseOf(version: string, targets: readonly string[], content = program(version)): Served {
  const files: Record<string, Uint8Array<ArrayBuffer> | string> = {};
  let sums = "";
  for (const target of targets) {
    const name = `thndrs-${version}-${target}.tar.gz`;
    const archive = archiveOf(version, target, content);
    files[`/download/v${version}/${name}`] = archive;
    sums += `${sha256(archive)}  ${name}\n`;
  }
  files[`/download/v${version}/SHA256SUMS`] = sums;
  files["/latest/download/SHA256SUMS"] = sums;
  return files;
}

const ALL = ["linux-x64", "linux-arm64", "linux-x64-musl", "linux-arm64-musl", "darwin-x64", "darwin-arm64"];

class Site {
  files: Served = {};
  readonly asked: string[] = [];
  /** Resolves when this path is asked for; the answer then never ends. */
  stalls: { readonly path: string; readonly reached: () => void } | undefined;
  readonly #server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const path = new URL(request.url).pathname.replace(/^\/releases/, "");
      this.asked.push(path);
      if (this.stalls?.path === path) {
        this.stalls.reached();
        return new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
      }
      const file = this.files[path];
      return file === undefined ? new Response("not here", { status: 404 }) : new Response(file);
    },
  });
  readonly url = `http://127.0.0.1:${this.#server.port}/releases`;

  stop(): void {
    void this.#server.stop(true);
  }
}

const site = new Site();
afterAll(() => site.stop());
// Many short processes: slow on a machine with other work.
setDefaultTimeout(60_000);

type Stage = TempDir & { readonly home: string; readonly temp: string };

/** A home with a blank and a quote in its name, and an empty directory for temporary files. */
async function makeStage(): Promise<Stage> {
  const dir = await tempDir({});
  const home = dir.at("it's my home");
  for (const path of [home, dir.at("tmp")]) await mkdir(path);
  return Object.assign(dir, { home, temp: dir.at("tmp") });
}

type Options = {
  readonly tools?: readonly string[];
  /** Name → text of a shell script that stands in for a program. */
  readonly fakes?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly shell?: readonly string[];
  readonly path?: readonly string[];
  readonly user?: "nobody";
  readonly words?: readonly string[];
  readonly source?: string;
  readonly started?: (pid: number) => void;
};

function unameOf(system: string, machine: string): string {
  return `case $1 in -s) echo ${system} ;; -m) echo ${machine} ;; esac`;
}

const linux = { uname: unameOf("Linux", "x86_64"), getconf: "echo 64", ldd: "echo 'ldd (GNU libc) 2.36'" };

async function fillBin(stage: Stage, options: Options): Promise<string> {
  const bin = stage.at(`bin-${readdirSync(stage.path).length}`);
  await mkdir(bin);
  for (const tool of [...TOOLS, ...(options.tools ?? ["curl", "sha256sum"])]) {
    const found = Bun.which(tool);
    if (found) await symlink(found, join(bin, tool));
  }
  for (const [name, text] of Object.entries({ ...linux, ...options.fakes })) {
    await Bun.write(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

async function install(stage: Stage, options: Options = {}) {
  const bin = await fillBin(stage, options);
  const source = stage.at("install.sh");
  await Bun.write(source, options.source ?? (await Bun.file(script).text()));
  const env = {
    HOME: stage.home,
    PATH: [bin, ...(options.path ?? [])].join(":"),
    TMPDIR: stage.temp,
    THNDRS_RELEASES_URL: site.url,
    ...options.env,
  };
  const drop = [Bun.which("setpriv") ?? "setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
  const before = options.user && process.getuid?.() === 0 ? drop : [];
  const child = Bun.spawn([...before, ...(options.shell ?? ["sh"]), source, ...(options.words ?? [])], {
    cwd: stage.path,
    env: Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined)),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  });
  options.started?.(child.pid);
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

/** Nothing was installed: the home is as empty as it was, and so is the directory for temporary files. */
function expectNothing(stage: Stage): void {
  expect(readdirSync(stage.home)).toEqual([]);
  expect(readdirSync(stage.temp)).toEqual([]);
}

function serve(files: Served): void {
  site.files = files;
  site.asked.length = 0;
  site.stalls = undefined;
}

const shells = [
  ["sh"],
  ["dash"],
  ["bash", "--posix"],
  ["busybox", "sh"],
  ["mksh"],
  ["zsh", "--emulate", "sh"],
  ["yash", "--posixly-correct"],
  ["ksh"],
].filter(([name]) => Bun.which(name ?? "") !== null);

test("L07 installs the latest release in every shell there is, says how to undo it and what PATH lacks", async () => {
  for (const shell of shells.map(([name = "", ...more]) => [Bun.which(name) ?? name, ...more])) {
    await using stage = await makeStage();
    serve(releaseOf("0.2.0", ALL));
    const done = await install(stage, { shell });
    expect(done, shell.join(" ")).toMatchObject({ code: 0, stderr: "" });
    const path = join(stage.home, ".local/bin/thndrs");
    expect(await Bun.file(path).bytes()).toEqual(program("0.2.0"));
    expect(statSync(path).mode & 0o777).toBe(0o755);
    expect(readdirSync(join(stage.home, ".local/bin"))).toEqual(["thndrs"]);
    expect(readdirSync(stage.temp)).toEqual([]);
    const quoted = path.replace("'", "'\\''");
    expect(done.stdout).toBe(
      `thndrs 0.2.0 is installed: ${path}\nTo undo: rm '${quoted}'\n` +
        `${join(stage.home, ".local/bin")} is not in PATH. Add this line to ~/.profile (or ~/.zshrc), then start a new shell:\n` +
        `  export PATH='${quoted.replace(/\/thndrs$/, "")}':"$PATH"\n`,
    );
    expect(site.asked).toEqual(["/latest/download/SHA256SUMS", "/download/v0.2.0/thndrs-0.2.0-linux-x64.tar.gz"]);
  }
});

test("the lines it prints are right: undo removes the program, the PATH line finds it", async () => {
  await using stage = await makeStage();
  serve(releaseOf("0.2.0", ALL));
  const { stdout } = await install(stage);
  const [undo] = /rm '.*/.exec(stdout) ?? [];
  const [line] = /export PATH=.*/.exec(stdout) ?? [];
  const ask = Bun.spawnSync(["sh", "-c", `${line}\nthndrs --version\n${undo}`], { env: { PATH: "/usr/bin:/bin" } });
  expect(ask.stdout.toString()).toBe("thndrs 0.2.0\n");
  expect(readdirSync(join(stage.home, ".local/bin"))).toEqual([]);
});

test("THNDRS_VERSION takes that release, with or without v; THNDRS_INSTALL_DIR may be relative", async () => {
  for (const version of ["0.1.0", "v0.1.0"]) {
    await using stage = await makeStage();
    serve({ ...releaseOf("0.1.0", ALL), ...releaseOf("0.2.0", ALL) });
    const done = await install(stage, { env: { THNDRS_VERSION: version, THNDRS_INSTALL_DIR: "my tools/bin" } });
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(await stage.read("my tools/bin/thndrs")).toContain("thndrs 0.1.0");
    expect(site.asked).not.toContain("/latest/download/SHA256SUMS");
    expect(readdirSync(stage.home)).toEqual([]);
  }
});

test("says nothing about PATH when it is right, and names another thndrs that comes first", async () => {
  await using stage = await makeStage();
  serve(releaseOf("0.2.0", ALL));
  const bin = join(stage.home, ".local/bin");
  expect((await install(stage, { path: [bin] })).stdout).not.toContain("PATH");
  const slashed = await install(stage, { path: [bin], env: { THNDRS_INSTALL_DIR: `${bin}//` } });
  expect(slashed.stdout).toStartWith(`thndrs 0.2.0 is installed: ${bin}/thndrs\n`);
  expect(slashed.stdout).not.toContain("PATH");
  const shadowed = await install(stage, { path: [bin], fakes: { thndrs: "echo other" } });
  expect(shadowed.stdout).toMatch(/Note: "thndrs" still means \S.*\/bin-\d+\/thndrs, which comes first in PATH/);
});

test("replaces a program that is running", async () => {
  await using stage = await makeStage();
  serve(releaseOf("0.2.0", ALL));
  const bin = join(stage.home, ".local/bin");
  await mkdir(bin, { recursive: true });
  await copyFile(Bun.which("sleep") ?? "", join(bin, "thndrs"));
  chmodSync(join(bin, "thndrs"), 0o755);
  const old = Bun.spawn([join(bin, "thndrs"), "60"], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  try {
    expect(await install(stage)).toMatchObject({ code: 0, stderr: "" });
    expect(old.exitCode).toBeNull();
    expect(await Bun.file(join(bin, "thndrs")).bytes()).toEqual(program("0.2.0"));
  } finally {
    old.kill();
  }
});

test("a damaged archive is refused; nothing is left and an old program stays", async () => {
  await using stage = await makeStage();
  const files = releaseOf("0.2.0", ALL);
  const name = "/download/v0.2.0/thndrs-0.2.0-linux-x64.tar.gz";
  const damaged = Uint8Array.from(files[name] as Uint8Array<ArrayBuffer>);
  damaged[damaged.length >> 1] = (damaged[damaged.length >> 1] ?? 0) ^ 1;
  const others: readonly (Uint8Array<ArrayBuffer> | string)[] = [
    damaged,
    damaged.subarray(0, 40),
    "",
    "<html>log in first</html>",
  ];
  for (const other of others) {
    serve({ ...files, [name]: other });
    const done = await install(stage);
    expect(done).toMatchObject({ code: 1, stdout: "" });
    expect(done.stderr).toContain("thndrs-0.2.0-linux-x64.tar.gz is not what SHA256SUMS says");
    expect(done.stderr).toContain(sha256(typeof other === "string" ? bytes(other) : other));
    expect(done.stderr).toEndWith("install: nothing was installed\n");
    expectNothing(stage);
  }
  await Bun.write(join(stage.home, ".local/bin/thndrs"), "old");
  expect((await install(stage)).code).toBe(1);
  expect(await Bun.file(join(stage.home, ".local/bin/thndrs")).text()).toBe("old");
});

test("sums that are missing, or say nothing about this build, are refused", async () => {
  const files = releaseOf("0.2.0", ALL);
  const sum = "0".repeat(64);
  const cases: readonly (readonly [string | undefined, RegExp])[] = [
    [undefined, /the sums cannot be downloaded: http:\S+\/latest\/download\/SHA256SUMS/],
    ["<html>\nnot found\n</html>\n", /has no build for linux-x64/],
    ["", /has no build for linux-x64/],
    [`${sum}  thndrs-0.2.0-linux-x64-musl.tar.gz\n`, /has no build for linux-x64/],
    [`${sum}  ../../thndrs-0.2.0-linux-x64.tar.gz\n`, /has no build for linux-x64/],
    ["abc  thndrs-0.2.0-linux-x64.tar.gz\n", /no valid sum/],
    [`${"g".repeat(64)}  thndrs-0.2.0-linux-x64.tar.gz\n`, /no valid sum/],
    [`${sum}  thndrs-0.2.0-linux-x64.tar.gz\n${sum}  thndrs-0.3.0-linux-x64.tar.gz\n`, /more than one build/],
    [`${sum}  thndrs-9.9.9-linux-x64.tar.gz\n`, /the archive cannot be downloaded/],
  ];
  for (const [sums, message] of cases) {
    await using stage = await makeStage();
    serve({ ...files, "/latest/download/SHA256SUMS": sums ?? "" });
    if (sums === undefined) serve({});
    const done = await install(stage);
    expect(done).toMatchObject({ code: 1, stdout: "" });
    expect(done.stderr).toMatch(message);
    expectNothing(stage);
  }
});

test("sums with other line ends, or none at the end, are read", async () => {
  const files = releaseOf("0.2.0", ALL);
  const sums = String(files["/latest/download/SHA256SUMS"]);
  for (const other of [sums.trimEnd(), sums.replaceAll("\n", "\r\n"), sums.replaceAll("\n", "\r\n").trimEnd()]) {
    await using stage = await makeStage();
    serve({ ...files, "/latest/download/SHA256SUMS": other });
    expect((await install(stage)).code).toBe(0);
  }
});

test("takes the build for the system, the processor and the C library", async () => {
  const musl = "echo 'musl libc (x86_64)' >&2; exit 1";
  const cases: readonly (readonly [Record<string, string>, string])[] = [
    [{}, "linux-x64"],
    [{ uname: unameOf("Linux", "aarch64") }, "linux-arm64"],
    [{ ldd: musl }, "linux-x64-musl"],
    [{ ldd: musl, uname: unameOf("Linux", "arm64") }, "linux-arm64-musl"],
    [{ uname: unameOf("Darwin", "arm64"), ldd: musl }, "darwin-arm64"],
    [{ uname: unameOf("Darwin", "x86_64"), sysctl: "echo 0" }, "darwin-x64"],
    [{ uname: unameOf("Darwin", "x86_64"), sysctl: "exit 1" }, "darwin-x64"],
    [{ uname: unameOf("Darwin", "x86_64"), sysctl: "echo 1" }, "darwin-arm64"],
  ];
  for (const [fakes, target] of cases) {
    await using stage = await makeStage();
    serve(releaseOf("0.2.0", ALL));
    expect(await install(stage, { fakes })).toMatchObject({ code: 0, stderr: "" });
    expect(site.asked.at(-1)).toBe(`/download/v0.2.0/thndrs-0.2.0-${target}.tar.gz`);
  }
});

test("a platform without a build is refused before anything is asked", async () => {
  const cases: readonly (readonly [Record<string, string>, string])[] = [
    [{ uname: unameOf("FreeBSD", "amd64") }, "there is no build for FreeBSD"],
    [{ uname: unameOf("SunOS", "sun4v") }, "there is no build for SunOS"],
    [{ uname: unameOf("Linux", "armv7l") }, "there is no build for armv7l processors"],
    [{ uname: unameOf("Linux", "i686") }, "there is no build for i686 processors"],
    [{ uname: unameOf("Linux", "riscv64") }, "there is no build for riscv64 processors"],
    [{ uname: unameOf("Linux", "aarch64"), getconf: "echo 32" }, "this is a 32-bit system"],
    [{ uname: unameOf("MINGW64_NT-10.0", "x86_64") }, "windows-x64.zip"],
  ];
  for (const [fakes, message] of cases) {
    await using stage = await makeStage();
    serve(releaseOf("0.2.0", ALL));
    const done = await install(stage, { fakes });
    expect(done).toMatchObject({ code: 1, stdout: "" });
    expect(done.stderr).toContain(message);
    expect(site.asked).toEqual([]);
    expectNothing(stage);
  }
});

test("wget does when there is no curl; with neither it says so", async () => {
  await using stage = await makeStage();
  serve(releaseOf("0.2.0", ALL));
  if (Bun.which("wget")) {
    expect(await install(stage, { tools: ["wget", "sha256sum"] })).toMatchObject({ code: 0, stderr: "" });
    serve({});
    const missing = await install(stage, { tools: ["wget", "sha256sum"], env: { HOME: stage.at("other") } });
    expect(missing.stderr).toContain("the sums cannot be downloaded");
    expect(existsSync(stage.at("other"))).toBe(false);
  }
  await using bare = await makeStage();
  const done = await install(bare, { tools: ["sha256sum"] });
  expect(done).toMatchObject({ code: 1, stdout: "" });
  expect(done.stderr).toContain("neither curl nor wget is installed");
  expect(done.stderr.match(/nothing was installed/g)).toHaveLength(1);
  expectNothing(bare);
});

test("any of three programs checks the sum; without one nothing is installed", async () => {
  for (const tool of ["sha256sum", "shasum", "openssl"].filter((name) => Bun.which(name))) {
    await using stage = await makeStage();
    serve(releaseOf("0.2.0", ALL));
    // shasum is a Perl program.
    expect(await install(stage, { tools: ["curl", tool, "perl"] }), tool).toMatchObject({ code: 0, stderr: "" });
  }
  await using stage = await makeStage();
  const done = await install(stage, { tools: ["curl"] });
  expect(done).toMatchObject({ code: 1, stdout: "" });
  expect(done.stderr).toContain("no program to check sums with");
  expectNothing(stage);
});

test("a directory that cannot be written is refused before anything is asked", async () => {
  await using stage = await makeStage();
  serve(releaseOf("0.2.0", ALL));
  if (process.getuid?.() === 0) giveTo(stage.path, nobody);
  chmodSync(stage.home, 0o555);
  const done = await install(stage, { user: "nobody" });
  expect(done).toMatchObject({ code: 1, stdout: "" });
  expect(done.stderr).toContain(`${stage.home} cannot be written`);
  expect(site.asked).toEqual([]);
  chmodSync(stage.home, 0o755);
  expect(await install(stage, { user: "nobody" })).toMatchObject({ code: 0, stderr: "" });
});

test("something else in the way is refused", async () => {
  await using stage = await makeStage();
  serve(releaseOf("0.2.0", ALL));
  await mkdir(join(stage.home, "bin/thndrs"), { recursive: true });
  await Bun.write(join(stage.home, "file"), "");
  const at = (dir: string) => install(stage, { env: { THNDRS_INSTALL_DIR: join(stage.home, dir) } });
  expect((await at("bin")).stderr).toContain("bin/thndrs is a directory");
  expect((await at("file/bin")).stderr).toContain("/file is not a directory");
  expect(readdirSync(join(stage.home, "bin"))).toEqual(["thndrs"]);
  expect(site.asked).toEqual([]);
});

test("a directory that can be made only half leaves nothing", async () => {
  await using stage = await makeStage();
  serve(releaseOf("0.2.0", ALL));
  const done = await install(stage, { env: { THNDRS_INSTALL_DIR: join(stage.home, "a", "b", "x".repeat(300), "c") } });
  expect(done).toMatchObject({ code: 1, stdout: "" });
  expect(done.stderr).toContain("/c cannot be made");
  expectNothing(stage);
});

test("a program that does not start here is not installed", async () => {
  await using stage = await makeStage();
  serve(releaseOf("0.2.0", ALL, program("0.2.0", 126)));
  const done = await install(stage, { fakes: { ldd: "echo musl libc" } });
  expect(done).toMatchObject({ code: 1, stdout: "" });
  for (const part of ["does not run here", "cannot start", "apk add libstdc++"]) expect(done.stderr).toContain(part);
  expectNothing(stage);
});

test("an archive without a program is refused", async () => {
  await using stage = await makeStage();
  const name = "thndrs-0.2.0-linux-x64.tar.gz";
  for (const content of [archiveOf("0.1.0", "linux-x64"), bytes("no archive at all")]) {
    const sums = `${sha256(content)} *${name}\n`;
    serve({ "/latest/download/SHA256SUMS": sums, [`/download/v0.2.0/${name}`]: content });
    const done = await install(stage);
    expect(done).toMatchObject({ code: 1, stdout: "" });
    expect(done.stderr).toMatch(/holds no program|cannot be unpacked/);
    expectNothing(stage);
  }
});

test("wrong settings are named", async () => {
  await using stage = await makeStage();
  serve(releaseOf("0.2.0", ALL));
  const cases: readonly (readonly [Options, string])[] = [
    [{ env: { THNDRS_RELEASES_URL: undefined } }, "does not know where thndrs is published"],
    [{ env: { THNDRS_RELEASES_URL: "ftp://example.invalid" } }, "must begin with https://"],
    [{ env: { THNDRS_RELEASES_URL: "http://mirror.invalid" } }, "note: over http nothing proves where these files come from"],
    [{ env: { THNDRS_VERSION: "../1" } }, "THNDRS_VERSION: ../1 is not a version"],
    [{ env: { THNDRS_VERSION: "*" } }, "is not a version"],
    [{ env: { HOME: undefined } }, "neither HOME nor THNDRS_INSTALL_DIR is set"],
    [{ words: ["--force"] }, "takes no arguments"],
  ];
  for (const [options, message] of cases) {
    const done = await install(stage, options);
    expect(done).toMatchObject({ code: 1, stdout: "" });
    expect(done.stderr).toContain(message);
    expect(done.stderr).toEndWith("install: nothing was installed\n");
  }
  expect(site.asked).toEqual([]);
  expectNothing(stage);
  expect(await install(stage, { words: ["--help"] })).toMatchObject({ code: 0, stderr: "" });
});

test("a stamped script knows its address; one cut off on its way does nothing", async () => {
  await using stage = await makeStage();
  serve(releaseOf("0.2.0", ALL));
  const source = stampInstaller(await Bun.file(script).text(), `${site.url}/`);
  const unset = { THNDRS_RELEASES_URL: undefined };
  const lines = source.split("\n");
  for (let cut = 20; cut < lines.length - 2; cut += 9) {
    const done = await install(stage, { source: lines.slice(0, cut).join("\n"), env: unset });
    expect(done.stdout, `cut at line ${cut}`).toBe("");
  }
  expect(site.asked).toEqual([]);
  expectNothing(stage);
  expect(await install(stage, { source, env: unset })).toMatchObject({ code: 0, stderr: "" });
  expect(() => stampInstaller(source, site.url)).toThrow("no line stamped_url");
  for (const bad of ["https://x/'; rm -rf ~; '", "x", "https://a b", "https://x/$(id)"])
    expect(() => stampInstaller(lines.join("\n").replace(/^stamped_url=.*$/m, "stamped_url=''"), bad)).toThrow("not an address");
});

test("the program knows the installer's variables as none of its own: kept in a profile, they do no harm", async () => {
  const names = new Set((await Bun.file(script).text()).match(/\bTHNDRS_[A-Z_]+/g));
  expect([...names].sort()).toEqual(["THNDRS_INSTALL_DIR", "THNDRS_RELEASES_URL", "THNDRS_VERSION"]);
  for (const name of names) expect(isOtherVariable(name), name).toBe(true);
});

test("the script is plain ASCII with Unix line ends, and shellcheck finds nothing where it is installed", async () => {
  expect(await Bun.file(script).text()).toMatch(/^[\n\x20-\x7e]*$/);
  if (!Bun.which("shellcheck")) return;
  expect(Bun.spawnSync(["shellcheck", "-s", "sh", script]).stdout.toString()).toBe("");
});

test("interrupted while it downloads: nothing is left", async () => {
  await using stage = await makeStage();
  serve(releaseOf("0.2.0", ALL));
  const { promise, resolve } = Promise.withResolvers<void>();
  site.stalls = { path: "/download/v0.2.0/thndrs-0.2.0-linux-x64.tar.gz", reached: resolve };
  const pid = Promise.withResolvers<number>();
  const run = install(stage, { started: pid.resolve });
  await promise;
  process.kill(-(await pid.promise), "SIGINT");
  const done = await run;
  expect(done).toMatchObject({ code: 130, stdout: "" });
  expectNothing(stage);
});
