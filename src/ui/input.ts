/**
 * The input line and its keys: editor, history, search, completion (repl.md, Input). Says what a key asks for beyond
 * editing. Refuses: sending anything, drawing.
 */
import type { CompletionTarget } from "./completion.ts";
import { completionTarget, matching, sharedPrefix } from "./completion.ts";
import type { Segmenter } from "./graphemes.ts";
import { searchHistory, type Walk, walkHistory } from "./history.ts";
import type { InputLayout } from "./input-layout.ts";
import type { KeyEvent } from "./keys.ts";
import { type EditCommand, type EditorState, EMPTY, edit, insert, withText } from "./line-editor.ts";

/** What a key asks the REPL to do. */
export type InputRequest =
  | "submit"
  | "interrupt"
  | "escape"
  | "end"
  | "suspend"
  | "toggle-queue"
  | "external-editor"
  | "clear-screen";

export type Completer = (target: CompletionTarget) => Promise<readonly string[]> | readonly string[];

export type InputOptions = {
  readonly segmenter: Segmenter;
  readonly layout: InputLayout;
  /** What was sent before, newest last. */
  readonly entries: () => readonly string[];
  readonly complete: Completer;
  /** Columns of the input, without its prompt. */
  readonly width: () => number;
  readonly onRequest: (request: InputRequest) => void;
  readonly onChange: () => void;
};

const EDITS: Readonly<Record<string, EditCommand>> = {
  left: "left",
  right: "right",
  "ctrl+b": "left",
  "ctrl+f": "right",
  "alt+b": "word-left",
  "alt+f": "word-right",
  "alt+left": "word-left",
  "alt+right": "word-right",
  "ctrl+left": "word-left",
  "ctrl+right": "word-right",
  home: "line-start",
  end: "line-end",
  "ctrl+a": "line-start",
  "ctrl+e": "line-end",
  "ctrl+home": "text-start",
  "ctrl+end": "text-end",
  "alt+<": "text-start",
  "alt+>": "text-end",
  backspace: "delete-left",
  "shift+backspace": "delete-left",
  delete: "delete-right",
  "ctrl+k": "kill-to-end",
  "ctrl+u": "kill-to-start",
  "ctrl+w": "kill-blank-left",
  "alt+backspace": "kill-word-left",
  "ctrl+backspace": "kill-word-left",
  "alt+d": "kill-word-right",
  "ctrl+delete": "kill-word-right",
  "ctrl+y": "yank",
  "ctrl+h": "delete-left",
  "ctrl+_": "undo",
  "ctrl+/": "undo",
  "ctrl+-": "undo",
  "ctrl+shift+-": "undo",
};

const REQUESTS: Readonly<Record<string, InputRequest>> = {
  "ctrl+c": "interrupt",
  escape: "escape",
  "ctrl+[": "escape",
  "ctrl+z": "suspend",
  "ctrl+t": "toggle-queue",
  "ctrl+g": "external-editor",
  "ctrl+l": "clear-screen",
};

const NEWLINES: ReadonlySet<string> = new Set(["ctrl+j", "shift+enter", "alt+enter", "ctrl+enter", "ctrl+shift+enter"]);
/** Whether a key only changes the text or moves in it. */
export function isEditing(key: string): boolean {
  return Object.hasOwn(EDITS, key) || NEWLINES.has(key);
}

const MAX_CANDIDATES = 50;

type Menu = { readonly candidates: readonly string[]; readonly from: number; to: number; at: number };
type Search = { readonly query: string; readonly at: number; readonly before: EditorState };

export class Input {
  readonly #options: InputOptions;
  #state: EditorState = EMPTY;
  #walk: Walk;
  /** In an entry of the history the cursor was moved: its rows come before the next entry. */
  #inRows = false;
  #search: Search | undefined;
  #menu: Menu | undefined;
  #column: number | undefined;

  constructor(options: InputOptions) {
    this.#options = options;
  }

  get text(): string {
    return this.#state.text;
  }

  get cursor(): number {
    return this.#state.cursor;
  }

  /** Candidates of a completion, and which of them stands in the text (-1: none yet). */
  get menu(): { readonly candidates: readonly string[]; readonly at: number } | undefined {
    return this.#menu;
  }

  get search(): { readonly query: string; readonly found: boolean } | undefined {
    return this.#search && { query: this.#search.query, found: this.#search.query === "" || this.#search.at >= 0 };
  }

  /** Replaces the text; the old one can be had back with undo. */
  set(text: string): void {
    this.#leave();
    this.#state = withText(this.#state, text);
    this.#options.onChange();
  }

  /** Text that was taken comes back, above what is being typed. */
  giveBack(text: string): void {
    const typed = this.#state.text;
    this.set(typed === "" ? text : `${text}\n${typed}`);
  }

  /** The text was taken: nothing of it can be undone into the next one. */
  clear(): void {
    this.#leave();
    this.#state = { ...EMPTY, killed: this.#state.killed };
    this.#options.onChange();
  }

  /** Given up with Ctrl+C: Ctrl+Y brings it back. */
  discard(): void {
    const { text } = this.#state;
    this.clear();
    this.#state = { ...this.#state, killed: text };
  }

