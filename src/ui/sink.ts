/**
 * How bytes leave through stdout or stderr: never by a write that holds up the program where a reader takes nothing, and never
 * by making the descriptor non-blocking for everybody who shares it (what runs after us in a script would lose its output).
 * Refuses: queueing, deciding what is written.
 */
import { isTerminal } from "./device.ts";

export interface Sink {
  /** What is best written at a time: whoever takes so much of a slow reader's share has not stalled. */
  readonly pieceBytes: number;
  /** Resolves when all of it has left. Rejects with a system error. */
  write(part: string | Uint8Array): Promise<void>;
}

/** Text collected before it is handed to the kernel in one go. */
const BATCH_BYTES = 64 * 1024;
/** A second's work of a slow line. */
const PIECE_BYTES = 4 * 1024;
/** Somebody else has made the descriptor non-blocking, and it takes nothing at the moment. */
const FULL_PAUSE_MS = 10;

type Fs = typeof import("node:fs");

/** Bun's own writer: quick, but it makes what it writes to non-blocking. */
function directSink(target: Bun.BunFile, pieceBytes: number): Sink {
  const writer = target.writer({ highWaterMark: BATCH_BYTES });
  return {
    pieceBytes,
    async write(part) {
      await writer.write(part);
      await writer.flush();
    },
  };
}

function writeOnce(fs: Fs, fd: number, bytes: Uint8Array, from: number): Promise<number> {
  return new Promise((done, failed) => {
    fs.write(fd, bytes, from, bytes.length - from, null, (error, written) => {
      if (!error) done(written);
      else if (error.code === "EAGAIN") setTimeout(() => done(0), FULL_PAUSE_MS);
      else failed(error);
    });
  });
}

/** Written by another thread, which may wait as long as it likes. */
function waitingSink(fs: Fs, fd: number): Sink {
  return {
    pieceBytes: PIECE_BYTES,
    async write(part) {
      const bytes = typeof part === "string" ? Buffer.from(part) : part;
      for (let from = 0; from < bytes.length; ) from += await writeOnce(fs, fd, bytes, from);
    },
  };
}

/** A pipe opened anew is non-blocking for us alone. Linux only: elsewhere the name leads to the same open file. */
function ownPipe({ openSync, constants }: Fs, fd: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Another user's pipe, or no /proc.
    return undefined;
  }
}

/** The sink of stdout (1) or stderr (2). Throws where there is no such descriptor. */
export function openSink(fd: 1 | 2): Sink {
  const fs = process.getBuiltinModule("node:fs");
  const kind = fs.fstatSync(fd);
  // Files and the null device take everything at once.
  if (kind.isFile() || (kind.isCharacterDevice() && !isTerminal(fd)))
    return directSink(fd === 1 ? Bun.stdout : Bun.stderr, Number.POSITIVE_INFINITY);
  const own = kind.isFIFO() ? ownPipe(fs, fd) : undefined;
  return own === undefined ? waitingSink(fs, fd) : directSink(Bun.file(own), PIECE_BYTES);
}
