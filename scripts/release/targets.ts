/**
 * The platforms thndrs is released for, and what their files are called. Refuses: building them (scripts/release.ts).
 * The names are a contract: scripts/install.sh, the workflows and everybody's download scripts depend on them.
 */
import { existsSync } from "node:fs";

export type Target = {
  /** `linux-x64`, `linux-x64-musl`, … as in the archive's name. */
  readonly name: string;
  readonly os: "linux" | "darwin" | "windows";
  readonly arch: "x64" | "arm64";
  readonly libc?: "glibc" | "musl";
  readonly compile: Bun.Build.CompileTarget;
  /** npm package with the Bun runtime of this platform, pinned with its hash in bun.lock. */
  readonly runtime: string;
  readonly program: "thndrs" | "thndrs.exe";
};

function linux(arch: Target["arch"], libc: "glibc" | "musl"): Target {
  const suffix = libc === "musl" ? "-musl" : "";
  return {
    name: `linux-${arch}${suffix}`,
    os: "linux",
    arch,
    libc,
    compile: libc === "musl" ? `bun-linux-${arch}-musl` : `bun-linux-${arch}`,
    runtime: `@oven/bun-linux-${arch === "arm64" ? "aarch64" : arch}${suffix}`,
    program: "thndrs",
  };
}

function darwin(arch: Target["arch"]): Target {
  const runtime = `@oven/bun-darwin-${arch === "arm64" ? "aarch64" : arch}`;
  return { name: `darwin-${arch}`, os: "darwin", arch, compile: `bun-darwin-${arch}`, runtime, program: "thndrs" };
}

export const TARGETS: readonly Target[] = [
  linux("x64", "glibc"),
  linux("arm64", "glibc"),
  linux("x64", "musl"),
  linux("arm64", "musl"),
  darwin("x64"),
  darwin("arm64"),
  {
    name: "windows-x64",
    os: "windows",
    arch: "x64",
    compile: "bun-windows-x64",
    runtime: "@oven/bun-windows-x64",
    program: "thndrs.exe",
  },
];

export type Host = { readonly platform: string; readonly arch: string; readonly musl: boolean };

/** This machine. A musl loader alone does not make a musl system: glibc systems may have one beside their own. */
export function thisHost(): Host {
  const loaders: Readonly<Record<string, string>> = { x64: "/lib64/ld-linux-x86-64.so.2", arm64: "/lib/ld-linux-aarch64.so.1" };
  const name = process.arch === "arm64" ? "aarch64" : "x86_64";
  const musl =
    process.platform === "linux" && existsSync(`/lib/ld-musl-${name}.so.1`) && !existsSync(loaders[process.arch] ?? "");
  return { platform: process.platform, arch: process.arch, musl };
}

/** The target that runs on `host`, if thndrs is released for it. */
export function nativeTarget(host: Host): Target | undefined {
  const os = host.platform === "win32" ? "windows" : host.platform;
  const libc = os === "linux" ? (host.musl ? "musl" : "glibc") : undefined;
  return TARGETS.find((target) => target.os === os && target.arch === host.arch && target.libc === libc);
}

/** `thndrs-0.1.0-linux-x64`: the directory inside the archive. */
export function packageName(version: string, target: Target): string {
  return `thndrs-${version}-${target.name}`;
}

export function archiveName(version: string, target: Target): string {
  return `${packageName(version, target)}.${target.os === "windows" ? "zip" : "tar.gz"}`;
}

/** `all`, `native`, or names between commas → targets in the table's order. Throws on a name that is none. */
export function chooseTargets(wanted: string, native: Target | undefined): readonly Target[] {
  if (wanted === "all") return TARGETS;
  const names = wanted.split(",").map((name) => (name === "native" ? (native?.name ?? "native") : name));
  const unknown = names.filter((name) => !TARGETS.some((target) => target.name === name));
  if (unknown.length > 0)
    throw new Error(`no such target: ${unknown.join(", ")} (there are ${TARGETS.map(({ name }) => name).join(", ")})`);
  return TARGETS.filter((target) => names.includes(target.name));
}
