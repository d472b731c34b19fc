/**
 * What a server answered to tools/call → one ToolResult (M14): text, capped; one line for anything a model cannot read here.
 * Outside data: every member is looked at before it is used. Refuses: failing because of an odd item.
 */
import { isObject, valueTooDeep } from "../base/json.ts";
import { cutBytes, groupDigits } from "../base/text.ts";
import { MAX_RESULT_BYTES } from "../tools/bounds.ts";
import { failed, succeeded, type ToolResult } from "../tools/tool.ts";

/** Items of one result; the rest is counted. */
const MAX_ITEMS = 200;
const MAX_LABEL_CHARS = 200;

function label(value: unknown): string {
  return typeof value === "string" ? value.replace(/\s+/g, " ").slice(0, MAX_LABEL_CHARS) : "";
}

function dataBytes(data: unknown): string {
  if (typeof data !== "string") return "no data";
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return `${groupDigits(Math.max(0, Math.floor((data.length * 3) / 4) - padding))} bytes`;
}

function resourceText(resource: unknown): string {
  if (!isObject(resource)) return "[resource without content]";
  const { uri, mimeType, text, blob } = resource;
  const kind = label(mimeType);
  const about = `${label(uri)}${kind === "" ? "" : ` (${kind})`}`;
  if (typeof text === "string") return `[resource ${about}]\n${text}`;
  return `[resource ${about}, ${dataBytes(blob)}, not shown]`;
}

/** One content item as text. */
function itemText(item: unknown): string {
  if (!isObject(item)) return "[content of an unknown kind]";
  const kind = label(item.mimeType);
  switch (item.type) {
    case "text":
      return typeof item.text === "string" ? item.text : "[text without text]";
    case "image":
    case "audio":
      return `[${item.type}${kind === "" ? "" : ` ${kind}`}, ${dataBytes(item.data)}, not shown]`;
    case "resource":
      return resourceText(item.resource);
    case "resource_link": {
      const name = label(item.title) || label(item.name);
      return `[resource link ${[name, label(item.uri), kind && `(${kind})`].filter((part) => part !== "").join(" ")}]`;
    }
    default:
      return `[content of kind "${label(item.type)}", not shown]`;
  }
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (isObject(content)) return itemText(content);
  if (!Array.isArray(content)) return "";
  const parts = content.slice(0, MAX_ITEMS).map(itemText);
  if (content.length > MAX_ITEMS) parts.push(`[${content.length - MAX_ITEMS} more items, not shown]`);
  return parts.filter((part) => part !== "").join("\n");
}

/** Text that says something; an empty item is none. */
function hasText(content: unknown): boolean {
  if (!Array.isArray(content)) return false;
  return content.some(
    (item) => isObject(item) && item.type === "text" && typeof item.text === "string" && item.text.trim() !== "",
  );
}

function cap(text: string): { readonly text: string; readonly truncated: boolean } {
  const room = MAX_RESULT_BYTES - 200;
  const kept = cutBytes(text, room);
  if (kept.length === text.length) return { text, truncated: false };
  const total = groupDigits(Buffer.byteLength(text));
  const note = `[cut: the first ${groupDigits(Buffer.byteLength(kept))} of ${total} bytes; ask the tool for less]`;
  return { text: `${kept}\n${note}`, truncated: true };
}

/** Larger values are written without line breaks: indentation multiplies the size. */
const MAX_INDENTED_CHARS = 8192;

/** JSON text; undefined for a value that is nested deeper than any honest one. */
function write(value: unknown): string | undefined {
  if (valueTooDeep(value)) return undefined;
  const text = JSON.stringify(value);
  return text.length <= MAX_INDENTED_CHARS ? JSON.stringify(value, null, 2) : text;
}

/** Never throws. `structuredContent` speaks where there is no text; `isError` makes the result a failure. */
export function toolResult(result: unknown): ToolResult {
  if (!isObject(result)) return failed("The server's answer is not a tool result.");
  if (typeof result.content === "number" || typeof result.content === "boolean")
    return failed("The content of the server's answer is no list.");
  let text = contentText(result.content);
  if (!hasText(result.content) && result.structuredContent !== undefined) {
    const structured = write(result.structuredContent);
    if (structured === undefined) return failed("The server's answer is nested too deep to be read.");
    text = text.trim() === "" ? structured : `${structured}\n${text}`;
  }
  if (text === "" && "toolResult" in result) text = write(result.toolResult) ?? "";
  const capped = cap(text);
  const truncated = capped.truncated || (Array.isArray(result.content) && result.content.length > MAX_ITEMS);
  if (result.isError === true)
    return failed(capped.text === "" ? "The tool failed without a message." : capped.text, { truncated });
  return succeeded(capped.text === "" ? "(no output)" : capped.text, { truncated });
}
