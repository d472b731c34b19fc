/** The name of this machine, without `node:os` where the kernel tells it: that module is no small part of a start. Refuses: caching. */
import { readFileSync } from "node:fs";

/** As `os.hostname()`: of this UTS namespace. */
export function hostName(): string {
  try {
    if (process.platform === "linux") return readFileSync("/proc/sys/kernel/hostname", "utf8").trimEnd();
  } catch {
    // No /proc: the library knows another way.
  }
  return process.getBuiltinModule("node:os").hostname();
}
