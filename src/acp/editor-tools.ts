/**
 * The built-in tools, run for an editor that lends its file system and terminal: unsaved text is what is read, edits begin
 * from it, the editor learns of every write, commands run where the user sees them. The tools themselves stay what they are:
 * the workspace proves every path first, the write happens here (security.md 3). Refuses: permission (the gate asks before).
 */
import { isUtf8 } from "node:buffer";
import { readSafe } from "../base/files.ts";
import { contentHash } from "../base/hash.ts";
import { quotePath } from "../base/path-quote.ts";
import type { SafePath } from "../base/workspace.ts";
import { MAX_LINE_CHARS, MAX_READ_LINES, MAX_RESULT_BYTES } from "../tools/bounds.ts";
import { LineWindow } from "../tools/line-window.ts";
import { failed, succeeded, type Tool, type ToolContext, type ToolResult } from "../tools/tool.ts";
import { type DiskText, type SeenTexts, type Standing, sameText } from "./seen-texts.ts";
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
  /** What was on the disk, so that a text the editor has not reloaded is not taken for unsaved changes. */
  readonly texts: SeenTexts;
};

type Input = Readonly<Record<string, unknown>>;

/** Larger files are neither compared nor shown as a diff. */
const MAX_TEXT_BYTES = 1024 * 1024;
const NOTICE_BYTES = 4096;

type OnDisk = DiskText & { readonly path: SafePath; readonly relative: string };

/** Where the one file of a call is, and its text when it is a small text file. Undefined when the tool will refuse it anyway. */
async function lookAt(input: Input, { workspace }: ToolContext): Promise<OnDisk | undefined> {
  const [path, ...more] = pathsOf(input);
  if (path === undefined || more.length > 0) return undefined;
  const resolved = await workspace.resolve(path);
  if (!resolved.ok) return undefined;
  const place = { path: resolved.path, relative: resolved.relative, exists: resolved.exists };
  if (!resolved.exists) return { ...place, text: undefined, changedMs: 0 };
  const file = await readSafe(resolved.path, { maxBytes: MAX_TEXT_BYTES });
  const isText = file.ok && isUtf8(file.bytes) && !file.bytes.includes(0);
  return {
    ...place,
    text: isText ? file.bytes.toString("utf8") : undefined,
    changedMs: file.ok ? Number(file.version.ctimeNs) / 1_000_000 : 0,
  };
}

/** The file as it is on the disk, and what the editor's text of it is. */
type Look = { readonly disk: OnDisk; readonly standing: Standing; readonly buffer: string | undefined };

