/**
 * `thndrs context [PATH…] [--json] [--show]` and `thndrs context allow PATH` (context.md C12, C14): which instruction files
 * apply here, in which order, and why the others do not. Sessions: context-session.ts. Refuses: asking a model anything.
 */
import { realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join } from "node:path";
import { openSkills } from "../app/skills.ts";
import { today } from "../app/today.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { openWorkspace } from "../base/workspace.ts";
import { findHomes } from "../config/homes.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { allow, allowListPath } from "../context/allow.ts";
import { type ContextEngine, type Delivery, openContext, type TemplateFacts } from "../context/engine.ts";
import { loadFile } from "../context/load.ts";
import { scanText } from "../context/scan.ts";
import { namedParts } from "../context/transclude.ts";
import { modelInfo } from "../provider/models.ts";
import type { Diagnostic, SourceInfo } from "../types/event.ts";
import { sanitize, visible } from "../ui/sanitize.ts";
import type { CommandContext } from "./command.ts";
import { recoverFromSession, showSessionContext } from "./context-session.ts";
import { offeredTools } from "./tools.ts";

type Report = {
  readonly root: string;
  readonly cwd: string;
  readonly enabled: boolean;
  readonly sources: readonly SourceInfo[];
  /** What would be sent, in this order. */
  readonly sent: readonly SourceInfo[];
  readonly text: string;
  readonly diagnostics: readonly Diagnostic[];
};

/**
 * What a template is told in a run of this model, with these flags. No server is started: its tools are not among the tools, and
 * servers of a `.mcp.json` are not known.
 */
async function factsFor(context: CommandContext, loaded: LoadedConfig, root: string): Promise<TemplateFacts> {
  const { flags, cwd } = context;
  const { config } = loaded;
  const [provider = "", ...rest] = (config.model ?? "").split("/");
  const name = rest.join("/");
  const skills = await openSkills({ loaded, root, cwd, given: [], trustAll: flags.trustProject === true });
  const servers = Object.values(config.mcp.servers).filter((server) => server.enabled && config.authority !== "read-only");
  return {
    model_name: name,
    model_id: provider,
    session_id: "",
    current_date: today(),
    is_non_interactive: true,
    supports_vision: modelInfo(provider, name, config.models).vision ?? false,
    available_tools: offeredTools(context, loaded).specs.map((spec) => spec.name),
    available_mcp_servers: servers.map((server) => server.name),
    available_skills: skills.available().map((skill) => skill.name),
  };
}

/** Starts an engine as a run would, makes `paths` govern, and takes down what it delivers. */
async function survey(context: CommandContext, paths: readonly string[]): Promise<Report> {
  const workspace = await openWorkspace(context.cwd);
  const { root, cwd } = workspace;
  const loaded = await loadConfig({ env: context.env, flags: context.flags, cwd, workspaceRoot: root });
  const diagnostics: Diagnostic[] = [...loaded.diagnostics];
  const { config, homes } = loaded;
  const facts = await factsFor(context, loaded, root);
  const engine = openContext({
    root,
    cwd,
    ...(homes.config !== undefined && { configHome: homes.config }),
    ...(homes.user !== undefined && { home: homes.user }),
    settings: config.context,
    facts: () => facts,
    diagnose: (diagnostic) => diagnostics.push(diagnostic),
  });
  const stop = () => engine.close();
  context.signal.addEventListener("abort", stop, { once: true });
  try {
    const pins = context.flags.pin ?? [];
    // A pin that cannot be kept is refused as in a run.
    const delivered = config.context.enabled || pins.length > 0 ? await deliverFor(engine, paths, pins) : [];
    await engine.indexed();
    const texts = delivered.map((delivery) => delivery.text).filter((text) => text !== "");
    const sent = delivered.flatMap((delivery) => delivery.sources);
    return { root, cwd, enabled: config.context.enabled, sources: engine.sources(), sent, text: texts.join("\n\n"), diagnostics };
  } finally {
    context.signal.removeEventListener("abort", stop);
    engine.close();
  }
}

async function deliverFor(engine: ContextEngine, paths: readonly string[], pins: readonly string[]): Promise<Delivery[]> {
  const delivered = [await engine.start()];
  for (const path of pins) {
    const pinned = await engine.pin(path);
    if (!pinned.ok) throw new UserError(`--pin ${path}: ${pinned.message}`);
  }
  for (const path of paths) {
    const pinned = await engine.pin(path, "scope");
    if (!pinned.ok) throw new UserError(pinned.message);
  }
  if (paths.length + pins.length > 0) delivered.push(await engine.turn(""));
  return delivered;
}

function line(source: SourceInfo): string {
  const marks = [
    source.truncated && source.state === "visible" ? "truncated" : "",
    source.state === "visible" ? "" : source.state.replace("_", " "),
  ];
  const mark = marks.filter((word) => word !== "").join(", ");
  const reason = source.reason === "" ? "" : ` — ${source.reason}`;
  return visible(`${source.path} (scope ${source.scope}, ${source.origin}${mark === "" ? "" : `, ${mark}`})${reason}`);
}

