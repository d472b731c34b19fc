/**
 * What an executable is by its own header, so that a release cannot hold a program for another machine than its name says.
 * Refuses: more than the three formats and two processors thndrs is built for; running anything.
 */
import type { Target } from "./targets.ts";

export type Executable = Pick<Target, "os" | "arch" | "libc">;

function elf(bytes: Buffer): Executable | undefined {
  const machines: Readonly<Record<number, Target["arch"]>> = { 62: "x64", 183: "arm64" };
  const arch = machines[bytes.readUInt16LE(18)];
  const table = Number(bytes.readBigUInt64LE(32));
  const [size, count] = [bytes.readUInt16LE(54), bytes.readUInt16LE(56)];
  for (let at = table; arch !== undefined && at < table + size * count; at += size) {
    if (bytes.readUInt32LE(at) !== 3) continue;
    const start = Number(bytes.readBigUInt64LE(at + 8));
    const loader = bytes.subarray(start, start + Number(bytes.readBigUInt64LE(at + 32))).toString("latin1");
    return { os: "linux", arch, libc: loader.includes("/ld-musl-") ? "musl" : "glibc" };
  }
  return undefined;
}

function portable(bytes: Buffer): Executable | undefined {
  const at = bytes.readUInt32LE(60);
  if (bytes.toString("latin1", at, at + 4) !== "PE\0\0") return undefined;
  const machines: Readonly<Record<number, Target["arch"]>> = { 34404: "x64", 43620: "arm64" };
  const arch = machines[bytes.readUInt16LE(at + 4)];
  return arch && { os: "windows", arch };
}

function mach(bytes: Buffer): Executable | undefined {
  const machines: Readonly<Record<number, Target["arch"]>> = { 16777223: "x64", 16777228: "arm64" };
  const arch = machines[bytes.readUInt32LE(4)];
  return arch && { os: "darwin", arch };
}

/** Reads the header of `bytes`; undefined when it is no executable of a kind thndrs is built for. */
export function inspectExecutable(bytes: Uint8Array): Executable | undefined {
  if (bytes.length < 1024) return undefined;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (buffer.toString("latin1", 0, 5) === "\x7fELF\x02") return elf(buffer);
  if (buffer.toString("latin1", 0, 2) === "MZ") return portable(buffer);
  if (buffer.readUInt32LE(0) === 0xfeedfacf) return mach(buffer);
  return undefined;
}

/** Throws when the program is not one for `target`. */
export function proveExecutable(bytes: Uint8Array, target: Target): void {
  const found = inspectExecutable(bytes);
  if (found?.os === target.os && found.arch === target.arch && found.libc === target.libc) return;
  const words = found ? [found.os, found.arch, found.libc].filter(Boolean).join(" ") : "no executable";
  throw new Error(`${target.name}: the program that was built is ${words}`);
}
