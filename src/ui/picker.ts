/**
 * Questions with a list of answers: by clack on a lent keyboard, by number on a terminal that knows only lines. Refuses:
 * what is asked. Labels are sanitised here.
 */
import type { OutputStream } from "./output.ts";
import { visible } from "./sanitize.ts";

export type Choice<T> = { readonly value: T; readonly label: string; readonly hint?: string };

export type Question<T> = {
  readonly message: string;
  readonly choices: readonly Choice<T>[];
  readonly initial?: T;
  readonly signal?: AbortSignal;
};

/** More choices than this are filtered by typing. */
const MANY = 8;

/** Asks on the terminal; the caller has lent it. Undefined when the person gave up or the signal came. */
export async function askOnTerminal<T>(question: Question<T>, stream: OutputStream): Promise<T | undefined> {
  // Lazy door: most runs never ask.
  const clack = await import("@clack/prompts");
  const { choices, signal } = question;
  // A signal of its own, let go of with the answer: clack listens for ever and would take raw mode away later.
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted) abort();
  const options = choices.map((choice, index) => ({
    value: index,
    label: visible(choice.label),
    ...(choice.hint === undefined ? {} : { hint: visible(choice.hint) }),
  }));
  const initial = choices.findIndex((choice) => choice.value === question.initial);
  const shared = {
    message: question.message.split("\n").map(visible).join("\n"),
    options,
    maxItems: Math.max(3, Math.min(10, stream.rows - 6)),
    output: stream.node,
    ...(initial >= 0 && { initialValue: initial }),
    signal: controller.signal,
  };
  const answer = choices.length > MANY ? await clack.autocomplete(shared) : await clack.select(shared);
  signal?.removeEventListener("abort", abort);
  if (clack.isCancel(answer)) return undefined;
  return choices[answer]?.value;
}

/** The same question as lines, for a terminal without cursor movement. */
export function questionLines<T>(question: Question<T>): string[] {
  return [
    ...question.message.split("\n").map(visible),
    ...question.choices.map((choice, index) => {
      const hint = choice.hint === undefined ? "" : ` (${visible(choice.hint)})`;
      return `  ${index + 1}  ${visible(choice.label)}${hint}`;
    }),
  ];
}

/** The answer to a numbered question; undefined when it is none of them. */
export function numberedAnswer<T>(question: Question<T>, typed: string): T | undefined {
  return /^\s*\d+\s*$/.test(typed) ? question.choices[Number(typed) - 1]?.value : undefined;
}
