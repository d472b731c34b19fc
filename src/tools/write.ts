/**
 * create_file and write_patch: new files, whole files, and several edits of one file in one step. Refuses: more than one file a
 * call, replacing what was not meant to be replaced.
 */
import { z } from "zod";
import { quotePath } from "../base/path-quote.ts";
import { markedEncoding, UTF8_MARK } from "./byte-order-mark.ts";
import { applyChange, findStale, readOriginal, refuse } from "./change.ts";
import { differingSpan } from "./diff-text.ts";
import { CRLF_NOTE, editFile } from "./edit.ts";
import { usesCrlf, withCrlf } from "./edit-match.ts";
import { resolveTarget, type Target } from "./target.ts";
import { failed, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

const createInput = z.strictObject({
  path: z.string().describe("New file, relative to the workspace root; missing directories are made"),
  content: z.string().describe("The whole text, written exactly as given"),
});

const patch = z.strictObject({
  op: z.enum(["create", "replace", "edit"]).describe("create: new file. replace: whole file. edit: one exact text"),
  path: z.string().describe("File, relative to the workspace root; the same in every patch"),
  content: z.string().optional().describe("create, replace: the whole text"),
  old_string: z.string().optional().describe("edit: exact text to replace; must occur exactly once"),
  new_string: z.string().optional().describe("edit: text to put there"),
  expected_before_hash: z.string().optional().describe("replace, edit: hash from read_file_range"),
});

const patchInput = z.strictObject({
  patches: z.array(patch).min(1).describe("One create, or one replace, or one or more edits of the same file"),
});

type CreateInput = z.infer<typeof createInput>;
type PatchInput = z.infer<typeof patchInput>;
type Patch = z.infer<typeof patch>;

function whole(content: Buffer): { start: number; end: number; replacement: Buffer } {
  return { start: 0, end: 0, replacement: content };
}

/** What can be said against the place of a new file without touching it. */
function placeFault(target: Target, input: string): string | undefined {
  const shown = quotePath(target.relative);
  if (/\/\.?$/.test(input))
    return `${quotePath(input)} names a directory. Give the path of a file; directories are made as needed.`;
  if (target.danglingLink !== undefined) {
    return `${quotePath(target.danglingLink)} is a symbolic link whose target does not exist. Nothing is created through it; create ${shown} itself, or remove the link.`;
  }
  if (target.exists && target.respelled) {
    return `${shown} already exists; its name differs from the given one only in how accents are encoded (Unicode normalisation). Edit that file instead.`;
  }
  return undefined;
}

async function createAt(
  target: Target,
  input: string,
  content: string,
  op: "create" | "replace",
  context: ToolContext,
): Promise<ToolResult> {
  const fault = placeFault(target, input);
  if (fault !== undefined) return refuse(target, fault).result;
  if (!content.isWellFormed()) return refuse(target, "content holds half a surrogate pair, which cannot be written.").result;
  const after = Buffer.from(content, "utf8");
  return applyChange({ op, target, after, spans: after.length === 0 ? [] : [whole(after)], notes: [] }, context);
}

async function runCreate(asked: CreateInput, context: ToolContext): Promise<ToolResult> {
  const target = await resolveTarget(asked.path, context);
  if (!target.ok) return target.result;
  return createAt(target, asked.path, asked.content, "create", context);
}

/** Keeps what belongs to the form of the file and not to its text: one BOM, and CRLF where it is used throughout. */
function inFormOf(before: Buffer, content: string): { after: Buffer; notes: string[] } {
  const notes: string[] = [];
  const crlf = usesCrlf(before) ? withCrlf(content) : undefined;
  if (crlf !== undefined) notes.push(CRLF_NOTE);
  const text = Buffer.from(crlf ?? content, "utf8");
  if (markedEncoding(before) !== "utf-8" || markedEncoding(text) === "utf-8") return { after: text, notes };
  notes.push("The file's byte order mark was kept.");
  return { after: Buffer.concat([UTF8_MARK, text]), notes };
}

/** What can be said against replacing a file that the model knows in another form: whoever changed it would lose that. */
function overtakenFault(target: Target, actual: string, context: ToolContext): string | undefined {
  const seen = context.seen?.hashOf(target);
  if (seen === undefined || seen === actual) return undefined;
  return `${quotePath(target.relative)} has changed since you last read or wrote it (its hash was ${seen} and is ${actual}): the user or a command wrote to it, and a whole replace would undo that. Nothing was changed. Read the file again, then repeat the call with what is there now.`;
}

async function replaceWhole(target: Target, patch: Patch, content: string, context: ToolContext): Promise<ToolResult> {
  const expected = [patch.expected_before_hash];
  if (!target.exists) {
    const stale = findStale(target, expected, undefined);
    if (stale !== undefined) return refuse(target, `patches[0]: ${stale.message}`).result;
    return createAt(target, patch.path, content, "replace", context);
  }
  if (!content.isWellFormed())
    return refuse(target, "patches[0]: content holds half a surrogate pair, which cannot be written.").result;
  const original = await readOriginal(target, context);
  if (!original.ok) return original.result;
  const stale = findStale(target, expected, original.hash);
  if (stale !== undefined) return refuse(target, `patches[0]: ${stale.message}`).result;
  const overtaken = (patch.expected_before_hash ?? "") === "" ? overtakenFault(target, original.hash, context) : undefined;
  if (overtaken !== undefined) return refuse(target, `patches[0]: ${overtaken}`).result;
  const { after, notes } = inFormOf(original.file.bytes, content);
  const spans = [differingSpan(original.file.bytes, after)];
  return applyChange({ op: "replace", target, original, after, spans, notes }, context);
}

/** Which fields an op takes. An empty string in a field it does not take is ignored: some models fill in every field. */
function fieldFault(patch: Patch): string | undefined {
  const { op } = patch;
  const needed = op === "edit" ? (["old_string", "new_string"] as const) : (["content"] as const);
  const missing = needed.filter((field) => patch[field] === undefined);
  if (missing.length > 0) return `op ${op} needs ${missing.join(" and ")}.`;
  const foreign = op === "edit" ? (["content"] as const) : (["old_string", "new_string"] as const);
  const extra = foreign.filter((field) => patch[field] !== undefined && patch[field] !== "");
  if (extra.length > 0) return `op ${op} does not take ${extra.join(" or ")}.`;
  if (op === "create" && (patch.expected_before_hash ?? "") !== "")
    return "op create takes no expected_before_hash: the file must not exist.";
  return undefined;
}

function batchFault(patches: readonly Patch[]): string | undefined {
  for (const [index, patch] of patches.entries()) {
    const fault = fieldFault(patch);
    if (fault !== undefined) return `patches[${index}]: ${fault}`;
    if (patch.op !== "edit" && patches.length > 1) {
      return `patches[${index}]: op ${patch.op} must be the only patch of its call; only edits can be combined. Nothing was changed.`;
    }
  }
  return undefined;
}

async function runPatch(asked: PatchInput, context: ToolContext): Promise<ToolResult> {
  const { patches } = asked;
  const fault = batchFault(patches);
  if (fault !== undefined) return failed(fault);
  const [first] = patches;
  if (first === undefined) return failed("patches is empty. Give one create, one replace, or one or more edits.");
  const target = await resolveTarget(first.path, context);
  if (!target.ok) return target.result;
  for (const [index, patch] of patches.entries()) {
    const other = index === 0 ? target : await resolveTarget(patch.path, context);
    if (!other.ok) return failed(`patches[${index}]: ${other.result.text}`);
    if (other.path !== target.path) {
      return failed(
        `patches[${index}]: a call edits one file, but this is ${quotePath(other.relative)} and patches[0] is ${quotePath(target.relative)}. Nothing was changed; make one call for each file.`,
      );
    }
  }
  if (first.op === "create") return createAt(target, first.path, first.content ?? "", "create", context);
  if (first.op === "replace") return replaceWhole(target, first, first.content ?? "", context);
  const edits = patches.map((patch) => ({
    oldString: patch.old_string ?? "",
    newString: patch.new_string ?? "",
    expected: patch.expected_before_hash,
  }));
  return editFile(target, edits, (index) => `patches[${index}]: `, context);
}

/** create_file (tools.md "Writes"). */
export const createFileTool: Tool<CreateInput> = {
  name: "create_file",
  description:
    "create_file creates a new file with exactly the given content, and the directories it needs. Use it only for files that do not exist: it never replaces anything. To change a file use replace_range or write_patch. Content is limited to 64 MiB.",
  effect: "write",
  input: createInput,
  example: { path: "docs/notes.md", content: "# Notes\n" },
  run: runCreate,
};

/** write_patch (tools.md "Writes"). */
export const writePatch: Tool<PatchInput> = {
  name: "write_patch",
  description:
    "write_patch changes one file in one step: one create, or one replace of the whole file, or any number of edits. Use it when several edits belong together: all match the original text and all apply, or none does. Each old_string must occur exactly once, and edits must not overlap. One file a call; files over 64 MiB are refused.",
  effect: "write",
  input: patchInput,
  example: {
    patches: [
      { op: "edit", path: "src/main.ts", old_string: "const port = 80;", new_string: "const port = 8080;" },
      { op: "edit", path: "src/main.ts", old_string: "const host = '';", new_string: "const host = '127.0.0.1';" },
    ],
  },
  run: runPatch,
};
