/**
 * `thndrs setup`: choose a provider, give it a key, try it with one small request, write the user's configuration. Refuses:
 * to run without a terminal, to write anything before the try went well or the person insists.
 */
import type * as Clack from "@clack/prompts";
import { version } from "../app/version.ts";
import { signalExit } from "../base/signal-exit.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { setTopLevelKey } from "../config/edit.ts";
import { configPaths } from "../config/homes.ts";
import { updatePrivateFile } from "../config/private-file.ts";
import { decodeSettings } from "../config/settings-file.ts";
import { createProvider } from "../provider/create.ts";
import { probeLocal } from "../provider/listing.ts";
import { modelInfo } from "../provider/models.ts";
import type { ProviderSettings } from "../types/settings.ts";
import { visible } from "../ui/sanitize.ts";
import { stdinKind } from "../ui/stdin.ts";
import { askForKey } from "./auth.ts";
import type { CommandContext } from "./command.ts";
import { describeSource, type Endpoints, openEndpoints } from "./endpoints.ts";
import { askEndpoint } from "./models.ts";

const TRY_TIMEOUT_MS = 30_000;
/** More models than this are not offered as a list; the id is typed. */
const MAX_LISTED = 200;

type Session = { readonly context: CommandContext; readonly endpoints: Endpoints; readonly clack: typeof Clack };

/** The providers, the ones that are ready first. */
async function chooseProvider(session: Session): Promise<ProviderSettings | undefined> {
  const { endpoints, clack, context } = session;
  const found = await Promise.all(
    Object.values(endpoints.providers).map(async (settings) => {
      const source = await endpoints.sourceOf(settings);
      const serves = settings.local ? await probeLocal(settings, context.signal) : undefined;
      const hint = source
        ? `key: ${describeSource(source)}`
        : serves
          ? `running, ${serves.length} models`
          : settings.local
            ? "not running"
            : "needs a key";
      return { settings, hint, ready: source !== undefined || serves !== undefined };
    }),
  );
  const sorted = [...found.filter((entry) => entry.ready), ...found.filter((entry) => !entry.ready)];
  const answer = await clack.select({
    signal: context.signal,
    message: "Which provider?",
    options: sorted.map(({ settings, hint }) => ({ value: settings.name, label: settings.name, hint })),
    maxItems: 12,
  });
  return clack.isCancel(answer) ? undefined : endpoints.providers[answer];
}

/** A key that is there, or one that is typed now; `null` where none is needed, undefined when the person gave up. */
async function obtainKey(session: Session, settings: ProviderSettings): Promise<string | null | undefined> {
  const known = await session.endpoints.keyOf(settings);
  if (known !== undefined) return known;
  return settings.apiKeyEnv === undefined
    ? null
    : askForKey(`Key for ${settings.name} (it is stored only after it worked)`, session.context.signal);
}

async function chooseModelId(session: Session, settings: ProviderSettings, key: string | null): Promise<string | undefined> {
  const { clack, context, endpoints } = session;
  const keyed: Endpoints = { ...endpoints, keyOf: async () => key ?? undefined };
  const served = await askEndpoint(keyed, settings, context.signal);
  const ids = served.ok ? served.models.map((info) => info.id) : [];
  if (!served.ok) clack.log.warn(`the list of models is not available: ${visible(served.message)}`);
  const preferred =
    settings.defaultModel !== undefined && (ids.length === 0 || ids.includes(settings.defaultModel))
      ? settings.defaultModel
      : ids[0];
  if (ids.length === 0 || ids.length > MAX_LISTED) {
    const typed = await clack.text({
      signal: context.signal,
      message: "Which model?",
      ...(preferred === undefined ? {} : { initialValue: preferred }),
      validate: (value) => (value?.trim() ? undefined : "a model id is needed"),
    });
    return clack.isCancel(typed) ? undefined : typed.trim();
  }
  const answer = await clack.autocomplete({
    signal: context.signal,
    message: "Which model? (type to filter)",
    options: ids.map((id) => ({ value: id, label: visible(id) })),
    ...(preferred === undefined ? {} : { initialValue: preferred }),
    maxItems: 12,
  });
  return clack.isCancel(answer) ? undefined : answer;
}

