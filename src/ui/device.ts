/**
 * What a descriptor leads to, told without reading from it. Asks the system only when asked: `node:fs` is no small part of a
 * start. Refuses: reading, writing, deciding what follows.
 */
import { isTty } from "./tty.ts";

/** Linux: the null device and its kind (zero, full, random) have this major number. None of them is a terminal. */
const MEMORY_DEVICES = 1;

function isMemoryDevice(rdev: number): boolean {
  return process.platform === "linux" && ((rdev >> 8) & 0xfff) === MEMORY_DEVICES;
}

/** Only a character device can be a terminal. Never throws. */
export function isTerminal(fd: 0 | 1 | 2): boolean {
  try {
    const found = process.getBuiltinModule("node:fs").fstatSync(fd);
    if (!found.isCharacterDevice() || isMemoryDevice(found.rdev)) return false;
    return isTty(fd);
  } catch {
    return false;
  }
}
