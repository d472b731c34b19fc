/** The name of this machine, without `node:os` where the kernel tells it: that module is no small part of a start. Refuses: caching. */
import { readSmallFile } from "./small-file.ts";

/** As `os.hostname()`: of this UTS namespace. */
export function hostName(): string {
  try {
    if (process.platform === "linux") return readSmallFile("/proc/sys/kernel/hostname").trimEnd();
  } catch {
    // No /proc: the library knows another way.
  }
  return process.getBuiltinModule("node:os").hostname();
}
