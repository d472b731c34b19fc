/**
 * The built-in tools, run for an editor that lends its file system and terminal: unsaved text is what is read, edits begin
 * from it, the editor learns of every write, commands run where the user sees them. The tools themselves stay what they are:
 * the workspace proves every path first, the write happens here (security.md 3). Refuses: permission (the gate asks before).
 */
import { isUtf8 } from "node:buffer";
import { readSafe } from "../base/files.ts";
import { contentHash } from "../base/hash.ts";
import { whyKept } from "../base/kept-files.ts";
import { quotePath } from "../base/path-quote.ts";
import type { SafePath } from "../base/workspace.ts";
import { MAX_LINE_CHARS, MAX_READ_LINES, MAX_RESULT_BYTES } from "../tools/bounds.ts";
import { LineWindow } from "../tools/line-window.ts";
import { failed, succeeded, type Tool, type ToolContext, type ToolResult } from "../tools/tool.ts";
import type { FileDiff } from "./session-updates.ts";
import { pathsOf } from "./tool-calls.ts";

/** What the client lends; a member is absent where it lends nothing. Paths are absolute and proved. */
export type Editor = {
  /** The text as the editor has it, unsaved changes included; undefined when it cannot say. */
  readonly readText?: (path: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Saves the text; an answer is what went wrong. */
  readonly writeText?: (path: string, content: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Told what a call changed, for its report. */
  readonly changed: (callId: string, diff: FileDiff) => void;
};

type Input = Readonly<Record<string, unknown>>;

/** Larger files are neither compared nor shown as a diff. */
const MAX_TEXT_BYTES = 1024 * 1024;
const NOTICE_BYTES = 4096;

type OnDisk = { readonly path: SafePath; readonly relative: string; readonly text: string | undefined; readonly exists: boolean };

/** Where the one file of a call is, and its text when it is a small text file. Undefined when the tool will refuse it anyway. */
async function lookAt(input: Input, { workspace }: ToolContext): Promise<OnDisk | undefined> {
  const [path, ...more] = pathsOf(input);
  if (path === undefined || more.length > 0) return undefined;
  const resolved = await workspace.resolve(path);
  if (!resolved.ok) return undefined;
  const place = { path: resolved.path, relative: resolved.relative, exists: resolved.exists };
  if (!resolved.exists) return { ...place, text: undefined };
  const file = await readSafe(resolved.path, { maxBytes: MAX_TEXT_BYTES });
  const isText = file.ok && isUtf8(file.bytes) && !file.bytes.includes(0);
  return { ...place, text: isText ? file.bytes.toString("utf8") : undefined };
}

/** Editors keep text without a byte order mark and with one kind of line end. */
function plain(text: string): string {
  return text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
}

/** The editor's text where it differs from the disk. */
async function unsavedText(editor: Editor, disk: OnDisk, signal: AbortSignal): Promise<string | undefined> {
  if (disk.text === undefined || !editor.readText) return undefined;
  const text = await editor.readText(disk.path, signal);
  return text === undefined || plain(text) === plain(disk.text) ? undefined : text;
}

function show(text: string, relative: string, input: Input): ToolResult {
  const start = typeof input.start_line === "number" ? input.start_line : 1;
  const end = typeof input.end_line === "number" ? input.end_line : Number.POSITIVE_INFINITY;
  const window = new LineWindow({
    start,
    end,
    maxLines: MAX_READ_LINES,
    maxBytes: MAX_RESULT_BYTES - NOTICE_BYTES,
    maxLineChars: MAX_LINE_CHARS,
  });
  window.feed(Buffer.from(text));
  window.finish();
  const shown = quotePath(relative);
  if (window.total > 0 && start > window.total) {
    return failed(`${shown} has ${window.total} lines in the editor; start_line ${start} is past the end.`);
  }
  const last = start + window.lines.length - 1;
  const cut = last < Math.min(end, window.total) || window.cutLines.length > 0;
  const notes = ["[the editor has unsaved changes: this is its text; an edit saves it first]"];
  if (cut) notes.push(`[cut: continue with start_line ${last + 1}]`);
  const header = `${relative} (lines ${start}-${last} of ${window.total}, unsaved in the editor, no hash)`;
  return succeeded([header, ...window.lines, ...notes].join("\n"), { truncated: cut });
}

async function read(tool: Tool, editor: Editor, input: Input, context: ToolContext): Promise<ToolResult> {
  const result = await tool.run(input, context);
  if (result.status !== "ok") return result;
  const disk = await lookAt(input, context);
  const text = disk && (await unsavedText(editor, disk, context.signal));
  if (disk === undefined || text === undefined) return result;
  // As it will be once it is saved: an edit saves it first.
  context.seen?.note(disk, contentHash(Buffer.from(text)));
  // What was touched was not read whole from the disk: no hash of it counts as delivered.
  return { ...show(text, disk.relative, input), touched: result.touched.map(({ path, kind }) => ({ path, kind })) };
}

/** Saves what the user has not, so that an edit begins from the text on their screen. An answer stops the edit. */
async function saveFirst(
  editor: Editor,
  disk: OnDisk,
  { workspace, signal }: ToolContext,
): Promise<{ saved: boolean; stop?: string }> {
  const refused = whyKept(workspace.root, disk.relative) !== undefined;
  const text = refused ? undefined : await unsavedText(editor, disk, signal);
  if (text === undefined) return { saved: false };
  const shown = quotePath(disk.relative);
  const wrong = editor.writeText ? await editor.writeText(disk.path, text, signal) : "it lends no way to save them";
  if (wrong === undefined) return { saved: true };
  return {
    saved: false,
    stop: `${shown} has unsaved changes in the editor, and they could not be saved (${wrong}). Nothing was changed. Ask the user to save the file first.`,
  };
}

async function change(tool: Tool, editor: Editor, input: Input, context: ToolContext): Promise<ToolResult> {
  const first = await lookAt(input, context);
  const { saved, stop } = first ? await saveFirst(editor, first, context) : { saved: false, stop: undefined };
  if (stop !== undefined) return failed(stop);
  const before = saved ? await lookAt(input, context) : first;
  const result = await tool.run(input, context);
  const after = result.status === "ok" ? await lookAt(input, context) : undefined;
  if (after?.text === undefined) return result;
  const known = before !== undefined && (!before.exists || before.text !== undefined);
  if (known) {
    editor.changed(context.callId, {
      path: after.path,
      oldText: before.exists ? (before.text ?? "") : null,
      newText: after.text,
    });
  }
  // The file is written; the editor is told so that its buffer and its review of changes follow.
  await editor.writeText?.(after.path, after.text, context.signal);
  return saved ? { ...result, text: `${result.text}\nnote: unsaved changes of the editor were saved first.` } : result;
}

/** The same tool with the editor in the loop; tools it has nothing to do with are returned as they are. */
export function editorTool(tool: Tool, editor: Editor): Tool {
  if (tool.name === "read_file_range") {
    if (!editor.readText) return tool;
    return { ...tool, run: (input, context) => read(tool, editor, input as Input, context) };
  }
  if (tool.effect !== "write") return tool;
  return { ...tool, run: (input, context) => change(tool, editor, input as Input, context) };
}
