/** A tool call in one short line, for stderr, the REPL and approval questions. Safe for a terminal (T03, T04). */
import { visible } from "./sanitize.ts";

const LIMIT = 120;

function quoted(word: string): string {
  return word === "" || /[\s"'\\$&|;<>(){}*?#`]/.test(word) ? JSON.stringify(word) : word;
}

function pathsOf(patches: readonly unknown[]): string {
  const paths = patches.map((patch) =>
    typeof patch === "object" && patch !== null && "path" in patch ? String(patch.path) : "?",
  );
  return [...new Set(paths)].join(", ");
}

/** What a call is about: the command, the path with its range, the pattern; "" when its arguments say nothing. */
function callSubject(input: Readonly<Record<string, unknown>>): string {
  const { argv, path, patches, pattern, url, query, start_line: start, end_line: end, process_id: id, action } = input;
  let text = "";
  if (Array.isArray(argv)) text = argv.map((word) => quoted(String(word))).join(" ");
  else if (Array.isArray(patches)) text = pathsOf(patches);
  else if (typeof pattern === "string") text = `${quoted(pattern)}${typeof path === "string" ? ` in ${path}` : ""}`;
  else if (typeof path === "string") {
    text = path;
    if (start !== undefined || end !== undefined) text += `:${String(start ?? 1)}-${String(end ?? "")}`;
  } else if (typeof url === "string") text = url;
  else if (typeof query === "string") text = query;
  else if (typeof action === "string") text = [action, id].filter((word) => word !== undefined).join(" ");
  else if (Object.keys(input).length > 0) text = JSON.stringify(input);
  const line = visible(text);
  return line.length <= LIMIT ? line : `${line.slice(0, LIMIT - 1).toWellFormed()}…`;
}

/** `name subject`. */
export function callSummary(name: string, input: Readonly<Record<string, unknown>>): string {
  const subject = callSubject(input);
  return subject === "" ? visible(name) : `${visible(name)} ${subject}`;
}
