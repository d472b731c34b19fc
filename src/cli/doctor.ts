/**
 * `thndrs doctor [--json] [--online]`: what this installation has and what it lacks. Without `--online` nothing leaves the
 * machine and no port is tried. Refuses: repairing anything, showing a key.
 */
import { missingTools } from "../app/tool-settings.ts";
import { signalExit } from "../base/signal-exit.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { findHomes } from "../config/homes.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { type CommandContext, environmentOf } from "./command.ts";
import {
  type Checked,
  checkEngines,
  checkModel,
  checkReach,
  checkSessions,
  describeBuild,
  describeTerminal,
} from "./doctor-checks.ts";
import { showReport } from "./doctor-text.ts";
import { describeSource, joinEndpoints } from "./endpoints.ts";

/** The configuration, or why it cannot be read: doctor goes on with the defaults. */
async function loadOrExplain(
  context: CommandContext,
  root: string,
): Promise<{ readonly loaded: LoadedConfig; readonly problem?: string }> {
  const { env, flags, cwd } = context;
  try {
    return { loaded: await loadConfig({ env, flags, cwd, workspaceRoot: root }) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    // Without any source of settings what is left cannot be wrong.
    const bare = await loadConfig({ env: {}, flags: {}, cwd, workspaceRoot: "/nonexistent" });
    return { loaded: { ...bare, homes: findHomes(env, cwd) }, problem: error.message };
  }
}

/** Everything doctor found, as `--json` prints it. */
async function examine(context: CommandContext): Promise<Checked> {
  const { root } = await openWorkspace(context.cwd);
  const { loaded, problem } = await loadOrExplain(context, root);
  const endpoints = joinEndpoints(context, root, loaded);
  const credentials = await Promise.all(
    Object.values(endpoints.providers).map(async (settings) => {
      const source = await endpoints.sourceOf(settings);
      return { provider: settings.name, source: source ? describeSource(source) : null };
    }),
  );
  const [engines, sessions, model, reach, keyFile] = await Promise.all([
    checkEngines(context, root),
    checkSessions(loaded, root),
    checkModel(context, endpoints, problem !== undefined),
    context.flags.online ? checkReach(endpoints, context.signal) : undefined,
    endpoints.credentials.problem(),
  ]);
  const { config, diagnostics } = loaded;
  const lacking = missingTools(loaded, environmentOf(context.env)).diagnostics;
  const said = [...diagnostics, ...lacking].map((diagnostic) => diagnostic.message);
  const warnings = [...said, ...(keyFile ? [keyFile] : []), ...engines.warnings];
  const blocking = [...(problem ? [problem] : []), ...model.blocking];
  return {
    ...describeBuild(),
    workspace: root,
    config: { files: config.files, origins: config.origins, ...(problem === undefined ? {} : { problem }) },
    model: model.name,
    credentials: credentials.filter((entry) => entry.source !== null),
    tools: engines.tools,
    session: sessions,
    terminal: describeTerminal(context),
    ...(reach ? { reach } : {}),
    warnings: sessions.writable ? warnings : [...warnings, `sessions cannot be kept in ${sessions.path}: ${sessions.reason}`],
    blocking_issues: blocking,
  };
}

/** Exit 0 when a prompt could run, 2 when something is missing that it needs. */
export async function runDoctor(context: CommandContext): Promise<ExitCode> {
  if (context.words.length > 0) throw new UserError("thndrs doctor takes no words");
  const checked = await examine(context);
  if (context.flags.json) context.output.stdout.line(JSON.stringify(checked, null, 2));
  else showReport(checked, context.output.stdout);
  return signalExit(context.signal) ?? (checked.blocking_issues.length === 0 ? EXIT.ok : EXIT.usage);
}