/** Undefined when the tool will refuse it anyway. The disk is looked at last: the editor may take its time to answer. */
async function look(editor: Editor, input: Input, context: ToolContext): Promise<Look | undefined> {
  const place = await lookAt(input, context);
  if (!place) return undefined;
  const comparable = editor.readText && (!place.exists || place.text !== undefined);
  const buffer = comparable ? await editor.readText?.(place.path, context.signal) : undefined;
  const disk = buffer === undefined ? place : await lookAt(input, context);
  return disk && { disk, standing: editor.texts.judge(disk.path, buffer, disk), buffer };
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

const BOTH_CHANGED =
  "[the editor holds another text of this file, and it cannot be told whether that began from the disk's: this is the disk's text; edits are refused until the user has saved or reloaded it]";

async function read(tool: Tool, editor: Editor, input: Input, context: ToolContext): Promise<ToolResult> {
  const result = await tool.run(input, context);
  if (result.status !== "ok") return result;
  const seen = await look(editor, input, context);
  if (seen?.standing === "conflict") return { ...result, text: `${result.text}\n${BOTH_CHANGED}` };
  if (seen?.standing !== "unsaved" || seen.buffer === undefined) return result;
  // As it will be once it is saved: an edit saves it first.
  context.seen?.note(seen.disk, contentHash(Buffer.from(seen.buffer)));
  // What was touched was not read whole from the disk: no hash of it counts as delivered.
  const touched = result.touched.map(({ path, kind }) => ({ path, kind }));
  return { ...show(seen.buffer, seen.disk.relative, input), touched };
}

function explainConflict({ relative, exists }: OnDisk): string {
  const shown = quotePath(relative);
  if (!exists) {
    return `${shown} does not exist on the disk, but the editor holds text of that name. Nothing was written. Ask the user to save it or to close it first.`;
  }
  return `${shown} has another text in the editor than on the disk, and it cannot be told whether that began from what the disk has now. Nothing was changed: one of the two could be lost. Ask the user to save or to reload it in the editor, then read it again.`;
}

/** Has the editor save a text. The answer is what went wrong. */
async function save(
  editor: Editor,
  place: OnDisk,
  text: string,
  buffer: string | undefined,
  input: Input,
  context: ToolContext,
): Promise<string | undefined> {
  if (!editor.writeText) return "it lends no way to save them";
  const wrong = await editor.writeText(place.path, text, context.signal);
  if (wrong !== undefined) return wrong;
  const held = buffer === undefined ? undefined : await editor.readText?.(place.path, context.signal);
  const now = await lookAt(input, context);
  if (now?.path !== place.path) return undefined;
  editor.texts.took(place.path, text, now, {
    ...(held !== undefined && { held }),
    ...(buffer !== undefined && { before: buffer }),
  });
  // Editors put back line ends, byte order marks and last line ends: the model knows the file all the same.
  const knew = context.seen?.hashOf(place) === contentHash(Buffer.from(text));
  if (knew && now.text !== undefined && sameText(now.text, text)) context.seen?.note(place, contentHash(Buffer.from(now.text)));
  return undefined;
}

const MATCHED =
  "note: the call was tried on the editor's unsaved text of the file, and nothing was saved. Read the file to see it.";

/**
 * Saves what the user has not, so that an edit begins from the text on their screen. Only once it is known that the call fits
 * this text, and while the disk is what it was. The answer is the result of a call that goes no further.
 */
async function saveFirst(
  tool: Tool,
  editor: Editor,
  seen: Look,
  input: Input,
  context: ToolContext,
): Promise<ToolResult | undefined> {
  const { disk, buffer = "" } = seen;
  const tried = await tool.run(input, { ...context, rehearsal: Buffer.from(buffer, "utf8") });
  if (tried.status !== "ok") return { ...tried, text: `${tried.text}\n${MATCHED}` };
  const now = await lookAt(input, context);
  if (now?.text !== disk.text) return failed(explainConflict(disk));
  const wrong = await save(editor, disk, buffer, buffer, input, context);
  if (wrong === undefined) return undefined;
  return failed(
    `${quotePath(disk.relative)} has unsaved changes in the editor, and they could not be saved (${wrong}). Nothing was changed. Ask the user to save the file first.`,
  );
}

async function change(tool: Tool, editor: Editor, input: Input, context: ToolContext): Promise<ToolResult> {
  const seen = await look(editor, input, context);
  if (seen?.standing === "conflict") return failed(explainConflict(seen.disk));
  const unsaved = seen?.standing === "unsaved";
  const stop = unsaved ? await saveFirst(tool, editor, seen, input, context) : undefined;
  if (stop) return stop;
  const before = unsaved ? await lookAt(input, context) : seen?.disk;
  const result = await tool.run(input, context);
  const said = unsaved ? { ...result, text: `${result.text}\nnote: unsaved changes of the editor were saved first.` } : result;
  const after = result.status === "ok" ? await lookAt(input, context) : undefined;
  if (after?.text === undefined) return said;
  editor.texts.saw(after.path, after.text);
  const known = before !== undefined && (!before.exists || before.text !== undefined);
  if (known) {
    editor.changed(context.callId, {
      path: after.path,
      oldText: before.exists ? (before.text ?? "") : null,
      newText: after.text,
    });
  }
  // The file is written; the editor is told so that its buffer and its review of changes follow.
  await save(editor, after, after.text, seen?.buffer, input, context);
  return said;
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
