/** Which signals whoever started us wanted ignored (`nohup`). Linux tells; elsewhere none. Refuses: changing any. */
import { readSmallFile } from "./small-file.ts";

const NUMBERS = { SIGHUP: 1, SIGQUIT: 3 } as const;

/** To be asked before a listener is added: a listener ends the ignoring. */
export function ignoresSignal(name: keyof typeof NUMBERS): boolean {
  if (process.platform !== "linux") return false;
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readSmallFile("/proc/self/status"))?.[1];
    return mask !== undefined && (BigInt(`0x${mask}`) & (1n << BigInt(NUMBERS[name] - 1))) !== 0n;
  } catch {
    return false;
  }
}
