/** How a thndrs tool call looks in an editor: title, kind, places. Refuses: results. */
import { join } from "node:path";
import type { SessionUpdate, ToolCallLocation, ToolKind } from "@agentclientprotocol/sdk";
import { count, field, filled, list, text } from "../base/json.ts";
import { cutChars } from "../base/text.ts";

const TITLE_CHARS = 160;

const KINDS: ReadonlyMap<string, ToolKind> = new Map([
  ["find_files", "search"],
  ["list_searchable_files", "search"],
  ["search_text", "search"],
  ["read_file_range", "read"],
  ["create_file", "edit"],
  ["replace_range", "edit"],
  ["write_patch", "edit"],
  ["run_shell", "execute"],
  ["background_process", "execute"],
  ["web_search", "fetch"],
  ["read_url", "fetch"],
] as const);

/** Names that calls of an external agent have: its own kinds. */
const AGENT_KINDS: readonly ToolKind[] = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch"];

type Arguments = Readonly<Record<string, unknown>>;

export function kindOf(name: string): ToolKind {
  return KINDS.get(name) ?? AGENT_KINDS.find((kind) => kind === name) ?? "other";
}

/** Paths a call names, from the workspace root, each once. */
export function pathsOf(input: Arguments): string[] {
  const patches = list(input.patches).map((patch) => filled(field(patch, "path")));
  return [...new Set([filled(input.path), ...patches].filter((path) => path !== undefined))];
}

export function locationsOf(name: string, input: Arguments, root: string): ToolCallLocation[] {
  const kind = kindOf(name);
  if (kind !== "read" && kind !== "edit") return [];
  const line = count(input.start_line);
  return pathsOf(input).map((path) => ({ path: join(root, path), ...(line !== undefined && line > 0 && { line }) }));
}

function range(input: Arguments): string {
  const [start, end] = [count(input.start_line), count(input.end_line)];
  return start === undefined && end === undefined ? "" : `:${start ?? 1}-${end ?? ""}`;
}

/** With the directory it runs in: what is allowed is this command there. */
function commandLine(input: Arguments): string {
  const words = list(input.argv)
    .map((word) => (/^[\w@%+=:,./-]+$/.test(String(word)) ? String(word) : JSON.stringify(word)))
    .join(" ");
  const cwd = filled(input.cwd);
  return words === "" || cwd === undefined || cwd === "." ? words : `${words} (in ${cwd})`;
}

/** One line for a person. */
export function titleOf(name: string, input: Arguments): string {
  const path = pathsOf(input)[0];
  const said = (): string => {
    switch (name) {
      case "read_file_range":
        return `Read ${path ?? "a file"}${range(input)}`;
      case "create_file":
        return `Create ${path ?? "a file"}`;
      case "replace_range":
      case "write_patch":
        return `Edit ${path ?? "a file"}`;
      case "run_shell":
        return `Run ${commandLine(input)}`;
      case "search_text":
        return `Search ${JSON.stringify(text(input.pattern) ?? "")}${path === undefined ? "" : ` in ${path}`}`;
      case "find_files":
        return `Find ${filled(input.pattern) ?? "files"}${path === undefined ? "" : ` in ${path}`}`;
      case "web_search":
        return `Search the web: ${text(input.query) ?? ""}`;
      case "read_url":
        return `Fetch ${text(input.url) ?? ""}`;
      default: {
        // An external agent's call, or a question of its: what it says of itself, or the command.
        const about = Array.isArray(input.argv)
          ? commandLine(input)
          : name.startsWith("mcp__")
            ? undefined
            : filled(input.action);
        return about === undefined ? name : `${name}: ${about}`;
      }
    }
  };
  return cutChars(said().replace(/\s+/g, " ").trim(), TITLE_CHARS);
}

/** A call that has begun, as an editor is told of it. @param root real path of the workspace */
export function startedCall(id: string, name: string, input: Arguments, root: string): SessionUpdate {
  return {
    sessionUpdate: "tool_call",
    toolCallId: id,
    title: titleOf(name, input),
    name,
    kind: kindOf(name),
    status: "in_progress",
    locations: locationsOf(name, input, root),
    rawInput: input,
  };
}
