/**
 * Piped input as part of a prompt (cli.md, Print mode). Never waits without a bound unless asked to, never cuts.
 * Refuses: keys of a terminal (keyboard.ts).
 */
import { fstatSync, statSync } from "node:fs";
import { monotonicClock } from "../base/clock.ts";
import { UserError } from "../base/user-error.ts";
import { isTerminal } from "./device.ts";

export type StdinRequest = {
  readonly mode: "auto" | "ignore" | "require";
  /** Whether there is a prompt without stdin. */
  readonly hasPrompt: boolean;
  readonly waitMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
};

export type StdinResult = {
  /** The text; undefined when nothing was read. */
  readonly text?: string;
  /** A line for stderr: input was left alone, and how to avoid the wait. */
  readonly notice?: string;
};

export type StdinKind = "terminal" | "closed" | "empty" | "file" | "directory" | "stream";

function nullDevice(): number | undefined {
  return statSync("/dev/null", { throwIfNoEntry: false })?.rdev;
}

/** What descriptor 0 is, without reading from it. */
export function stdinKind(): StdinKind {
  if (isTerminal(0)) return "terminal";
  try {
    const found = fstatSync(0);
    if (found.isCharacterDevice() && found.rdev === nullDevice()) return "empty";
    return found.isFile() ? "file" : found.isDirectory() ? "directory" : "stream";
  } catch {
    return "closed";
  }
}

/** All of stdin as bytes, for a protocol that is spoken over it (`acp serve`). */
export function stdinStream(): ReadableStream<Uint8Array> {
  return Bun.stdin.stream();
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;
type Chunk = Awaited<ReturnType<Reader["read"]>>;

const LATE = Symbol("late");

/** The first chunk, or LATE when neither a byte nor the end came within `waitMs`. */
async function firstChunk(reader: Reader, waitMs: number, signal: AbortSignal): Promise<Chunk | typeof LATE> {
  const { promise, resolve } = Promise.withResolvers<typeof LATE>();
  const cancelTimer = monotonicClock.after(waitMs, () => resolve(LATE));
  const stop = (): void => resolve(LATE);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([reader.read(), promise]);
  } finally {
    cancelTimer();
    signal.removeEventListener("abort", stop);
  }
}

function decode(chunks: readonly Uint8Array[]): string {
  try {
    // A BOM is dropped by the decoder itself.
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new UserError("stdin is not UTF-8 text: convert it (for example with iconv), or leave it out with --stdin ignore");
  }
}

async function readAll(reader: Reader, first: Chunk, maxBytes: number, signal: AbortSignal): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const stop = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", stop, { once: true });
  for (let chunk = first; !chunk.done; chunk = await reader.read()) {
    size += chunk.value.length;
    if (size > maxBytes) {
      reader.cancel().catch(() => undefined);
      throw new UserError(
        `stdin is larger than ${maxBytes} bytes: raise --stdin-max-bytes, or put it in a file and name the file`,
      );
    }
    chunks.push(chunk.value);
  }
  signal.removeEventListener("abort", stop);
  return chunks;
}

const ADVICE = "give it a file or a pipe, or leave it out with --stdin ignore or < /dev/null";

/**
 * Reads what is piped, as the mode says.
 * @throws UserError when it cannot be read, is not UTF-8 or larger than `maxBytes`.
 */
export async function readStdin(request: StdinRequest): Promise<StdinResult> {
  if (request.mode === "ignore") return {};
  const kind = stdinKind();
  if (kind === "terminal" && request.mode !== "require") return {};
  // The null device has nothing to say; opening a stream on it would cost a start two milliseconds.
  if (kind === "closed" || kind === "empty") return {};
  if (kind === "directory") throw new UserError(`stdin is a directory: ${ADVICE}`);
  try {
    return await readKind(request, kind);
  } catch (error) {
    // What the system says of the descriptor (open for writing only, a device that fails); anything else is a bug.
    if (!(error instanceof Error && "code" in error && "syscall" in error)) throw error;
    throw new UserError(`stdin cannot be read (${error.code}): ${ADVICE}`);
  }
}

async function readKind(request: StdinRequest, kind: StdinKind): Promise<StdinResult> {
  const patient = request.mode === "require" || !request.hasPrompt || kind === "file";
  const reader = Bun.stdin.stream().getReader();
  const first = await firstChunk(reader, patient ? 2 ** 31 - 1 : request.waitMs, request.signal);
  if (first === LATE) {
    reader.cancel().catch(() => undefined);
    if (request.signal.aborted) return {};
    const seconds = request.waitMs / 1000;
    return {
      notice: `stdin is open but nothing came within ${seconds} s: left alone (to avoid the wait: --stdin ignore, or < /dev/null; to wait: a lone -)`,
    };
  }
  const chunks = await readAll(reader, first, request.maxBytes, request.signal);
  // A signal in the middle: half a prompt is no prompt.
  return request.signal.aborted ? {} : { text: decode(chunks) };
}
