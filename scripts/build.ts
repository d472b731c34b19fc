/**
 * `bun run build`: src/main.ts → dist/thndrs, one standalone executable. Skips the work when no input has changed, and
 * replaces the old binary in one rename so that a running one is never disturbed.
 * Flags: --force, --target=bun-linux-arm64, --outfile=PATH. Refuses: publishing anything (release does).
 */
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Compilation } from "./compile.ts";
import { args, install, read, root, run } from "./steps.ts";

export const binary = join(root, "dist", "thndrs");

/** Start-up profiles (`BUN_BYTECODE_ORDER_OUT`), most common way of starting first; see scripts/profile.ts. */
const profiles = join(root, "scripts", "profiles");

/** Compiles `entry` into the executable `outfile` with the product's own options. Throws on a build error. */
export async function compile(entry: string, outfile: string, more: Omit<Compilation, "entry" | "outfile"> = {}): Promise<void> {
  await mkdir(dirname(outfile), { recursive: true });
  // Beside the target, because a rename is atomic only within one file system; the maps of the chunks stay behind here.
  const work = await mkdtemp(join(dirname(outfile), ".build-"));
  try {
    const made = join(work, "made");
    const wanted: Compilation = { entry, outfile: made, ...more };
    const code = await run([process.execPath, join(root, "scripts", "compile.ts"), JSON.stringify(wanted)], { quiet: true });
    if (code !== 0) throw new Error(`${entry} does not build`);
    // Bun names programs for Windows itself.
    const named = more.target?.includes("windows") ? `${made}.exe` : made;
    await chmod(named, 0o755);
    await rename(named, outfile);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function profileFiles(): Promise<string[]> {
  const names = await readdir(profiles).catch(() => []);
  return names
    .filter((name) => name.endsWith(".order"))
    .sort()
    .map((name) => join(profiles, name));
}

/** One hash over everything that can change the binary. */
async function inputsHash(extra: readonly string[]): Promise<string> {
  const files = await Array.fromAsync(new Bun.Glob("src/**/*").scan({ cwd: root, onlyFiles: true, dot: false }));
  files.push("package.json", "bun.lock", "tsconfig.json", "scripts/build.ts", "scripts/compile.ts");
  for (const path of await profileFiles()) files.push(path.slice(root.length + 1));
  const hasher = new Bun.CryptoHasher("sha256");
  for (const part of [Bun.version, Bun.revision, process.platform, process.arch, ...extra]) hasher.update(`${part}\0`);
  for (const file of files.sort()) {
    hasher.update(`${file}\0`);
    hasher.update(await Bun.file(join(root, file)).arrayBuffer());
  }
  return hasher.digest("hex");
}

/** `1a2b3c4d5e6f`, with `+` when the source differs from it; `unknown` outside a checkout. */
function commitOfSource(): string {
  const commit = read(["git", "rev-parse", "--short=12", "HEAD"]);
  if (!commit) return "unknown";
  return read(["git", "status", "--porcelain", "--", "src", "package.json", "bun.lock"]) === "" ? commit : `${commit}+`;
}

export type Built = { readonly path: string; readonly fresh: boolean };

/** Builds the product unless it is there and up to date. Dependencies must be installed. Throws on a build error. */
export async function build(
  options: {
    readonly force?: boolean;
    readonly outfile?: string;
    readonly target?: Bun.Build.CompileTarget;
    readonly runtime?: string;
    readonly order?: readonly string[];
  } = {},
): Promise<Built> {
  const outfile = options.outfile ?? binary;
  const { version } = (await Bun.file(join(root, "package.json")).json()) as { version: string };
  const commit = commitOfSource();
  const order = options.order ?? (await profileFiles());
  const stamp = join(dirname(outfile), `.${outfile.slice(dirname(outfile).length + 1)}.inputs`);
  const hash = await inputsHash([version, commit, options.target ?? "", ...order]);
  const old = await Bun.file(stamp)
    .text()
    .catch(() => "");
  if (!options.force && old === hash && (await Bun.file(outfile).exists())) return { path: outfile, fresh: false };
  await compile(join(root, "src", "main.ts"), outfile, {
    define: { THNDRS_VERSION: JSON.stringify(version), THNDRS_COMMIT: JSON.stringify(commit) },
    order,
    ...(options.target ? { target: options.target } : {}),
    ...(options.runtime ? { runtime: options.runtime } : {}),
  });
  await Bun.write(stamp, hash);
  return { path: outfile, fresh: true };
}

function flag(name: string): string | undefined {
  const found = args.find((arg) => arg.startsWith(`--${name}=`));
  return found?.slice(name.length + 3);
}

if (import.meta.main) {
  const started = performance.now();
  await install();
  const outfile = flag("outfile");
  const target = flag("target") as Bun.Build.CompileTarget | undefined;
  const built = await build({
    force: args.includes("--force"),
    ...(outfile ? { outfile: resolve(outfile) } : {}),
    ...(target ? { target } : {}),
  });
  const size = (Bun.file(built.path).size / 2 ** 20).toFixed(1);
  const how = built.fresh ? `built in ${((performance.now() - started) / 1000).toFixed(1)} s` : "up to date";
  console.log(`${built.path.replace(`${root}/`, "")}  ${size} MiB, ${how}`);
}
