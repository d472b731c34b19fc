/** Paths in a person's prompt (C4, By mention). Refuses: asking the disk. */

import { findRegions } from "./regions.ts";

/** A pasted log is no list of paths to look after: only this much of a prompt is read, from both ends. */
const MAX_CHARS = 128 * 1024;
const MAX_PATHS = 2000;

/** A longer word is no path that a person wrote. */
const MAX_TOKEN = 1024;

const URL = /\b[a-z][a-z0-9+.-]{1,20}:\/\/\S+/gi;
const PATH_RUN = /(?<![\w.@~+/-])[\w.@~+-]*\/[\w.@~+/-]*/g;

/** Drops what writing puts round a path: quotes, brackets, trailing punctuation, `:line:col`, `#L10`. */
function bare(token: string): string {
  return token
    .replace(/^[([{<"'“‘]+/, "")
    .replace(/[\])}>"'”’.,;:!?…]+$/, "")
    .replace(/(?::\d+){1,2}(?:-\d+)?$|#L\d+(?:-L?\d+)?$/, "")
    .replace(/[.,;:!?]+$/, "");
}

/** `me@example.com`, `git@host:path`: an at sign before any slash, and something before it. */
function isAddress(token: string): boolean {
  const at = token.indexOf("@");
  const slash = token.indexOf("/");
  return at > 0 && (slash === -1 || at < slash);
}

function addToken(token: string, inBackticks: boolean, paths: Set<string>): void {
  if (token.length > MAX_TOKEN) return;
  const plain = bare(token);
  const named = plain.startsWith("@") ? plain.slice(1) : plain;
  if (named === "" || isAddress(plain)) return;
  if (inBackticks || plain.startsWith("@") || named.includes("/")) paths.add(named);
  // A directory may be called that: `@scope/package`.
  if (plain.startsWith("@") && named.includes("/")) paths.add(plain);
  // "[text](path)", "path,path", writing without spaces between words and paths.
  if (!named.includes("/")) return;
  for (const run of named.matchAll(PATH_RUN)) {
    const part = bare(run[0]);
    if (part !== named && part.length > 1 && !isAddress(part)) paths.add(part.startsWith("@") ? part.slice(1) : part);
  }
}

/** Path-like words of a prompt, as written: relative, absolute or `~`. URLs and addresses are not among them. */
export function mentionedPaths(prompt: string): string[] {
  const read = prompt.length <= MAX_CHARS ? prompt : `${prompt.slice(0, MAX_CHARS / 2)} ${prompt.slice(-MAX_CHARS / 2)}`;
  // Most prompts name no path: a path has a slash, an at sign before it, or backticks round it.
  if (!read.includes("/") && !read.includes("@") && !read.includes("`")) return [];
  const text = read.replace(URL, " ");
  const paths = new Set<string>();
  const rest: string[] = [];
  let at = 0;
  for (const span of findRegions(text).filter((region) => region.kind === "span")) {
    rest.push(text.slice(at, span.start));
    at = span.end;
    const code = text.slice(span.start, span.end).replaceAll("`", "").trim();
    addToken(code, true, paths);
    for (const token of code.split(/\s+/)) addToken(token, true, paths);
  }
  rest.push(text.slice(at));
  for (const token of rest.join(" ").split(/[\s`]+/)) {
    if (paths.size >= MAX_PATHS) break;
    addToken(token, false, paths);
  }
  return [...paths];
}
