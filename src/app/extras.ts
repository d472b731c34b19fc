/**
 * What a conversation is asked to write beside its log: its recording (`--record`), raw exchanges (`--capture`). Refuses: formats
 * (provider/), files (run-file.ts).
 */
import { createCapture } from "../provider/capture.ts";
import { type Fetch, networkFetch } from "../provider/http.ts";
import type { Provider } from "../provider/provider.ts";
import { createTape } from "../provider/recording.ts";
import { openRunFile, type RunFile } from "./run-file.ts";

export type ExtrasRequest = {
  /** Absolute. */
  readonly recordFile: string | undefined;
  readonly captureFile: RunFile | undefined;
  /** Asked when something is written: a credential may be known by then that was not before. */
  readonly redact: (text: string) => string;
  readonly warn: (message: string) => void;
};

export type Extras = {
  /** The same provider, recorded. */
  readonly record?: (provider: Provider) => Provider;
  /** The fetch whose exchanges are kept. */
  readonly fetch?: Fetch;
  /** Writes what is owed. @throws UserError when something could not be written */
  settle(): Promise<void>;
};

/** @throws UserError when a file cannot be written, as far as that can be told now. */
export function openExtras({ recordFile, captureFile, redact, warn }: ExtrasRequest): Extras {
  const tape = recordFile === undefined ? undefined : openRunFile(recordFile, 0o644, "the recording");
  tape?.onLost(warn);
  const keepIn = (file: RunFile) => (line: string) => {
    // Whoever speaks is told: another conversation may have been opened meanwhile, or have failed to open.
    file.onLost(warn);
    return file.add(line);
  };
  const capture = captureFile && createCapture(networkFetch, redact, keepIn(captureFile));
  return {
    ...(tape && { record: createTape((lines) => void tape.add(lines)) }),
    ...(capture && { fetch: capture.fetch }),
    async settle() {
      await capture?.settle();
      const ended = await Promise.allSettled([tape?.settle(), captureFile?.settle()]);
      for (const end of ended) if (end.status === "rejected") throw end.reason;
    },
  };
}