function printReport(context: CommandContext, report: Report): void {
  const { stdout } = context.output;
  stdout.line(visible(`Workspace: ${report.root}`));
  stdout.line(visible(`Directory: ${report.cwd}`));
  if (!report.enabled) {
    stdout.line("Project context is off (--no-context).");
    return;
  }
  stdout.line("");
  stdout.line("Sent, broad to close (the closest wins for paths under its scope):");
  for (const [at, source] of report.sent.entries()) stdout.line(`${String(at + 1).padStart(3)}. ${line(source)}`);
  if (report.sent.length === 0) stdout.line("     (none)");
  const sent = new Set(report.sent.map((source) => source.path));
  const others = report.sources.filter((source) => !sent.has(source.path));
  stdout.line("");
  stdout.line("Known, not sent:");
  for (const source of others) stdout.line(`  - ${line(source)}`);
  if (others.length === 0) stdout.line("     (none)");
  if (report.diagnostics.length === 0) return;
  stdout.line("");
  stdout.line("Diagnostics:");
  for (const { severity, message } of report.diagnostics) stdout.line(`  - ${severity}: ${visible(message)}`);
}

/** Exactly the model's text; a terminal gets it with its controls made visible. */
function shown(text: string, terminal: boolean): string {
  if (text === "") return "";
  return `${terminal ? sanitize(text) : text}\n`;
}

function plainSource(source: SourceInfo): Record<string, unknown> {
  return {
    path: source.path,
    scope: source.scope,
    origin: source.origin,
    ...(source.contentHash !== "" && { content_hash: source.contentHash }),
    byte_count: source.byteCount,
    truncated: source.truncated,
    state: source.state,
    reason: source.reason,
  };
}

function jsonReport(report: Report): string {
  const { root, cwd, enabled, sources, sent, diagnostics } = report;
  const order = sent.map((source) => source.path);
  return JSON.stringify(
    { version: 1, workspace: root, cwd, enabled, sources: sources.map(plainSource), sent: order, diagnostics },
    null,
    2,
  );
}

/** `context allow PATH`: lifts the scan's block for the file's present content, and for what it transcludes (C12). */
async function allowFile(context: CommandContext, words: readonly string[]): Promise<ExitCode> {
  const [typed, ...more] = words;
  if (typed === undefined || more.length > 0) throw new UserError("Usage: thndrs context allow PATH (one file).");
  const home = findHomes(context.env, context.cwd).config;
  if (home === undefined) throw new UserError("There is no config home to keep the allow-list in: set THNDRS_HOME or HOME.");
  const path = isAbsolute(typed) ? typed : join(context.cwd, typed);
  const real = await realpath(path).catch(() => undefined);
  const file = await loadFile(real ?? path, () => true);
  if (file.kind !== "text") {
    const why = file.kind === "refused" ? file.message : file.kind === "missing" ? "there is no such file" : `it is ${file.kind}`;
    throw new UserError(`${typed} cannot be allowed: ${why}.`);
  }
  // The engine knows a file by the real path of its directory; so does the list.
  const directory = await realpath(dirname(file.path));
  const whole = { path: join(directory, basename(file.path)), hash: file.contentHash, text: file.text };
  const { stdout } = context.output;
  const allowed: unknown[] = [];
  for (const { path, hash, text } of [whole, ...namedParts(whole.path, file.text)]) {
    const written = await allow(home, { path, hash });
    if (!written.ok)
      throw new UserError(`The allow-list ${allowListPath(home)} could not be written: ${written.message}`, EXIT.failed);
    const findings = scanText(text).findings.filter((finding) => !finding.inCode);
    allowed.push({ path, content_hash: hash, findings: findings.map(({ kind, line }) => ({ kind, line })) });
    if (context.flags.json) continue;
    for (const finding of findings) stdout.line(visible(`${path}:${finding.line}: ${finding.kind}`));
    stdout.line(visible(`Allowed ${path} as it is now (${hash}); any change puts the scan back.`));
  }
  if (context.flags.json) stdout.line(JSON.stringify({ allowed }, null, 2));
  return EXIT.ok;
}

/**
 * The ledger for a run here; with paths, what would govern each. `--show` prints exactly the text a model would get.
 * @throws UserError for a path outside the workspace or a configuration that cannot be read.
 */
export async function runContext(context: CommandContext): Promise<ExitCode> {
  const [verb, ...rest] = context.words;
  if (verb === "allow") return await allowFile(context, rest);
  if (verb === "recover") return await recoverFromSession(context, rest);
  if (context.flags.session !== undefined) return await showSessionContext(context, context.flags.session);
  const report = await survey(context, context.words);
  const { stdout } = context.output;
  if (context.flags.json) stdout.line(jsonReport(report));
  else if (context.flags.show) stdout.write(shown(report.text, stdout.isTerminal));
  else printReport(context, report);
  return EXIT.ok;
}
