/**
 * Bytes from the terminal's keys, from `start` to `stop`: what comes afterwards stays for whoever reads then (an editor, the
 * shell). The one reader of descriptor 0 while it is a terminal. Refuses: decoding, modes.
 */

export interface KeySource {
  /** `onEnd` comes when the terminal is gone. */
  start(onBytes: (bytes: Uint8Array) => void, onEnd: () => void): void;
  stop(): void;
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

class DescriptorKeys implements KeySource {
  #reader: Reader | undefined;

  start(onBytes: (bytes: Uint8Array) => void, onEnd: () => void): void {
    // A stream of its own each time: one that was cancelled has let go of the descriptor.
    const reader = Bun.file(0).stream().getReader();
    this.#reader = reader;
    void this.#read(reader, onBytes, onEnd);
  }

  stop(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.cancel().catch(() => undefined);
  }

  async #read(reader: Reader, onBytes: (bytes: Uint8Array) => void, onEnd: () => void): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (reader !== this.#reader) return;
        if (done) break;
        onBytes(value);
      }
    } catch {
      // What was being read is gone (EIO after a hang-up).
    }
    if (reader === this.#reader) onEnd();
  }
}

/** Windows: the console is read by Node's stream. */
class StreamKeys implements KeySource {
  #onBytes: ((bytes: Uint8Array) => void) | undefined;
  #onEnd: (() => void) | undefined;

  start(onBytes: (bytes: Uint8Array) => void, onEnd: () => void): void {
    this.#onBytes = onBytes;
    this.#onEnd = onEnd;
    process.stdin.on("data", onBytes);
    for (const event of ["end", "error", "close"]) process.stdin.on(event, onEnd);
    process.stdin.resume();
  }

  stop(): void {
    if (this.#onBytes) process.stdin.off("data", this.#onBytes);
    for (const event of ["end", "error", "close"]) if (this.#onEnd) process.stdin.off(event, this.#onEnd);
    process.stdin.pause();
    process.stdin.unref();
  }
}

/** Reads nothing before `start`. */
export function createKeySource(): KeySource {
  return process.platform === "win32" ? new StreamKeys() : new DescriptorKeys();
}