/** One small request. Returns what went wrong, or undefined. */
async function tryModel(
  session: Session,
  settings: ProviderSettings,
  id: string,
  key: string | null,
): Promise<string | undefined> {
  const { config } = session.endpoints.loaded;
  const provider = createProvider(settings, {
    ...(key === null ? {} : { apiKey: key }),
    userAgent: `thndrs/${version}`,
    stallTimeoutMs: config.stallTimeoutMs,
    retry: { ...config.retry, maxTries: 1 },
    modelInfo: (other) => modelInfo(settings.name, other, config.models),
  });
  const request = {
    model: id,
    system: "Answer with one word.",
    tools: [],
    messages: [{ role: "user" as const, text: "Say ok." }],
    sessionId: "setup",
    maxOutputTokens: 64,
  };
  const limit = AbortSignal.timeout(TRY_TIMEOUT_MS);
  for await (const event of provider.stream(request, AbortSignal.any([session.context.signal, limit]))) {
    if (event.type === "failure") return limit.aborted ? `no answer within ${TRY_TIMEOUT_MS / 1000} s` : event.message;
    // Anything that ends in order, cut answers included, proves address, key and model.
    if (event.type === "stop") return undefined;
  }
  return "the answer ended without a word";
}

async function writeModel(session: Session, model: string): Promise<string> {
  const { homes } = session.endpoints.loaded;
  const path = configPaths(homes, session.endpoints.root).user;
  if (path === undefined) throw new UserError("there is no home for a configuration file: set HOME or THNDRS_HOME");
  await updatePrivateFile(path, (read) => {
    const text = read.kind === "bytes" ? decodeSettings(path, read.bytes) : "";
    return setTopLevelKey(path, text, "model", model);
  });
  return path;
}

async function converse(session: Session): Promise<ExitCode> {
  const { clack, endpoints } = session;
  clack.intro("thndrs setup");
  const settings = await chooseProvider(session);
  if (!settings) return givenUp(session);
  if (settings.baseUrl === undefined) {
    throw new UserError(
      `${settings.name} needs an address: set base_url under [providers.${settings.name}] (thndrs config edit), then run setup again`,
    );
  }
  const key = await obtainKey(session, settings);
  if (key === undefined) return givenUp(session);
  const id = await chooseModelId(session, settings, key);
  if (id === undefined) return givenUp(session);
  const spinner = clack.spinner();
  spinner.start(`asking ${settings.name}/${visible(id)}`);
  const problem = await tryModel(session, settings, id, key);
  if (problem === undefined) spinner.stop("it answers");
  else spinner.error(visible(problem));
  if (problem !== undefined) {
    const anyway = await clack.confirm({
      signal: session.context.signal,
      message: "Write it down nevertheless?",
      initialValue: false,
    });
    if (clack.isCancel(anyway) || !anyway) return givenUp(session);
  }
  if (key !== null && (await endpoints.sourceOf(settings)) === undefined) {
    clack.log.success(`key stored: ${visible(describeSource(await endpoints.credentials.store(settings.name, key)))}`);
  }
  const path = await writeModel(session, `${settings.name}/${id}`);
  clack.log.success(`${visible(path)}: model = "${settings.name}/${visible(id)}"`);
  clack.outro("Start with: thndrs");
  return EXIT.ok;
}

function givenUp({ clack, context }: Session): ExitCode {
  clack.cancel("Nothing was written.");
  return signalExit(context.signal) ?? EXIT.sigint;
}

/** @throws UserError (exit 2) without a terminal: it says how to do without. */
export async function runSetup(context: CommandContext): Promise<ExitCode> {
  if (context.words.length > 0) throw new UserError("thndrs setup takes no words: it asks");
  if (stdinKind() !== "terminal" || !context.output.stdout.isTerminal) {
    throw new UserError(
      'setup asks on a terminal. Without one: set a key variable (thndrs help providers) or pipe the key to "thndrs login PROVIDER",\nand name the model with --model, THNDRS_MODEL, or model in the file that "thndrs config path" names.',
    );
  }
  const endpoints = await openEndpoints(context);
  // Lazy door: only set-up needs clack.
  const clack = await import("@clack/prompts");
  return converse({ context, endpoints, clack });
}
