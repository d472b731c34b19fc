/** The end of a resumed conversation, shown once before the first prompt (repl.md, Start). Refuses: tool output. */
import type { Message } from "../types/message.ts";
import type { Style } from "./style.ts";
import type { Transcript } from "./transcript.ts";

const SHOWN_MESSAGES = 4;
const SHOWN_LINES = 12;

function lastLines(text: string): string {
  const lines = text.trim().split("\n");
  return lines.length <= SHOWN_LINES ? lines.join("\n") : `…\n\n${lines.slice(-SHOWN_LINES).join("\n")}`;
}

/** Shows the last prompts and answers; older ones are counted. */
export function showTail(messages: readonly Message[], transcript: Transcript, style: Style): void {
  const spoken = messages.filter((message) => message.role !== "tool" && message.text.trim() !== "");
  const left = spoken.length - SHOWN_MESSAGES;
  if (left > 0) transcript.say([style.dim(`· ${left} earlier message${left === 1 ? "" : "s"}`)]);
  for (const message of spoken.slice(-SHOWN_MESSAGES)) {
    if (message.role === "user") transcript.prompt(message.text);
    else transcript.answer(lastLines(message.text));
  }
  transcript.say(["", style.dim("· resumed here"), ""]);
}
