/**
 * What engines print, bounded whatever they are: paths between NULs, complaints in lines. Refuses: running engines.
 */
import type { ProcessEnd } from "../base/process.ts";
import { cutChars } from "../base/text.ts";

/** More bytes without an end are no path. */
const MAX_PATH_BYTES = 65_536;

/** A path of no bytes. */
const NO_PATH = Buffer.from([0, 0]);

type PathSplitter = {
  /** False once something came that cannot be a path: nothing is read from then on. */
  push(chunk: Uint8Array): boolean;
  count(): number;
};

/** NUL-terminated paths out of chunks; a leading `./` gives way to `prefix`. Bytes that are not UTF-8 become U+FFFD. */
export function createPathSplitter(prefix: string, take: (paths: readonly string[]) => void): PathSplitter {
  let rest: Buffer = Buffer.alloc(0);
  let count = 0;
  let isSound = true;
  return {
    push(chunk) {
      if (!isSound) return false;
      const bytes = rest.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.concat([rest, chunk]);
      const end = bytes.lastIndexOf(0);
      // A path is at most a few KiB: what is carried over stays small.
      rest = Buffer.from(bytes.subarray(end + 1));
      isSound = rest.length <= MAX_PATH_BYTES && bytes[0] !== 0 && !bytes.includes(NO_PATH);
      if (end <= 0 || !isSound) return isSound;
      const paths = bytes.toString("utf8", 0, end).split("\0");
      count += paths.length;
      take(paths.map((path) => prefix + (path.startsWith("./") ? path.slice(2) : path)));
      return true;
    },
    count: () => count,
  };
}

/** For an engine that ended without a word on why. */
export function sayEarlyEnd(engine: "fd" | "rg" | "find", end: ProcessEnd): { readonly endedEarly: string } {
  return { endedEarly: `${engine} ended early (${end.signal ?? `exit ${end.exitCode}`})` };
}

export function sayNoPath(engine: string): { readonly endedEarly: string } {
  return { endedEarly: `${engine} printed something that is no path` };
}

/** Counts the complaints of an engine, one per line, and remembers the first. */
export function createProblemCounter() {
  let count = 0;
  let first: string | undefined;
  let other = false;
  let rest = "";
  const add = (line: string): void => {
    if (line.trim() === "") return;
    count += 1;
    first ??= cutChars(line.replace(/^(?:\[?fd\w* error\]?|find|rg): /, ""), 300);
    other ||= !/denied|not permitted|No such file|cannot be read|loop|too long|stale/i.test(line);
  };
  return {
    add,
    push(chunk: Uint8Array): void {
      const lines = (rest + Buffer.from(chunk).toString("utf8")).split("\n");
      rest = (lines.pop() ?? "").slice(-4096);
      for (const line of lines) add(line);
    },
    /** Whether every complaint is about a path, none about the arguments. */
    onlyAccess: () => count > 0 && !other,
    result(): { unreadable: number; firstProblem?: string } {
      if (rest !== "") add(rest);
      rest = "";
      return first === undefined ? { unreadable: 0 } : { unreadable: count, firstProblem: first };
    },
  };
}
