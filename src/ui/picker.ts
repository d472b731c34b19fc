/**
 * Questions with a list of answers, and how they are put on a terminal that knows only lines: by number (prompt.ts puts them
 * everywhere else). Refuses: what is asked. Labels are sanitised here.
 */
import { visible } from "./sanitize.ts";

export type Choice<T> = { readonly value: T; readonly label: string; readonly hint?: string };

export type Question<T> = {
  readonly message: string;
  readonly choices: readonly Choice<T>[];
  readonly initial?: T;
  readonly signal?: AbortSignal;
  /** Something is allowed by it, and it comes unasked: it must not be answered by what is typed meanwhile. */
  readonly isGuarded?: boolean;
};

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
