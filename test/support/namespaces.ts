/** Namespaces of Linux, for tests on sandboxes and containers; making one takes root or a system that lets users. Refuses: choosing what runs inside. */
import { spawnSync } from "node:child_process";

/** Whether `unshare` with these flags is permitted here. Tests that need it are skipped where it is not. */
export function canUnshare(...flags: readonly string[]): boolean {
  if (process.platform !== "linux") return false;
  return spawnSync("unshare", [...flags, "true"], { stdio: "ignore" }).status === 0;
}
