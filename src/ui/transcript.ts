/**
 * The events of a run → settled lines and the rows that are still moving (repl.md, Streaming). Everything that comes from
 * a model, a tool, a file name or a session is sanitised here. Refuses: input, commands, the terminal.
 */
import type { Effect, RunEvent } from "../types/event.ts";
import { type Block, type BlockSplitter, createBlockSplitter } from "./markdown-blocks.ts";
import { renderBlocks } from "./render-markdown.ts";
import { renderRunningTool, renderTool, type ToolView } from "./render-tool.ts";
import { sanitize, visible } from "./sanitize.ts";
import { createStreamSanitizer, type StreamSanitizer } from "./sanitize-stream.ts";
import { typedFor } from "./slash.ts";
import { fit, type Style, shortTime, wrap } from "./style.ts";
import { expandTabs } from "./tabs.ts";

export type TranscriptOptions = {
  readonly style: Style;
  readonly color: boolean;
  readonly columns: () => number;
  /** One or more lines, joined by "\n". */
  readonly settle: (text: string) => void;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
};

export interface Transcript {
  event(event: RunEvent): void;
  /** What moves: the end of the text that is streaming, tools that run. At most `limit` rows. */
  moving(spinner: string, limit: number): readonly string[];
  /** Input as it was sent. */
  prompt(text: string, note?: string): void;
  /** Lines of the program itself, already safe. */
  say(lines: readonly string[]): void;
  error(message: string): void;
  /** An answer of an earlier run, for the tail of a resumed session. */
  answer(text: string): void;
}

const MAX_PROMPT_LINES = 20;
const THOUGHT_TAIL = 400;
/** Characters that may wait for the next frame. */
const MAX_INCOMING = 256 * 1024;

type Running = ToolView & { readonly started: number };

class EventTranscript implements Transcript {
  readonly #options: TranscriptOptions;
  #sanitizer: StreamSanitizer = createStreamSanitizer();
  #splitter: BlockSplitter = createBlockSplitter();
  #streamed = false;
  /** Text that came since it was last looked at: thousands of small pieces cost little until a frame is due. */
  #incoming: string[] = [];
  #incomingChars = 0;
  #thought = "";
  #thinkingSince: number | undefined;
  readonly #running = new Map<string, Running>();
  /** Whether the last settled line is blank (or nothing was settled yet). */
  #blank = true;

  constructor(options: TranscriptOptions) {
    this.#options = options;
  }

  get #columns(): number {
    return Math.max(8, this.#options.columns() - 1);
  }

  event(event: RunEvent): void {
    if (event.type === "text_delta") {
      this.#receive(event.text);
      return;
    }
    this.#drain();
    switch (event.type) {
      case "reasoning_delta":
        this.#thinkingSince ??= this.#options.now();
        this.#thought = (this.#thought + event.text).slice(-THOUGHT_TAIL);
        break;
      case "reasoning_finished":
        this.#endThought();
        break;
      case "assistant_finished":
        this.#finishAnswer(event.text, event.partial ?? false);
        break;
      case "retrying":
        this.#retry(event);
        break;
      case "tool_started":
        this.#running.set(event.callId, { name: event.name, arguments: event.arguments, started: this.#options.now() });
        break;
      case "tool_finished":
        this.#finishTool(event);
        break;
      case "effect":
        this.#effect(event.effect);
        break;
      case "failed":
        this.#flushAnswer();
        this.error(event.error);
        break;
      case "cancelled":
        this.#cancelled(event.reason);
        break;
      case "diagnostic":
        this.#diagnostic(event.diagnostic);
        break;
      case "queued":
        this.#queued(event.kind, event.action, event.text);
        break;
      case "compaction":
        this.#compacted(event);
        break;
      case "turn_finished":
        this.#flushAnswer();
        this.#running.clear();
        break;
      case "compaction_review":
      case "turn_started":
      case "context":
      case "context_ledger":
      case "context_item":
      case "prompt_metadata":
      case "request_started":
      case "usage":
      case "mcp_config_changed":
      case "acp_session":
      case "acp_permission_request":
      case "acp_permission_outcome":
      case "session_renamed":
        break;
    }
  }

