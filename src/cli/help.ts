/**
 * `thndrs help [TOPIC]`: the help that lives in the binary. Rendered on a terminal, raw in a pipe. The only place that
 * embeds src/docs/, and loaded only for this command. Refuses: `--help` (usage-text.ts).
 */

import { TOPICS, type Topic } from "../base/help-topics.ts";
import { nearestWord } from "../base/nearest.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import acp from "../docs/acp.md" with { type: "text" };
import configuration from "../docs/configuration.md" with { type: "text" };
import context from "../docs/context.md" with { type: "text" };
import exitCodes from "../docs/exit-codes.md" with { type: "text" };
import gettingStarted from "../docs/getting-started.md" with { type: "text" };
import mcp from "../docs/mcp.md" with { type: "text" };
import printMode from "../docs/print-mode.md" with { type: "text" };
import providers from "../docs/providers.md" with { type: "text" };
import repl from "../docs/repl.md" with { type: "text" };
import security from "../docs/security.md" with { type: "text" };
import sessions from "../docs/sessions.md" with { type: "text" };
import skills from "../docs/skills.md" with { type: "text" };
import tools from "../docs/tools.md" with { type: "text" };
import type { CommandContext } from "./command.ts";
import { COMMANDS, findCommand } from "./flags.ts";
import { firstSentence } from "./table.ts";
import { usageText } from "./usage-text.ts";

const TEXTS: Readonly<Record<Topic, string>> = {
  "getting-started": gettingStarted,
  configuration,
  providers,
  tools,
  context,
  skills,
  sessions,
  "print-mode": printMode,
  repl,
  mcp,
  acp,
  security,
  "exit-codes": exitCodes,
};

/** The Markdown of one topic. */
export function topicText(topic: Topic): string {
  return TEXTS[topic];
}

/** The first sentence below a topic's heading. */
function summaryOf(topic: Topic): string {
  const [, body = ""] = TEXTS[topic].split(/^# .*\n+/m);
  const paragraph = (body.split("\n\n")[0] ?? "").replace(/[`*]/g, "").replace(/:$/, ".");
  return firstSentence(paragraph);
}

function overview(): string {
  const width = Math.max(...TOPICS.map((topic) => topic.length));
  return [
    "thndrs help TOPIC, where TOPIC is one of:",
    "",
    ...TOPICS.map((topic) => `  ${topic.padEnd(width)}  ${summaryOf(topic)}`),
    "",
    "Options and commands: thndrs --help, thndrs COMMAND --help",
  ].join("\n");
}

/** @throws UserError naming the nearest topic or command. */
export async function runHelp(context: CommandContext): Promise<ExitCode> {
  const { words, output } = context;
  const [word, ...rest] = words;
  const { stdout } = output;
  if (word === undefined) {
    stdout.line(overview());
    return EXIT.ok;
  }
  if (rest.length > 0) throw new UserError("one topic at a time: thndrs help TOPIC");
  const topic = TOPICS.find((known) => known === word);
  if (topic) {
    const text = TEXTS[topic].trimEnd();
    stdout.line(stdout.color ? Bun.markdown.ansi(text, { columns: Math.min(stdout.columns, 100) }).trimEnd() : text);
    return EXIT.ok;
  }
  if (findCommand(word)) {
    stdout.line(usageText(word));
    return EXIT.ok;
  }
  const near = nearestWord(word, [...TOPICS, ...COMMANDS.map((command) => command.name)]);
  throw new UserError(`there is no help topic "${word}"${near ? `; did you mean "${near}"?` : ""}\nTopics: ${TOPICS.join(", ")}`);
}
