/** `/compact` and the review of its summary. Refuses: summarising (agent/). */
import type { Repl } from "./repl.ts";
import { sanitize, visible } from "./sanitize.ts";

/** `/compact [GUIDANCE]`; a summary that is to be reviewed is shown. */
export async function compact(repl: Repl, _: readonly string[], rest: string): Promise<void> {
  await repl.busy("compacting", async (signal) => {
    const outcome = await repl.runtime.compact(rest, signal);
    if (!outcome.done) repl.error(outcome.message);
    const pending = repl.runtime.pendingCompaction;
    if (pending) repl.say(reviewLines(pending));
  });
}

/** A summary that waits, and what to do about it. */
export function reviewLines({ handle, summary }: NonNullable<Repl["runtime"]["pendingCompaction"]>): readonly string[] {
  return [
    `summary ${visible(handle)} waits for your review:`,
    ...sanitize(summary).split("\n"),
    "/context review approve, or /context review reject",
  ];
}

/** `/context review approve|reject`. */
export async function review(repl: Repl, words: readonly string[]): Promise<void> {
  const verdict = words[1] === "approve" ? "approved" : words[1] === "reject" ? "rejected" : undefined;
  if (!verdict || words.length > 2) {
    repl.error("usage: /context review approve|reject");
    return;
  }
  if (repl.running) {
    repl.error("review the summary when the run is done");
    return;
  }
  repl.say([(await repl.runtime.reviewCompaction(verdict)) ? `summary ${verdict}` : "no summary waits for review"]);
}
