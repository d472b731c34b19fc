/**
 * A child's output on its way to who asked for it. Refuses: interpreting it, ending who prints it.
 */
import { closeSync, fstatSync } from "node:fs";
import { createBreather } from "./breather.ts";
import type { Pipe } from "./pipe.ts";

/** Receives output as it comes; `stop` ends the process (search caps). The chunk belongs to the receiver. */
export type OnChunk = (chunk: Uint8Array, stop: () => void) => void;

export type Source = {
  readonly stream: ReadableStream<Uint8Array>;
  readonly close: () => void;
  /** The pipe's number, where it is one of ours. */
  readonly pipe?: number;
};

type Reader = ReadableStreamDefaultReader<Uint8Array>;

export type Flow = {
  /** Nobody wants what comes; it is read all the same. */
  dropping: boolean;
  /** Streams that are being read: each keeps the program from ending for as long as somebody holds its other side. */
  readonly open: Set<Reader>;
};

/** Stops reading: whoever still holds the other side can not be ended. */
export function letGo(open: Flow["open"]): void {
  for (const reader of open) void reader.cancel().catch(() => {});
}

export function sourceOf(pipe: Pipe | undefined, own: ReadableStream<Uint8Array> | number | undefined): Source {
  if (pipe) {
    const close = (): void => closeSync(pipe.read);
    return { stream: Bun.file(pipe.read).stream(), close, pipe: fstatSync(pipe.read).ino };
  }
  return { stream: own instanceof ReadableStream ? own : new Blob([]).stream(), close: () => {} };
}

/** What a receiver gets at once; a chunk may be four times as long. */
const PIECE_BYTES = 65_536;

/**
 * Reads a stream to its end and closes it. Never stops reading early: a full pipe would block the child. While there is always more
 * to read the runtime asks nobody else: without turns taken here neither time-out nor Esc would reach a child that floods.
 */
export async function readAll(source: Source, receive: OnChunk | undefined, stop: () => void, flow: Flow): Promise<void> {
  const reader = source.stream.getReader();
  flow.open.add(reader);
  const breathe = createBreather();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (let from = 0; from < value.length; from += PIECE_BYTES) {
        if (receive && !flow.dropping) receive(value.subarray(from, from + PIECE_BYTES), stop);
        const turn = breathe();
        if (turn !== undefined) await turn;
      }
    }
  } finally {
    flow.open.delete(reader);
    await reader.cancel().catch(() => {});
    source.close();
  }
}
