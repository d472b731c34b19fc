/**
 * The text being typed, as a value: every key is a function from one state to the next (repl.md, Input). Clusters are
 * moved over and deleted as one. Refuses: drawing, history, knowing which key means what.
 */
import { boundaryFrom, nextBoundary, previousBoundary, type Segmenter } from "./graphemes.ts";

export type EditorState = {
  readonly text: string;
  /** UTF-16 index, always between two clusters. */
  readonly cursor: number;
  /** What was cut last: by one command, or by several with nothing between them. */
  readonly killed: string;
  /** The last command was a cut: the next one joins it. */
  readonly cuts: boolean;
  /** Earlier states, newest last, for undo. */
  readonly past: readonly { readonly text: string; readonly cursor: number }[];
};

export type EditCommand =
  | "left"
  | "right"
  | "word-left"
  | "word-right"
  | "line-start"
  | "line-end"
  | "text-start"
  | "text-end"
  | "delete-left"
  | "delete-right"
  | "kill-to-end"
  | "kill-to-start"
  | "kill-blank-left"
  | "kill-word-left"
  | "kill-word-right"
  | "yank"
  | "transpose"
  | "undo";

const MAX_UNDO = 200;
/** Characters of all earlier states together. */
const MAX_UNDO_CHARS = 4_000_000;

/** Commands that cut; a cut of what stands before the cursor goes in front of the one before it. */
const CUTS: ReadonlyMap<EditCommand, "before" | "behind"> = new Map([
  ["kill-to-end", "behind"],
  ["kill-word-right", "behind"],
  ["kill-to-start", "before"],
  ["kill-blank-left", "before"],
  ["kill-word-left", "before"],
] as const);

export const EMPTY: EditorState = { text: "", cursor: 0, killed: "", cuts: false, past: [] };

/** The same editor with another text, cursor at its end (history, external editor). */
export function withText(state: EditorState, text: string, cursor = text.length): EditorState {
  return changed(state, text, cursor);
}

function changed(state: EditorState, text: string, cursor: number, killed = state.killed): EditorState {
  if (text === state.text) return { ...state, cursor, killed, cuts: false };
  const keep = Math.max(1, Math.min(MAX_UNDO, Math.floor(MAX_UNDO_CHARS / (state.text.length + 1))));
  const past = [...state.past.slice(Math.max(0, state.past.length - keep + 1)), { text: state.text, cursor: state.cursor }];
  return { text, cursor, killed, cuts: false, past };
}

/** Types or pastes `text` at the cursor. */
export function insert(segmenter: Segmenter, state: EditorState, text: string): EditorState {
  const { text: old, cursor } = state;
  const next = old.slice(0, cursor) + text + old.slice(cursor);
  return changed(state, next, boundaryFrom(segmenter, next, cursor + text.length));
}

const isWord = (cluster: string): boolean => /[\p{L}\p{N}_]/u.test(cluster);

function wordLeft(segmenter: Segmenter, text: string, cursor: number): number {
  let at = cursor;
  let inWord = false;
  while (at > 0) {
    const before = previousBoundary(segmenter, text, at);
    const word = isWord(text.slice(before, at));
    if (inWord && !word) return at;
    inWord ||= word;
    at = before;
  }
  return at;
}

function wordRight(segmenter: Segmenter, text: string, cursor: number): number {
  let at = cursor;
  let inWord = false;
  while (at < text.length) {
    const after = nextBoundary(segmenter, text, at);
    const word = isWord(text.slice(at, after));
    if (inWord && !word) return at;
    inWord ||= word;
    at = after;
  }
  return at;
}

/** Back over white space, then over what is not: what Ctrl+W deletes. */
function blankLeft(segmenter: Segmenter, text: string, cursor: number): number {
  let at = cursor;
  let inWord = false;
  while (at > 0) {
    const before = previousBoundary(segmenter, text, at);
    const blank = /^\s/.test(text.slice(before, at));
    if (inWord && blank) return at;
    inWord ||= !blank;
    at = before;
  }
  return at;
}

