/** Paths in a person's prompt (C4, By mention). Refuses: asking the disk. */

/** A pasted log is no list of paths to look after: only this much of a prompt is read, from both ends. */
const MAX_CHARS = 128 * 1024;
const MAX_PATHS = 2000;
const MAX_TOKEN_CHARS = 4096;

const URL = /\b[a-z][a-z0-9+.-]{1,20}:\/\/\S+/gi;
// The look-behind makes each run of characters be tried once: linear time for any prompt.
const ADDRESS = /(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+(?::\S+)?|(?<=\s|^)[\w.+-]{1,64}@[\w./-]+/g;
const BACKTICKS = /(`+)(?!`)([^\n]{1,1000}?[^`\n]|[^`\n])\1(?!`)/g;
const PATH_RUN = /[\w.@~+/-]*\/[\w.@~+/-]*/g;

/** Drops what writing puts round a path: quotes, brackets, trailing punctuation, `:line:col`, `#L10`. */
function bare(token: string): string {
  return token
    .replace(/^[([{<"'“‘]+/, "")
    .replace(/[\])}>"'”’.,;:!?…]+$/, "")
    .replace(/(?::\d+){1,2}(?:-\d+)?$|#L\d+(?:-L?\d+)?$/, "")
    .replace(/[.,;:!?]+$/, "");
}

function addToken(token: string, inBackticks: boolean, paths: Set<string>): void {
  if (token.length > MAX_TOKEN_CHARS) return;
  const plain = bare(token);
  const named = plain.startsWith("@") ? plain.slice(1) : plain;
  if (named === "") return;
  if (inBackticks || plain.startsWith("@") || named.includes("/")) paths.add(named);
  // "[text](path)", "path,path", writing without spaces between words and paths.
  if (!named.includes("/")) return;
  for (const run of named.matchAll(PATH_RUN)) {
    const part = bare(run[0]);
    if (part !== named && part.length > 1) paths.add(part.startsWith("@") ? part.slice(1) : part);
  }
}

/** Path-like words of a prompt, as written: relative, absolute or `~`. URLs and addresses are not among them. */
export function mentionedPaths(prompt: string): string[] {
  const read = prompt.length <= MAX_CHARS ? prompt : `${prompt.slice(0, MAX_CHARS / 2)} ${prompt.slice(-MAX_CHARS / 2)}`;
  const text = read.replace(URL, " ").replace(ADDRESS, " ");
  const paths = new Set<string>();
  const rest = text.replace(BACKTICKS, (_whole, _ticks, inside: string) => {
    const code = inside.trim();
    addToken(code, true, paths);
    for (const token of code.split(/\s+/)) addToken(token, true, paths);
    return " ";
  });
  for (const token of rest.split(/[\s`]+/)) {
    if (paths.size >= MAX_PATHS) break;
    addToken(token, false, paths);
  }
  return [...paths];
}
