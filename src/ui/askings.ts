/**
 * The kinds of questions a person is asked: how clack puts each of them, and how it is put as lines where nothing else can be
 * shown. Refuses: the terminal, the keys, what is asked.
 */
import type { Readable } from "node:stream";
import { holds, MAX_SHOWN, optionsOf } from "./choice-rows.ts";
import type { KeyEvent } from "./keys.ts";
import { numberedAnswer, type Question, questionLines } from "./picker.ts";
import type { PromptCanvas } from "./prompt-canvas.ts";
import { visible } from "./sanitize.ts";

export type Clack = typeof import("@clack/prompts");

/** What a prompt of every kind is made with. Its looks change: add to it, never copy it. */
export type Shared = {
  readonly message: string;
  readonly withGuide: boolean;
  readonly input: Readable;
  readonly output: PromptCanvas;
  readonly signal: AbortSignal;
};

export type Reading<T> = { readonly value: T } | { readonly problem: string };

/** One question with one answer. */
export type Asking<T> = {
  readonly message: string;
  readonly signal?: AbortSignal | undefined;
  /** Rows it needs below its message, those around every question left out. */
  readonly rows: number;
  /** Whether that can be meant for it; without this, anything can. */
  readonly takes?: (event: KeyEvent) => boolean;
  /** Undefined when the person gave up. */
  readonly put: (clack: Clack, shared: Shared) => Promise<T | undefined>;
  /** All of it as lines. */
  readonly lines: readonly string[];
  /** The answer to those lines. */
  readonly read: (typed: string) => Reading<T>;
  /** As a question's (picker.ts). */
  readonly isGuarded?: boolean;
  /** What is typed is not shown. */
  readonly secret?: boolean;
};

/** More choices than this are filtered by typing. */
const MANY = 8;
/** What is meant as an answer, and not as the start of a sentence. Letters that move between choices are among it. */
const YES_OR_NO = /^(?:y|yes|n|no|[hjkl ])$/i;

/** One of several answers. */
export function listOf<T>(question: Question<T>): Asking<T> {
  const { choices, isGuarded = false, message, signal } = question;
  const initial = choices.findIndex((choice) => choice.value === question.initial);
  return {
    message,
    signal,
    isGuarded,
    rows: Math.min(choices.length, MAX_SHOWN),
    lines: questionLines(question),
    read: (typed) => {
      const value = numberedAnswer(question, typed);
      return value === undefined ? { problem: `answer with a number from 1 to ${choices.length}` } : { value };
    },
    put: async (clack, shared) => {
      const options = Object.assign(shared, {
        options: optionsOf(choices, shared.output),
        maxItems: MAX_SHOWN,
        filter: (search: string, { value }: { readonly value: number }) => holds(choices[value], search),
        // Said beside it, where it is said whether they hold.
        showInstructions: !isGuarded,
        ...(initial >= 0 && { initialValue: initial }),
      });
      const answer = choices.length > MANY ? await clack.autocomplete(options) : await clack.select(options);
      return clack.isCancel(answer) ? undefined : choices[answer]?.value;
    },
  };
}

/** No unless the person says yes. */
export function yesOrNo(message: string): Asking<boolean> {
  return {
    message,
    rows: 1,
    // A paste, or a line that was begun before the question came, may hold any letter.
    takes: (event) => event.type === "key" || (event.type === "text" && YES_OR_NO.test(event.text)),
    lines: [`${message} (yes or no; Enter is no)`],
    read: (typed) => {
      const word = typed.trim().toLowerCase();
      if (word === "y" || word === "yes") return { value: true };
      return word === "" || word === "n" || word === "no" ? { value: false } : { problem: "answer with yes or no" };
    },
    put: async (clack, shared) => {
      const answer = await clack.confirm(Object.assign(shared, { initialValue: false }));
      return clack.isCancel(answer) ? undefined : answer;
    },
  };
}

/** What is wrong with what was typed; undefined when nothing is. */
export type Check = (typed: string) => string | undefined;

/** Something typed, without the white space around it. */
export function typedText(message: string, check: Check, initial = ""): Asking<string> {
  // What is not shown as it is cannot be agreed to.
  const offered = visible(initial) === initial ? initial : "";
  return {
    message,
    rows: 1,
    lines: [offered === "" ? message : `${message} (Enter: ${offered})`],
    read: (typed) => checked(typed.trim() === "" ? offered : typed, check),
    put: async (clack, shared) => {
      const validate = (typed = ""): string | undefined => check(typed.trim());
      const answer = await clack.text(Object.assign(shared, { validate, ...(offered !== "" && { initialValue: offered }) }));
      return clack.isCancel(answer) ? undefined : answer.trim();
    },
  };
}

/** The same for what nobody may read. */
export function typedSecret(message: string, check: Check): Asking<string> {
  return {
    message,
    rows: 1,
    secret: true,
    lines: [`${message} (it is not shown)`],
    read: (typed) => checked(typed, check),
    put: async (clack, shared) => {
      const validate = (typed = ""): string | undefined => check(typed.trim());
      const answer = await clack.password(Object.assign(shared, { validate }));
      return clack.isCancel(answer) ? undefined : answer.trim();
    },
  };
}

function checked(typed: string, check: Check): Reading<string> {
  const value = typed.trim();
  const problem = check(value);
  return problem === undefined ? { value } : { problem };
}