function lineStart(text: string, cursor: number): number {
  // From -1 on `lastIndexOf` would look at the first character, which stands behind the cursor.
  return cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1;
}

function lineEnd(text: string, cursor: number): number {
  const end = text.indexOf("\n", cursor);
  return end === -1 ? text.length : end;
}

function cut(state: EditorState, from: number, to: number, keep: boolean): EditorState {
  if (from === to) return state;
  const text = state.text.slice(0, from) + state.text.slice(to);
  return changed(state, text, from, keep ? state.text.slice(from, to) : state.killed);
}

function transpose(segmenter: Segmenter, state: EditorState): EditorState {
  const { text } = state;
  const middle = state.cursor === text.length ? previousBoundary(segmenter, text, text.length) : state.cursor;
  const start = previousBoundary(segmenter, text, middle);
  const end = nextBoundary(segmenter, text, middle);
  if (start === middle || middle === end) return state;
  const next = text.slice(0, start) + text.slice(middle, end) + text.slice(start, middle) + text.slice(end);
  return changed(state, next, boundaryFrom(segmenter, next, end));
}

function moved(state: EditorState, cursor: number): EditorState {
  return cursor === state.cursor ? state : { ...state, cursor };
}

/** One editing command. */
export function edit(segmenter: Segmenter, state: EditorState, command: EditCommand): EditorState {
  const next = done(segmenter, state, command);
  const side = CUTS.get(command);
  if (side === undefined) return next.cuts ? { ...next, cuts: false } : next;
  if (!state.cuts || next.text === state.text) return { ...next, cuts: true };
  const killed = side === "before" ? next.killed + state.killed : state.killed + next.killed;
  return { ...next, killed, cuts: true };
}

function done(segmenter: Segmenter, state: EditorState, command: EditCommand): EditorState {
  const { text, cursor } = state;
  switch (command) {
    case "left":
      return moved(state, previousBoundary(segmenter, text, cursor));
    case "right":
      return moved(state, nextBoundary(segmenter, text, cursor));
    case "word-left":
      return moved(state, wordLeft(segmenter, text, cursor));
    case "word-right":
      return moved(state, wordRight(segmenter, text, cursor));
    case "line-start":
      return moved(state, lineStart(text, cursor));
    case "line-end":
      return moved(state, lineEnd(text, cursor));
    case "text-start":
      return moved(state, 0);
    case "text-end":
      return moved(state, text.length);
    case "delete-left":
      return rejoined(segmenter, cut(state, previousBoundary(segmenter, text, cursor), cursor, false));
    case "delete-right":
      return rejoined(segmenter, cut(state, cursor, nextBoundary(segmenter, text, cursor), false));
    case "kill-to-end": {
      const end = lineEnd(text, cursor);
      return rejoined(segmenter, cut(state, cursor, end === cursor ? Math.min(text.length, end + 1) : end, true));
    }
    case "kill-to-start": {
      const start = lineStart(text, cursor);
      return rejoined(segmenter, cut(state, start === cursor ? Math.max(0, start - 1) : start, cursor, true));
    }
    case "kill-word-left":
      return rejoined(segmenter, cut(state, wordLeft(segmenter, text, cursor), cursor, true));
    case "kill-blank-left":
      return rejoined(segmenter, cut(state, blankLeft(segmenter, text, cursor), cursor, true));
    case "kill-word-right":
      return rejoined(segmenter, cut(state, cursor, wordRight(segmenter, text, cursor), true));
    case "yank":
      return state.killed === "" ? state : insert(segmenter, state, state.killed);
    case "transpose":
      return transpose(segmenter, state);
    case "undo": {
      const last = state.past.at(-1);
      return last ? { ...state, text: last.text, cursor: last.cursor, past: state.past.slice(0, -1) } : state;
    }
  }
}

/** After a deletion the two sides may form one cluster: the cursor stands behind it. */
function rejoined(segmenter: Segmenter, state: EditorState): EditorState {
  return moved(state, boundaryFrom(segmenter, state.text, state.cursor));
}
