/** One question of a subcommand, on a terminal. Refuses: deciding whether there is one. */
import { EXIT, type ExitCode } from "../base/user-error.ts";
import type { OutputStream } from "../ui/output.ts";
import type { CommandContext } from "./command.ts";

/** "yes", or the exit code of a no (1) or of whatever ended the question. */
export async function askYes(context: CommandContext, stream: OutputStream, question: string): Promise<"yes" | ExitCode> {
  await stream.flush();
  // Lazy doors: only a question needs them.
  const [{ withQuestions }, { yesOrNo }] = await Promise.all([import("../ui/question-host.ts"), import("../ui/askings.ts")]);
  return withQuestions({ stream, env: context.env, signal: context.signal }, async (host) => {
    const answer = await host.ask(yesOrNo(question));
    return host.ended ?? (answer ? "yes" : EXIT.failed);
  });
}