  moving(spinner: string, limit: number): readonly string[] {
    this.#drain();
    const { style, color, now } = this.#options;
    const rows: string[] = [];
    if (this.#thinkingSince !== undefined) {
      const last = sanitize(this.#thought).replace(/\s+/g, " ").trim();
      const room = Math.max(4, this.#columns - 12);
      rows.push(style.dim(`${spinner} thinking… ${Bun.stringWidth(last) > room ? last.slice(-room).toWellFormed() : last}`));
    }
    const open = this.#splitter.open();
    if (open) {
      // As it will stand when it has settled.
      if (!open.continues && !this.#blank) rows.push("");
      const end = color ? "\x1b[0m" : "";
      const [text = ""] = renderBlocks([open], { color, columns: this.#columns });
      for (const line of text.split("\n").slice(-limit)) rows.push(line + end);
    }
    for (const call of this.#running.values())
      rows.push(renderRunningTool(call, now() - call.started, spinner, this.#columns, style));
    return rows.slice(-limit);
  }

  prompt(text: string, note?: string): void {
    const { style } = this.#options;
    const clean = expandTabs(sanitize(text));
    const lines = clean.split("\n");
    const shown = lines.slice(0, MAX_PROMPT_LINES).flatMap((line) => wrap(fitLong(line), this.#columns - 2));
    const cut = shown.slice(0, MAX_PROMPT_LINES);
    const left = lines.length - MAX_PROMPT_LINES;
    const rows = cut.map((line, index) => `${index === 0 ? style.cyan("❯") : " "} ${style.bold(line)}`);
    if (left > 0) rows.push(style.dim(`  … ${left} more lines`));
    else if (shown.length > cut.length) rows.push(style.dim(`  … (${clean.length} characters)`));
    if (note !== undefined) rows.push(style.dim(`  ${note}`));
    this.#gap();
    this.#settle(rows);
    this.#gap();
  }

  say(lines: readonly string[]): void {
    this.#settle(lines.flatMap((line) => wrap(expandTabs(line), this.#columns)));
  }

  error(message: string): void {
    this.#gap();
    const lines = message.split("\n").map(visible);
    this.#settle(lines.flatMap((line) => wrap(`✗ ${line}`, this.#columns)).map((line) => this.#options.style.red(line)));
  }

  answer(text: string): void {
    const splitter = createBlockSplitter();
    this.#settleBlocks([...splitter.push(sanitize(text)), ...splitter.end()]);
  }

  #receive(text: string): void {
    if (this.#thinkingSince !== undefined) this.#endThought();
    this.#streamed = true;
    this.#incoming.push(text);
    this.#incomingChars += text.length;
    if (this.#incomingChars > MAX_INCOMING) this.#drain();
  }

  #drain(): void {
    if (this.#incomingChars === 0) return;
    const text = this.#incoming.join("");
    this.#incoming = [];
    this.#incomingChars = 0;
    this.#settleBlocks(this.#splitter.push(this.#sanitizer.push(text)));
  }

  /** Each of them one or more lines. */
  #settle(texts: readonly string[]): void {
    const last = texts.at(-1);
    if (last === undefined) return;
    this.#blank = endsBlank(last);
    this.#options.settle(texts.join("\n"));
  }

  #gap(): void {
    if (!this.#blank) this.#settle([""]);
  }

  #settleBlocks(blocks: readonly Block[]): void {
    if (blocks.length === 0) return;
    const texts = renderBlocks(blocks, { color: this.#options.color, columns: this.#columns });
    const settled: string[] = [];
    let blank = this.#blank;
    for (let at = 0; at < blocks.length; at++) {
      const text = texts[at] ?? "";
      if (!blank && !blocks[at]?.continues) settled.push("");
      settled.push(text);
      blank = endsBlank(text);
    }
    this.#settle(settled);
  }

  #flushAnswer(): void {
    this.#endThought();
    this.#settleBlocks([...this.#splitter.push(this.#sanitizer.end()), ...this.#splitter.end()]);
  }

  #finishAnswer(text: string, partial: boolean): void {
    if (!this.#streamed && text !== "") this.#settleBlocks(this.#splitter.push(sanitize(text)));
    this.#flushAnswer();
    this.#streamed = false;
    if (partial) this.#settle([this.#options.style.dim("(cut off)")]);
    if (text !== "") this.#gap();
  }

  #endThought(): void {
    if (this.#thinkingSince === undefined) return;
    const took = shortTime(this.#options.now() - this.#thinkingSince);
    this.#thinkingSince = undefined;
    this.#thought = "";
    this.#settle([this.#options.style.dim(`· thought for ${took}`)]);
  }

  #finishTool(event: Extract<RunEvent, { type: "tool_finished" }>): void {
    const call = this.#running.get(event.callId);
    this.#running.delete(event.callId);
    this.#settle(renderTool({ ...event, arguments: call?.arguments ?? {} }, this.#columns, this.#options.style));
  }

  #cancelled(reason: string): void {
    this.#flushAnswer();
    this.#gap();
    this.#settle([this.#options.style.yellow(`■ cancelled${reason === "user" ? "" : ` (${visible(reason)})`}`)]);
  }

  #compacted({ beforeTokens, afterTokens, recoveryHandle }: Extract<RunEvent, { type: "compaction" }>): void {
    this.#gap();
    this.#settle([
      this.#options.style.dim(`· compacted: about ${beforeTokens} → ${afterTokens} tokens (${visible(recoveryHandle)})`),
    ]);
  }

  #retry(event: Extract<RunEvent, { type: "retrying" }>): void {
    const { style } = this.#options;
    const lost = this.#streamed && !event.summary;
    this.#flushAnswer();
    if (!event.summary) this.#streamed = false;
    if (lost) this.#settle([style.dim("(the text above is superseded)")]);
    const when = `trying again in ${shortTime(event.delayMs)} (attempt ${event.attempt} of ${event.maxAttempts})`;
    this.say([style.yellow(`↻ ${visible(event.message)}; ${when}`)]);
  }

  #effect(effect: Effect): void {
    const { style } = this.#options;
    if (effect.kind === "skill_activated") this.say([style.dim(`· skill ${visible(effect.name)}`)]);
    if (effect.kind !== "shell_exec" || effect.processKind !== "background") return;
    const id = visible(effect.processId ?? "?");
    const command = fit(visible(effect.command.join(" ")), 60);
    if (effect.processStatus === "running") this.say([style.dim(`· ${id} started: ${command}`)]);
    else {
      const code = effect.exitCode === null ? "" : `, exit ${effect.exitCode}`;
      this.say([style.dim(`· ${id} ${effect.processStatus}${code} after ${shortTime(effect.elapsedMs)}: ${command}`)]);
    }
  }

  #diagnostic({ severity, message, path, line }: Extract<RunEvent, { type: "diagnostic" }>["diagnostic"]): void {
    const { style } = this.#options;
    if (severity === "info") return;
    const where = path === undefined || message.includes(path) ? "" : `${path}${line === undefined ? "" : `:${line}`}: `;
    const text = `${severity === "error" ? "✗" : "!"} ${visible(`${where}${message}`)}`;
    this.say([severity === "error" ? style.red(text) : style.yellow(text)]);
  }

  #queued(kind: string, action: string, text: string): void {
    if (action === "sent" && kind === "steering") this.prompt(text, "steering");
    else if (action === "cancelled") {
      this.say([this.#options.style.dim(`· ${kind} cleared: ${fit(visible(typedFor(text)), Math.max(12, this.#columns - 22))}`)]);
    }
  }
}

function endsBlank(text: string): boolean {
  return text === "" || text.endsWith("\n");
}

/** A line too long to be worth wrapping whole. */
function fitLong(line: string): string {
  return line.length > 4000 ? `${line.slice(0, 4000).toWellFormed()}…` : line;
}

/** The transcript of one terminal; it goes on through every conversation that is opened there. */
export function createTranscript(options: TranscriptOptions): Transcript {
  return new EventTranscript(options);
}
