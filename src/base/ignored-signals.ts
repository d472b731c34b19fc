/** Which signals whoever started us wanted ignored (`nohup`). Linux tells; elsewhere none. Refuses: changing any. */
import { readSmallFile } from "./small-file.ts";

const NUMBERS = {
  SIGHUP: 1,
  SIGQUIT: 3,
  SIGUSR1: 10,
  SIGUSR2: 12,
  SIGALRM: 14,
  SIGXCPU: 24,
  SIGVTALRM: 26,
  SIGPROF: 27,
  SIGIO: 29,
} as const;

/** All of them, read once. To be asked before a listener is added: a listener ends the ignoring. */
export function ignoredSignals(): ReadonlySet<string> {
  if (process.platform !== "linux") return new Set();
  try {
    const mask = BigInt(`0x${/^SigIgn:\s*([0-9a-f]+)$/m.exec(readSmallFile("/proc/self/status"))?.[1] ?? "0"}`);
    return new Set(Object.entries(NUMBERS).flatMap(([name, number]) => ((mask >> BigInt(number - 1)) & 1n ? [name] : [])));
  } catch {
    return new Set();
  }
}
