/**
 * `bun run release`: everything a release consists of, in dist/release: one archive a platform, the installer, the bill of
 * materials, SHA256SUMS. The native program is tried out in a hostile directory before anything is packed.
 * Flags: --targets=all|native|linux-x64,…  --outdir=DIR  --url=URL (where releases are; stamped into install.sh)
 * --tag=vX.Y.Z (must fit package.json and a clean tree). Refuses: uploading (the workflow does), signing with keys.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "./build.ts";
import { type Entry, tarGz, zip } from "./release/archive.ts";
import { proveExecutable } from "./release/executable.ts";
import { stampInstaller } from "./release/installer.ts";
import { signAdHoc, signatureHolds } from "./release/mach-sign.ts";
import { fetchRuntimes } from "./release/runtimes.ts";
import { notices, readComponents, sbom } from "./release/sbom.ts";
import { archiveName, chooseTargets, nativeTarget, packageName, type Target, thisHost } from "./release/targets.ts";
import { smoke } from "./smoke.ts";
import { args, install, read, root } from "./steps.ts";

const FLAGS = ["targets", "outdir", "url", "tag"] as const;

function flags(): Readonly<Partial<Record<(typeof FLAGS)[number], string>>> {
  const given = args.map((arg) => {
    const name = FLAGS.find((flag) => arg.startsWith(`--${flag}=`));
    if (name === undefined) throw new Error(`${arg}: release takes ${FLAGS.map((flag) => `--${flag}=…`).join(", ")}`);
    return [name, arg.slice(name.length + 3)] as const;
  });
  return Object.fromEntries(given);
}

type Facts = { readonly version: string; readonly commit: string; readonly seconds: number; readonly direct: readonly string[] };

async function readFacts(): Promise<Facts> {
  const manifest = (await Bun.file(join(root, "package.json")).json()) as { version: string; dependencies: object };
  // The time of the commit, not of the build: the same source gives the same archives.
  const seconds = Number(process.env.SOURCE_DATE_EPOCH ?? read(["git", "log", "-1", "--format=%ct"]) ?? 0);
  if (!Number.isInteger(seconds) || seconds < 0) throw new Error("SOURCE_DATE_EPOCH takes seconds since 1970");
  const commit = read(["git", "rev-parse", "HEAD"]) ?? "unknown";
  return { version: manifest.version, commit, seconds, direct: Object.keys(manifest.dependencies) };
}

/** Throws when this tree may not be released with this tag. `changes`: what `git status --porcelain` says. */
export function checkTag(tag: string, version: string, changes: string | undefined, url: string | undefined): void {
  if (url === undefined) throw new Error("a tagged release needs --url: its install.sh must know where to download from");
  if (tag !== `v${version}`)
    throw new Error(`the tag ${tag} does not fit package.json: version ${version} is released as v${version}`);
  if (changes !== "") throw new Error(`the working tree differs from its commit:\n${changes ?? "no git checkout"}`);
}

/** Files that travel with the program. */
async function companions(text: string): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (const path of ["LICENSE", "README.md"]) {
    const file = Bun.file(join(root, path));
    if (await file.exists()) entries.push({ path, bytes: new Uint8Array(await file.arrayBuffer()) });
  }
  return [...entries, { path: "THIRD-PARTY-NOTICES.txt", bytes: new TextEncoder().encode(text) }];
}

function packed(target: Target, version: string, files: readonly Entry[], seconds: number): Uint8Array {
  const inside = packageName(version, target);
  const entries = files.map((entry) => ({ ...entry, path: `${inside}/${entry.path}` }));
  return target.os === "windows" ? zip(entries, seconds) : tarGz(entries, seconds);
}

/** `sum  name` a line, sorted by name: what `sha256sum --check` reads. */
export function sumsFile(sums: ReadonlyMap<string, string>): string {
  const names = [...sums.keys()].sort();
  return names.map((name) => `${sums.get(name)}  ${name}\n`).join("");
}

class Output {
  readonly #sums = new Map<string, string>();
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  async write(name: string, content: string | Uint8Array): Promise<void> {
    await Bun.write(join(this.directory, name), content);
    this.#sums.set(name, new Bun.CryptoHasher("sha256").update(content).digest("hex"));
  }

  async writeSums(): Promise<void> {
    await Bun.write(join(this.directory, "SHA256SUMS"), sumsFile(this.#sums));
  }
}

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`.padStart(10);

/** The program's bytes: for the right machine, and on macOS with a signature that holds. */
async function readProgram(path: string, target: Target): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(await Bun.file(path).arrayBuffer());
  proveExecutable(bytes, target);
  if (target.os !== "darwin" || signatureHolds(bytes)) return bytes;
  const signed = signAdHoc(bytes, "thndrs");
  if (!signatureHolds(signed)) throw new Error(`${target.name}: the signature does not hold`);
  return signed;
}

async function tryOut(target: Target, program: string, version: string): Promise<void> {
  const wrong = await smoke(program, version);
  if (wrong.length > 0) throw new Error(`${target.name} does not work:\n${wrong.join("\n")}`);
  console.log(`${target.name.padEnd(18)} tried out in a hostile directory: works`);
}

async function release(): Promise<void> {
  const given = flags();
  await install();
  const facts = await readFacts();
  if (given.tag !== undefined) checkTag(given.tag, facts.version, read(["git", "status", "--porcelain"]), given.url);
  const native = nativeTarget(thisHost());
  const targets = chooseTargets(given.targets ?? "all", native);
  const installer = stampInstaller(await Bun.file(join(root, "scripts", "install.sh")).text(), given.url);
  const components = await readComponents();
  const files = await companions(await notices(components));

  const output = new Output(resolve(given.outdir ?? join(root, "dist", "release")));
  await rm(output.directory, { recursive: true, force: true });
  await mkdir(output.directory, { recursive: true });
  const work = await mkdtemp(join(tmpdir(), "thndrs-release-"));
  try {
    const foreign = targets.filter((target) => target !== native);
    const runtimes = await fetchRuntimes(foreign, join(work, "runtimes"));
    // The native one first: when that does not work, nothing else matters.
    for (const target of [...targets].sort((a, b) => Number(b === native) - Number(a === native))) {
      const program = join(work, target.name, target.program);
      const runtime = runtimes.get(target.name);
      await build({ outfile: program, target: target.compile, ...(runtime ? { runtime } : {}) });
      const bytes = await readProgram(program, target);
      if (target === native) await tryOut(target, program, facts.version);
      const archive = packed(target, facts.version, [{ path: target.program, bytes, executable: true }, ...files], facts.seconds);
      const name = archiveName(facts.version, target);
      await output.write(name, archive);
      await rm(join(work, target.name), { recursive: true, force: true });
      console.log(`${target.name.padEnd(18)} ${mebibytes(bytes.length)} → ${mebibytes(archive.length)}  ${name}`);
    }
    await output.write(`thndrs-${facts.version}.cdx.json`, sbom(components, facts.direct, facts));
    await output.write("install.sh", installer);
    await output.writeSums();
    if (given.url === undefined) console.log("install.sh knows no place to download from: give --url=… for a real release");
    console.log(
      `${output.directory}: ${targets.length} archives, bill of materials with ${components.length} packages, SHA256SUMS`,
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

if (import.meta.main) await release();
