/** The text of a finished command, as the model reads it: facts first, then each stream, then what it should know. */

import { type CapturedOutput, renderOutput } from "../base/output-capture.ts";
import type { ProcessEnd } from "../base/process.ts";
import { sayDuration } from "../base/text.ts";
import { MAX_RESULT_BYTES } from "./bounds.ts";

/** Left for the first line, section names and notes. */
const FRAME_BYTES = 2048;
const MIN_STREAM_BYTES = 8192;

type Streams = { readonly stdout: CapturedOutput; readonly stderr: CapturedOutput };

/** `limitMs` is the time-out that applied. `text` has at most 65,536 bytes; `cut` says that output is missing from it. */
export function reportCommand(
  end: ProcessEnd,
  streams: Streams,
  limitMs: number,
  notes: readonly string[],
): { readonly text: string; readonly cut: boolean } {
  const sections: string[] = [];
  const rendered = renderStreams(streams);
  if (rendered.stdout.text !== "") sections.push(`stdout:\n${rendered.stdout.text}`);
  if (rendered.stderr.text !== "") sections.push(`stderr:\n${rendered.stderr.text}`);
  if (sections.length === 0) sections.push("(no output)");
  const cut = rendered.stdout.cut || rendered.stderr.cut;
  const all = [...notes, ...notesOn(end)];
  if (cut) all.push("Output was cut. To see all of it, send it to a file in the workspace and read that with read_file_range.");
  return { text: [sayEnd(end, limitMs), ...sections, ...all.map((note) => `note: ${note}`)].join("\n"), cut };
}

/** `exit 1 (34 ms)`, `killed by SIGKILL (34 ms)`, … */
export function sayEnd(end: ProcessEnd, limitMs: number): string {
  const took = sayDuration(end.elapsedMs);
  if (end.timedOut) {
    const advice = "Give a larger timeout_ms, or background: true for a program that does not end by itself.";
    return `timed out after ${sayDuration(limitMs)}: ${sayEnded(end)} (${took}). ${advice}`;
  }
  if (end.cancelled) return `cancelled after ${took}: ${sayEnded(end)}.`;
  if (end.signal !== undefined) return `killed by ${end.signal} (${took})`;
  if (end.exitCode === null) return `ended without an exit code (${took})`;
  return `exit ${end.exitCode} (${took})`;
}

/** "Everything" only where nothing is known that speaks against it. */
function sayEnded({ strays, survivors }: ProcessEnd): string {
  return `the command and ${strays + survivors === 0 ? "everything" : "what could be found of what"} it started were ended`;
}

function notesOn(end: ProcessEnd): string[] {
  const notes: string[] = [];
  if (end.heldPipe) {
    notes.push(
      "the command has exited, but a child process it started still runs and holds its output. What that child prints from " +
        "now on is not kept, and it is ended when thndrs exits. Use background: true to keep a program's output.",
    );
  }
  if (end.survivors > 0) {
    const one = end.survivors === 1;
    notes.push(`${end.survivors} process${one ? "" : "es"} could not be ended, not even with SIGKILL.`);
  }
  if (end.strays > 0) {
    const some = end.strays === 1 ? "1 process" : `${end.strays} processes`;
    notes.push(
      `${some} that gave up session and environment may be of this command and still run; thndrs ends such when it exits.`,
    );
  }
  return notes;
}

/** Each stream may use what the other leaves free, and always gets a fair part. */
function renderStreams(streams: Streams) {
  const budget = MAX_RESULT_BYTES - FRAME_BYTES;
  const stdout = renderOutput(streams.stdout, budget);
  const stderr = renderOutput(streams.stderr, budget);
  const outBytes = Buffer.byteLength(stdout.text);
  const errBytes = Buffer.byteLength(stderr.text);
  if (outBytes + errBytes <= budget) return { stdout, stderr };
  // Errors are why one reads on: they get up to half, more when stdout is short.
  const errBudget = Math.max(MIN_STREAM_BYTES, Math.min(errBytes, Math.max(budget / 2, budget - outBytes)));
  const floored = Math.floor(errBudget);
  return { stdout: renderOutput(streams.stdout, budget - floored), stderr: renderOutput(streams.stderr, floored) };
}
