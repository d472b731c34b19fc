/**
 * `thndrs setup`: choose a provider, give it a key, try it with one small request, write the user's configuration. Refuses:
 * to run without a terminal, to write anything before the try went well or the person insists.
 */
import { version } from "../app/version.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { setTopLevelKey } from "../config/edit.ts";
import { configPaths } from "../config/homes.ts";
import { updatePrivateFile } from "../config/private-file.ts";
import { decodeSettings, type FileRead } from "../config/settings-file.ts";
import { createProvider } from "../provider/create.ts";
import { probeLocal } from "../provider/listing.ts";
import { modelInfo } from "../provider/models.ts";
import type { ProviderSettings } from "../types/settings.ts";
import { listOf, typedSecret, typedText, yesOrNo } from "../ui/askings.ts";
import { type QuestionHost, withQuestions } from "../ui/question-host.ts";
import { visible } from "../ui/sanitize.ts";
import { stdinKind } from "../ui/stdin.ts";
import { keyProblem } from "./auth.ts";
import type { CommandContext } from "./command.ts";
import { describeSource, type Endpoints, openEndpoints } from "./endpoints.ts";
import { askEndpoint } from "./models.ts";

const TRY_TIMEOUT_MS = 30_000;
/** More models than this are not offered as a list; the id is typed. */
const MAX_LISTED = 200;

type Session = { readonly context: CommandContext; readonly endpoints: Endpoints; readonly host: QuestionHost };

type Found = { readonly settings: ProviderSettings; readonly hint: string; readonly ready: boolean };

/** The providers, the ones that are ready first. */
async function findProviders({ endpoints }: Session, signal: AbortSignal): Promise<readonly Found[]> {
  const found = await Promise.all(
    Object.values(endpoints.providers).map(async (settings) => {
      const source = await endpoints.sourceOf(settings);
      const serves = settings.local ? await probeLocal(settings, signal) : undefined;
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
  return [...found.filter((entry) => entry.ready), ...found.filter((entry) => !entry.ready)];
}

async function chooseProvider(session: Session): Promise<ProviderSettings | undefined> {
  const { host } = session;
  const found = await host.busy("looking for providers", (signal) => findProviders(session, signal));
  if (found === undefined) return undefined;
  const choices = found.map(({ settings, hint }) => ({ value: settings, label: settings.name, hint }));
  return host.ask(listOf({ message: "Which provider?", choices }));
}

/** A key that is there, or one that is typed now; `null` where none is needed, undefined when the person gave up. */
async function obtainKey({ endpoints, host }: Session, settings: ProviderSettings): Promise<string | null | undefined> {
  const known = await endpoints.keyOf(settings);
  if (known !== undefined) return known;
  if (settings.apiKeyEnv === undefined) return null;
  return host.ask(typedSecret(`Key for ${settings.name} (it is stored only after it worked)`, keyProblem));
}

async function chooseModelId(session: Session, settings: ProviderSettings, key: string | null): Promise<string | undefined> {
  const { endpoints, host } = session;
  const keyed: Endpoints = { ...endpoints, keyOf: async () => key ?? undefined };
  const label = `asking ${settings.name} for its models`;
  const served = await host.busy(label, (signal) => askEndpoint(keyed, settings, signal));
  if (served === undefined) return undefined;
  const ids = served.ok ? served.models.map((info) => info.id) : [];
  if (!served.ok) {
    const why = `the list of models is not available: ${visible(served.message)}`;
    await host.show((clack, to) => clack.log.warn(why, to));
  }
  const preferred =
    settings.defaultModel !== undefined && (ids.length === 0 || ids.includes(settings.defaultModel))
      ? settings.defaultModel
      : ids[0];
  if (ids.length === 0 || ids.length > MAX_LISTED) {
    return host.ask(typedText("Which model?", (typed) => (typed === "" ? "a model id is needed" : undefined), preferred));
  }
  const choices = ids.map((id) => ({ value: id, label: id }));
  return host.ask(listOf({ message: "Which model?", choices, ...(preferred !== undefined && { initial: preferred }) }));
}

/** One small request. Returns what went wrong, or undefined. */
async function tryModel(
  session: Session,
  settings: ProviderSettings,
  id: string,
  key: string | null,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { config } = session.endpoints.loaded;
  const provider = createProvider(settings, {
    ...(key === null ? {} : { apiKey: key }),
    env: session.endpoints.env,
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
  for await (const event of provider.stream(request, AbortSignal.any([signal, limit]))) {
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
  const written = (read: FileRead): string => {
    const text = read.kind === "bytes" ? decodeSettings(path, read.bytes) : "";
    return setTopLevelKey(path, text, "model", model);
  };
  await updatePrivateFile(path, written, session.context.signal);
  return path;
}

/** Whether it answers, or the person wants it all the same. */
async function tried(session: Session, settings: ProviderSettings, id: string, key: string | null): Promise<boolean> {
  const { host } = session;
  const result = await host.busy(`asking ${settings.name}/${visible(id)}`, async (signal) => ({
    problem: await tryModel(session, settings, id, key, signal),
  }));
  if (result === undefined || host.ended !== undefined) return false;
  const { problem } = result;
  await host.show((clack, to) =>
    problem === undefined ? clack.log.step("it answers", to) : clack.log.error(visible(problem), to),
  );
  return problem === undefined || (await host.ask(yesOrNo("Write it down nevertheless?"))) === true;
}

async function converse(session: Session): Promise<ExitCode> {
  const { endpoints, host } = session;
  await host.show((clack, to) => clack.intro("thndrs setup", to));
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
  if (!(await tried(session, settings, id, key)) || host.ended !== undefined) return givenUp(session);
  if (key !== null && (await endpoints.sourceOf(settings)) === undefined) {
    const stored = `key stored: ${visible(describeSource(await endpoints.credentials.store(settings.name, key)))}`;
    await host.show((clack, to) => clack.log.success(stored, to));
  }
  const written = `${visible(await writeModel(session, `${settings.name}/${id}`))}: model = "${settings.name}/${visible(id)}"`;
  await host.show((clack, to) => {
    clack.log.success(written, to);
    clack.outro("Start with: thndrs", to);
  });
  return EXIT.ok;
}

async function givenUp({ host }: Session): Promise<ExitCode> {
  await host.show((clack, to) => clack.cancel("Nothing was written.", to));
  return host.ended ?? EXIT.sigint;
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
  const { env, output, signal } = context;
  return withQuestions({ stream: output.stdout, env, signal }, (host) => converse({ context, endpoints, host }));
}
