/** `thndrs config path|show|edit`. Refuses: writing settings itself (the editor does, and the file is checked afterwards). */

import { chosenEditor, foundEditor } from "../base/editor.ts";
import { runInteractive } from "../base/interactive.ts";
import { redact, redactValue } from "../base/redact.ts";
import { signalExit } from "../base/signal-exit.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { createCredentials } from "../config/credentials.ts";
import { configPaths, findHomes } from "../config/homes.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { writePrivateFile } from "../config/private-file.ts";
import { readSettingsFile } from "../config/settings-file.ts";
import { type ShownKey, showKeys, templateText } from "../config/show.ts";
import { visible } from "../ui/sanitize.ts";
import { stdinKind } from "../ui/stdin.ts";
import type { CommandContext } from "./command.ts";

async function pathsOf(
  context: CommandContext,
): Promise<{ readonly user?: string; readonly project: string; readonly root: string }> {
  const { root } = await openWorkspace(context.cwd);
  return { ...configPaths(findHomes(context.env, context.cwd), root), root };
}

/** The file a command is about: the user's, or the project's with `--project`. */
async function chosenPath(context: CommandContext): Promise<string> {
  const paths = await pathsOf(context);
  const path = context.flags.project ? paths.project : paths.user;
  if (path === undefined) throw new UserError("there is no home for a configuration file: set HOME or THNDRS_HOME");
  return path;
}

async function showPath(context: CommandContext): Promise<ExitCode> {
  const { stdout } = context.output;
  if (context.flags.json) {
    const { user, project } = await pathsOf(context);
    stdout.line(JSON.stringify({ user: user ?? null, project }));
    return EXIT.ok;
  }
  stdout.line(visible(await chosenPath(context)));
  return EXIT.ok;
}

function sourceOf(shown: ShownKey): string {
  if (shown.from === undefined) return shown.value === undefined ? "not set" : "default";
  return `${shown.origin}: ${shown.from}${shown.line === undefined ? "" : `:${shown.line}`}`;
}

function showText(context: CommandContext, loaded: LoadedConfig, keys: readonly ShownKey[]): void {
  const { stdout, stderr } = context.output;
  if (loaded.config.files.length === 0) stdout.line("# no configuration file");
  for (const file of loaded.config.files)
    stdout.line(`# ${file.source}: ${visible(file.path)}${file.trusted ? "" : " (not trusted)"}`);
  const left = keys.map((shown) => visible(shown.value === undefined ? `# ${shown.key}` : `${shown.key} = ${shown.value}`));
  const width = Math.min(56, Math.max(...left.map((text) => text.length)));
  for (const [index, shown] of keys.entries()) stdout.line(`${(left[index] ?? "").padEnd(width)}  # ${visible(sourceOf(shown))}`);
  for (const { message } of loaded.diagnostics) stderr.line(`thndrs: warning: ${visible(message)}`);
}

async function show(context: CommandContext): Promise<ExitCode> {
  const { env, flags, cwd, output } = context;
  const { root } = await openWorkspace(cwd);
  const loaded = await loadConfig({ env, flags, cwd, workspaceRoot: root });
  const exact = createCredentials({ env, configHome: loaded.homes.config }).knownValues();
  const hide = (text: string): string => redact(text, { exact });
  // The values first, while it is known what they are: the word behind `--token` in a list is a secret.
  const settings = loaded.settings.map((setting) => ({ ...setting, value: redactValue(setting.value, hide) }));
  const keys = showKeys(settings, root).map((shown) =>
    shown.value === undefined ? shown : { ...shown, value: hide(shown.value) },
  );
  if (!flags.json) {
    showText(context, loaded, keys);
    return EXIT.ok;
  }
  const plain = keys.map((shown) => ({ ...shown, value: shown.value ?? null }));
  output.stdout.line(JSON.stringify({ files: loaded.config.files, keys: plain, diagnostics: loaded.diagnostics }, null, 2));
  return EXIT.ok;
}

function editorOf(context: CommandContext): readonly string[] {
  const chosen = chosenEditor(context.env);
  if (chosen) return chosen;
  if (!context.output.stdout.isTerminal || stdinKind() !== "terminal") {
    throw new UserError('"thndrs config edit" needs a terminal or $EDITOR; "thndrs config path" names the file');
  }
  const found = foundEditor(context.env);
  if (!found) throw new UserError('no editor found: set $EDITOR, or edit the file that "thndrs config path" names');
  return found;
}

async function edit(context: CommandContext): Promise<ExitCode> {
  const { env, flags, cwd, output, signal } = context;
  const path = await chosenPath(context);
  const editor = editorOf(context);
  if (readSettingsFile(path).kind === "absent") await writePrivateFile(path, templateText());
  let code: number | undefined;
  try {
    code = await runInteractive([...editor, path], { cwd, env, signal });
  } catch {
    throw new UserError(`the editor "${editor[0]}" cannot be started; set $EDITOR to one that can`);
  }
  if (code === undefined) return signalExit(signal) ?? EXIT.sigint;
  if (code !== 0) {
    output.stderr.line(
      `thndrs: error: ${visible(editor[0] ?? "")} ended with exit code ${code}; ${visible(path)} was not checked`,
    );
    return EXIT.failed;
  }
  const { root } = await openWorkspace(cwd);
  const loaded = await loadConfig({ env, flags, cwd, workspaceRoot: root });
  for (const { message } of loaded.diagnostics) output.stderr.line(`thndrs: warning: ${visible(message)}`);
  return EXIT.ok;
}

/** @throws UserError (exit 2) when the configuration is wrong or the verb is missing. */
export async function runConfig(context: CommandContext): Promise<ExitCode> {
  const [verb, ...rest] = context.words;
  if (rest.length > 0) throw new UserError(`thndrs config ${verb} takes no further words`);
  if (verb === "path") return showPath(context);
  if (verb === "show" || verb === undefined) return show(context);
  if (verb === "edit") return edit(context);
  throw new UserError(`unknown command "thndrs config ${verb}"; it is one of path, show, edit`);
}
