/** Ctrl+G: the typed text in the user's own editor. Refuses: drawing; the caller has lent the terminal. */
import { join } from "node:path";
import { chosenEditor, foundEditor } from "../base/editor.ts";
import { type InteractiveOptions, runInteractive } from "../base/interactive.ts";
import { UserError } from "../base/user-error.ts";
import { removePrivateFile, writePrivateFile } from "../config/private-file.ts";
import { readSettingsFile } from "../config/settings-file.ts";
import type { Input } from "./input.ts";

/** More than this is not taken back from an editor (bytes). */
const MAX_BYTES = 16 * 1024 * 1024;

function editorOf(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const editor = chosenEditor(env) ?? foundEditor(env);
  if (!editor) throw new UserError("no editor found: set $EDITOR");
  return editor;
}

/**
 * The text as the editor left it, without its last line end; as it was when `signal` ended it; undefined when the editor failed.
 * @param file of our own, outside any workspace; removed afterwards
 * @throws UserError when there is no editor, or the file cannot be written
 */
async function editExternally(text: string, file: string, options: InteractiveOptions): Promise<string | undefined> {
  const editor = editorOf(options.env);
  await writePrivateFile(file, text === "" ? "" : `${text}\n`);
  try {
    const code = await runInteractive([...editor, file], options);
    if (options.signal.aborted) return text;
    if (code !== 0) return undefined;
    const read = readSettingsFile(file, MAX_BYTES);
    if (read.kind !== "bytes") throw new UserError(`${file} cannot be read back`);
    return new TextDecoder().decode(read.bytes).replace(/\r\n?/g, "\n").replace(/\n$/, "");
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`the editor "${editor[0]}" cannot be started: set $EDITOR to one that can`);
  } finally {
    await removePrivateFile(file);
  }
}

/**
 * Edits the typed text on a lent terminal; where that fails it stays as it was.
 * @throws UserError when there is no editor, no home for its file, or the editor failed
 */
export async function editInput(
  input: Pick<Input, "text" | "set" | "giveBack">,
  place: { readonly cwd: string; readonly state: string | undefined; readonly env: Readonly<Record<string, string | undefined>> },
  lend: (work: (signal: AbortSignal) => Promise<string | undefined>) => Promise<string | undefined>,
): Promise<void> {
  const { cwd, state, env } = place;
  if (state === undefined) throw new UserError("there is no home for the editor's file: set HOME or THNDRS_HOME");
  // A name of its own: another thndrs may have its editor open.
  const file = join(state, `input-${crypto.randomUUID().slice(0, 8)}.md`);
  let text = input.text;
  // What a run gives back while the editor is open finds an empty line, and stands below what was edited.
  input.set("");
  try {
    const edited = await lend((signal) => editExternally(text, file, { cwd, env, signal }));
    if (edited === undefined) throw new UserError("the editor failed: your text is as it was");
    text = edited;
  } finally {
    if (text !== "") input.giveBack(text);
  }
}
