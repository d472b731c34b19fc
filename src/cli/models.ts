/** `thndrs models [PROVIDER]`: what the configured endpoints serve, with window and price where known. Refuses: caching. */
import { version } from "../app/version.ts";
import { signalExit } from "../base/signal-exit.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { listModels, probeLocal } from "../provider/listing.ts";
import { modelInfo } from "../provider/models.ts";
import type { ModelInfo } from "../provider/provider.ts";
import type { ProviderSettings } from "../types/settings.ts";
import { visible } from "../ui/sanitize.ts";
import type { CommandContext } from "./command.ts";
import { type Endpoints, findProvider, openEndpoints } from "./endpoints.ts";

const LIST_TIMEOUT_MS = 15_000;

export type Served =
  | { readonly ok: true; readonly models: readonly ModelInfo[] }
  | { readonly ok: false; readonly message: string };

/** Asks one endpoint; the configured `models` count where it keeps no list. */
export async function askEndpoint(endpoints: Endpoints, settings: ProviderSettings, signal: AbortSignal): Promise<Served> {
  const { models } = endpoints.loaded.config;
  const options = { apiKey: await endpoints.keyOf(settings), userAgent: `thndrs/${version}`, models, env: endpoints.env };
  const listing = await listModels(settings, options, AbortSignal.any([signal, AbortSignal.timeout(LIST_TIMEOUT_MS)]));
  if (listing.ok) return listing;
  if (settings.models.length > 0) {
    return { ok: true, models: settings.models.map((id) => ({ ...modelInfo(settings.name, id, models) })) };
  }
  const late = listing.failure.class === "cancelled" && !signal.aborted;
  return { ok: false, message: late ? `no answer within ${LIST_TIMEOUT_MS / 1000} s` : listing.failure.message };
}

/** Local servers that nobody named: looked for, and only listed when they answer. */
async function askQuietly(endpoints: Endpoints, settings: ProviderSettings, signal: AbortSignal): Promise<Served | undefined> {
  if (endpoints.isNamed(settings)) return askEndpoint(endpoints, settings, signal);
  const models = await probeLocal(settings, signal, { models: endpoints.loaded.config.models });
  return models && { ok: true, models };
}

async function askAll(endpoints: Endpoints, signal: AbortSignal): Promise<readonly (readonly [string, Served])[]> {
  const asked = Object.values(endpoints.providers).map(async (settings): Promise<readonly [string, Served | undefined]> => {
    if (settings.baseUrl === undefined) return [settings.name, undefined];
    if (settings.local) return [settings.name, await askQuietly(endpoints, settings, signal)];
    const able = endpoints.loaded.config.providers[settings.name] ?? (await endpoints.sourceOf(settings));
    return [settings.name, able ? await askEndpoint(endpoints, settings, signal) : undefined];
  });
  return (await Promise.all(asked)).flatMap(([name, served]) => (served ? [[name, served] as const] : []));
}

function tokens(count: number | undefined): string {
  if (count === undefined) return "";
  return count >= 1_000_000
    ? `${+(count / 1_000_000).toFixed(2)}M`
    : count >= 1000
      ? `${Math.round(count / 1000)}k`
      : String(count);
}

function priceText(price: ModelInfo["price"]): string {
  return price ? `$${price.input} in, $${price.output} out per million` : "";
}

type Listed = { readonly model: string; readonly info: ModelInfo };

function showTable(context: CommandContext, rows: readonly Listed[]): void {
  const names = rows.map((row) => visible(row.model));
  const width = Math.min(60, Math.max(0, ...names.map((name) => name.length)));
  for (const [index, { info }] of rows.entries()) {
    const line = `${(names[index] ?? "").padEnd(width)}  ${tokens(info.contextWindow).padStart(6)}  ${priceText(info.price)}`;
    context.output.stdout.line(line.trimEnd());
  }
}

function showJson(context: CommandContext, rows: readonly Listed[], failures: readonly (readonly [string, string])[]): void {
  const models = rows.map(({ model, info }) => ({
    model,
    context_window: info.contextWindow ?? null,
    max_output: info.maxOutput ?? null,
    price: info.price ?? null,
  }));
  context.output.stdout.line(JSON.stringify({ models, failures: Object.fromEntries(failures) }, null, 2));
}

async function ask(context: CommandContext): Promise<readonly (readonly [string, Served])[]> {
  const [name, ...rest] = context.words;
  if (rest.length > 0) throw new UserError("thndrs models takes one provider, or none for all");
  const endpoints = await openEndpoints(context);
  if (name === undefined) {
    const answers = await askAll(endpoints, context.signal);
    if (answers.length > 0) return answers;
    throw new UserError(
      "no provider has a key, none is configured, and no local server answers\nSet a key variable (thndrs help providers), run thndrs setup, or start a local server such as Ollama.",
    );
  }
  const settings = findProvider(endpoints, name);
  return [[name, await askEndpoint(endpoints, settings, context.signal)]];
}

/** Exit 1 when nothing that was asked answered. @throws UserError when there is nobody to ask */
export async function runModels(context: CommandContext): Promise<ExitCode> {
  const answers = await ask(context);
  const rows = answers.flatMap(([name, served]) =>
    served.ok ? served.models.map((info) => ({ model: `${name}/${info.id}`, info })) : [],
  );
  const failures = answers.flatMap(([name, served]) => (served.ok ? [] : [[name, served.message] as const]));
  const shown = rows.slice(0, context.flags.limit ?? rows.length);
  if (context.flags.json) showJson(context, shown, failures);
  else showTable(context, shown);
  const { stderr } = context.output;
  for (const [name, message] of failures) stderr.line(`thndrs: warning: ${name}: ${visible(message)}`);
  if (shown.length < rows.length) stderr.line(`thndrs: ${rows.length - shown.length} more (raise --limit)`);
  return signalExit(context.signal) ?? (failures.length === answers.length ? EXIT.failed : EXIT.ok);
}
