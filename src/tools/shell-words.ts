/**
 * Splits a shell script into words and operators, well enough to follow its `cd`s (C4). Refuses: running, expanding, and
 * judging a script: what it cannot read becomes a word of unknown value.
 */

export type ShellWord = {
  readonly kind: "word";
  /** Value after quotes are removed. */
  readonly text: string;
  /** False when an expansion in it makes the value unknown; `$HOME`, `$PWD`, `$OLDPWD` and `~` are left in for the caller. */
  readonly known: boolean;
  /** True when any part was quoted (a quoted `~` is no home, a quoted keyword no keyword). */
  readonly quoted: boolean;
  /** Scripts inside `$(…)` or backquotes. */
  readonly inner: readonly string[];
};

export type ShellToken = ShellWord | { readonly kind: "operator"; readonly text: string };

const OPERATOR = /^(?:&&|\|\||;;&?|;&|\|&|<<<|<<-?|&>>?|>>|>&|<&|>\||<>|[;&|()<>\n])/;
/** Stand-ins inside a word for the three variables that can be followed; they cannot occur in a path that is accepted. */
const FOLLOWED = /^\$(?:\{(HOME|PWD|OLDPWD)\}|(HOME|PWD|OLDPWD)(?![A-Za-z0-9_]))/;

/** What stands in a word's text for a variable that the caller may know. */
export function markOf(variable: string): string {
  return `\0${variable}\0`;
}

/** Tokens of `script`, comments and here-documents left out. Linear; never throws. */
export function tokenize(script: string): ShellToken[] {
  const tokens: ShellToken[] = [];
  const documents: { readonly end: string; readonly tabs: boolean }[] = [];
  let at = 0;
  while (at < script.length) {
    const character = script[at] ?? "";
    if (character === " " || character === "\t" || character === "\r") at++;
    else if (script.startsWith("\\\n", at)) at += 2;
    else if (character === "#") at = endOfLine(script, at);
    else {
      const operator = OPERATOR.exec(script.slice(at, at + 3))?.[0];
      if (operator === undefined) {
        const read = readWord(script, at);
        tokens.push(read.word);
        at = read.end;
        noteDocument(tokens, documents);
        continue;
      }
      tokens.push({ kind: "operator", text: operator });
      at += operator.length;
      if (operator === "\n") at = skipDocuments(script, at, documents);
    }
  }
  return tokens;
}

function endOfLine(script: string, at: number): number {
  const end = script.indexOf("\n", at);
  return end < 0 ? script.length : end;
}

function noteDocument(tokens: readonly ShellToken[], documents: { end: string; tabs: boolean }[]): void {
  const operator = tokens.at(-2);
  const word = tokens.at(-1);
  if (operator?.kind !== "operator" || word?.kind !== "word") return;
  if (operator.text === "<<" || operator.text === "<<-") documents.push({ end: word.text, tabs: operator.text === "<<-" });
}

function skipDocuments(script: string, from: number, documents: { end: string; tabs: boolean }[]): number {
  let at = from;
  for (const document of documents.splice(0)) {
    while (at < script.length) {
      const end = endOfLine(script, at);
      const line = script.slice(at, end);
      at = Math.min(script.length, end + 1);
      if ((document.tabs ? line.replace(/^\t+/, "") : line) === document.end) break;
    }
  }
  return at;
}

type WordState = { text: string; known: boolean; quoted: boolean; readonly inner: string[] };

function readWord(script: string, from: number): { readonly word: ShellWord; readonly end: number } {
  const state: WordState = { text: "", known: true, quoted: false, inner: [] };
  let at = from;
  while (at < script.length) {
    const character = script[at] ?? "";
    if (/[\s;&|()<>]/.test(character)) break;
    if (character === "'") at = readSingle(script, at, state);
    else if (character === '"') at = readDouble(script, at, state);
    else if (character === "\\") {
      if (script[at + 1] !== "\n") state.text += script[at + 1] ?? "";
      state.quoted = true;
      at += 2;
    } else if (character === "$" || character === "`") at = readExpansion(script, at, state);
    else {
      if (/[*?[]/.test(character)) state.known = false;
      state.text += character;
      at++;
    }
  }
  return { word: { kind: "word", ...state }, end: Math.max(at, from + 1) };
}

function readSingle(script: string, at: number, state: WordState): number {
  const end = script.indexOf("'", at + 1);
  const stop = end < 0 ? script.length : end;
  state.text += script.slice(at + 1, stop);
  state.quoted = true;
  return stop + 1;
}

function readDouble(script: string, from: number, state: WordState): number {
  state.quoted = true;
  let at = from + 1;
  while (at < script.length && script[at] !== '"') {
    const character = script[at] ?? "";
    if (character === "\\") {
      const next = script[at + 1] ?? "";
      if (next !== "\n") state.text += '$`"\\'.includes(next) ? next : `\\${next}`;
      at += 2;
    } else if (character === "$" || character === "`") at = readExpansion(script, at, state);
    else {
      state.text += character;
      at++;
    }
  }
  return at + 1;
}

function readExpansion(script: string, at: number, state: WordState): number {
  const followed = FOLLOWED.exec(script.slice(at, at + 12));
  if (followed) {
    state.text += markOf(followed[1] ?? followed[2] ?? "");
    return at + followed[0].length;
  }
  if (script[at] === "`") {
    const end = script.indexOf("`", at + 1);
    const stop = end < 0 ? script.length : end;
    state.inner.push(script.slice(at + 1, stop));
    state.known = false;
    return stop + 1;
  }
  if (script[at + 1] === "(") {
    const end = closingParenthesis(script, at + 2);
    // Arithmetic holds no commands.
    if (script[at + 2] !== "(") state.inner.push(script.slice(at + 2, end));
    state.known = false;
    return end + 1;
  }
  if (script[at + 1] === "{") {
    const end = script.indexOf("}", at);
    state.known = false;
    return end < 0 ? script.length : end + 1;
  }
  const name = /^\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])/.exec(script.slice(at, at + 64))?.[0];
  if (name === undefined) {
    state.text += "$";
    return at + 1;
  }
  state.known = false;
  return at + name.length;
}

/** Index of the `)` that closes a substitution whose content begins at `from`; the end of the script without one. */
function closingParenthesis(script: string, from: number): number {
  let depth = 1;
  for (let at = from; at < script.length; at++) {
    const character = script[at];
    if (character === "\\") at++;
    else if (character === "'") at = skipTo(script, "'", at);
    else if (character === "(") depth++;
    else if (character === ")" && --depth === 0) return at;
  }
  return script.length;
}

function skipTo(script: string, quote: string, at: number): number {
  const end = script.indexOf(quote, at + 1);
  return end < 0 ? script.length : end;
}