  handle(event: KeyEvent): void {
    if (event.type === "reports-keys") return;
    if (event.type === "key") this.#key(event.key);
    else if (this.#search && event.type === "text") this.#find(this.#search.query + event.text, this.#options.entries().length);
    else this.#type(event.text);
    this.#options.onChange();
  }

  #type(text: string): void {
    this.#leave();
    this.#state = insert(this.#options.segmenter, this.#state, text);
  }

  /** Ends search, menu and the walk through history; the text stays as it is. */
  #leave(): void {
    this.#search = undefined;
    this.#menu = undefined;
    this.#column = undefined;
    this.#walk = undefined;
  }

  #key(key: string): void {
    if (this.#search && this.#searchKey(key)) return;
    if (this.#menu && this.#menuKey(key)) return;
    if (key !== "up" && key !== "down") this.#column = undefined;
    if (key === "enter") {
      this.#enter();
      return;
    }
    if (NEWLINES.has(key)) {
      this.#type("\n");
      return;
    }
    if (key === "ctrl+d") {
      if (this.#state.text === "") this.#options.onRequest("end");
      else this.#edit("delete-right");
      return;
    }
    const request = REQUESTS[key];
    if (request) {
      this.#options.onRequest(request);
      return;
    }
    if (key === "up" || key === "down" || key === "ctrl+p" || key === "ctrl+n") this.#vertical(key);
    else if (key === "ctrl+r") this.#startSearch();
    else if (key === "tab") void this.#complete();
    else {
      const command = EDITS[key];
      if (command) this.#edit(command);
    }
  }

  #edit(command: EditCommand): void {
    const before = this.#state.text;
    this.#state = edit(this.#options.segmenter, this.#state, command);
    if (before !== this.#state.text) this.#leave();
    else this.#inRows = true;
  }

  #enter(): void {
    const { text, cursor } = this.#state;
    if (text[cursor - 1] === "\\" && text[cursor - 2] !== "\\") {
      this.#edit("delete-left");
      this.#type("\n");
      return;
    }
    this.#leave();
    this.#options.onRequest("submit");
  }

  /** Rows of the text first, then the history. */
  #vertical(key: string): void {
    const { layout, width } = this.#options;
    const { text, cursor } = this.#state;
    const delta = key === "up" || key === "ctrl+p" ? -1 : 1;
    this.#column ??= layout.place(text, width(), cursor).column;
    const within = layout.vertical(text, width(), cursor, delta, this.#column);
    if (within !== undefined && (this.#walk === undefined || this.#inRows)) {
      this.#state = { ...this.#state, cursor: within, cuts: false };
      return;
    }
    const step = walkHistory(this.#options.entries(), this.#walk, text, delta);
    if (!step) return;
    this.#state = withText(this.#state, step.text);
    this.#walk = step.walk;
    this.#inRows = false;
  }

  #startSearch(): void {
    this.#menu = undefined;
    this.#search = { query: "", at: -1, before: this.#state };
  }

  #find(query: string, from: number): void {
    const search = this.#search;
    if (!search) return;
    const entries = this.#options.entries();
    const at = searchHistory(entries, query, from);
    this.#search = { ...search, query, at };
    const found = entries[at];
    if (found !== undefined) this.#state = withText(search.before, found);
  }

  /** True when the key belongs to the search. */
  #searchKey(key: string): boolean {
    const search = this.#search;
    if (!search) return false;
    if (key === "ctrl+r") {
      const entries = this.#options.entries();
      const next = searchHistory(entries, search.query, search.at < 0 ? entries.length : search.at);
      if (next >= 0) this.#find(search.query, search.at < 0 ? entries.length : search.at);
      return true;
    }
    if (key === "backspace") {
      this.#find([...search.query].slice(0, -1).join(""), this.#options.entries().length);
      return true;
    }
    if (key === "escape" || key === "ctrl+g" || key === "ctrl+c") {
      this.#state = search.before;
      this.#search = undefined;
      return true;
    }
    this.#search = undefined;
    // Enter takes what was found into the line; sending it is another Enter.
    return key === "enter";
  }

  #menuKey(key: string): boolean {
    const menu = this.#menu;
    if (!menu) return false;
    if (key === "tab" || key === "shift+tab") {
      const count = menu.candidates.length;
      menu.at = (menu.at + (key === "tab" ? 1 : count - 1) + (menu.at < 0 && key !== "tab" ? 1 : 0)) % count;
      this.#put(menu, menu.candidates[menu.at] ?? "");
      return true;
    }
    this.#menu = undefined;
    return key === "escape";
  }

  #put(menu: Menu, word: string): void {
    const { text } = this.#state;
    this.#state = withText(this.#state, text.slice(0, menu.from) + word + text.slice(menu.to), menu.from + word.length);
    menu.to = menu.from + word.length;
  }

  async #complete(): Promise<void> {
    const before = this.#state;
    const target = completionTarget(before.text, before.cursor);
    if (!target) return;
    const found = matching(await this.#options.complete(target), target.word, MAX_CANDIDATES);
    // Typed on meanwhile: the answer is to another question.
    if (this.#state !== before || found.length === 0) return;
    const menu: Menu = { candidates: found, from: target.from, to: target.to, at: -1 };
    const [only, ...more] = found;
    if (only !== undefined && more.length === 0) this.#put(menu, only.endsWith("/") ? only : `${only} `);
    else {
      this.#put(menu, sharedPrefix(found, target.word));
      this.#menu = menu;
    }
    this.#options.onChange();
  }
}
