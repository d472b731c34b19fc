/** `thndrs login PROVIDER`, `logout PROVIDER`, `auth status`. Refuses: printing a key, taking one as an argument. */

import { signalExit } from "../base/signal-exit.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import type { ProviderSettings } from "../types/settings.ts";
import { visible } from "../ui/sanitize.ts";
import { readStdin, stdinKind } from "../ui/stdin.ts";
import type { CommandContext } from "./command.ts";
import { describeSource, findProvider, openEndpoints } from "./endpoints.ts";

const MAX_KEY_BYTES = 16_384;

/** What is wrong with a key as it was entered; undefined when nothing is. */
export function keyProblem(value: string): string | undefined {
  if (value === "") return "the key is empty";
  if (/\s/.test(value)) return "a key has no white space in it";
  return /^[\x21-\x7e]+$/.test(value) ? undefined : "a key consists of plain characters";
}

/** A key, or the exit code where none was given. */
type Given = { readonly key: string } | { readonly code: ExitCode };

/** Asks on the terminal without showing what is typed. */
async function askedKey({ output, env, signal }: CommandContext, name: string): Promise<Given> {
  const stream = output.stdout.isTerminal ? output.stdout : output.stderr;
  if (!stream.isTerminal) throw new UserError(`login asks on a terminal: echo "$KEY" | thndrs login ${name} needs none`);
  // Lazy doors: only this question needs them.
  const [{ withQuestions }, { typedSecret }] = await Promise.all([import("../ui/question-host.ts"), import("../ui/askings.ts")]);
  return withQuestions({ stream, env, signal }, async (host): Promise<Given> => {
    const key = await host.ask(typedSecret(`Key for ${name}`, keyProblem));
    return host.ended === undefined && key !== undefined ? { key } : { code: host.ended ?? EXIT.sigint };
  });
}

async function pipedKey(context: CommandContext, name: string): Promise<Given> {
  const request = { mode: "require", hasPrompt: false, waitMs: 0, maxBytes: MAX_KEY_BYTES, signal: context.signal } as const;
  const read = await readStdin(request).catch((error: unknown) => {
    // What it says is for prompts.
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`what came on stdin is no key (one line of plain characters): echo "$KEY" | thndrs login ${name}`);
  });
  const code = signalExit(context.signal);
  if (code !== undefined) return { code };
  const value = (read.text ?? "").trim();
  const problem = keyProblem(value);
  if (problem) throw new UserError(`${problem}: echo "$KEY" | thndrs login ${name}, or run it on a terminal to be asked`);
  return { key: value };
}

function onlyProvider(context: CommandContext, command: string): string {
  const [name, ...rest] = context.words;
  if (name === undefined) throw new UserError(`which provider? thndrs ${command} PROVIDER`);
  if (rest.length > 0)
    throw new UserError(`thndrs ${command} takes one provider; a key is never given as an argument (others can see it)`);
  return name;
}

/**
 * Stores a provider's key: from a hidden prompt on a terminal, else from stdin.
 * @throws UserError for an unknown provider, a provider without keys, an unusable key
 */
export async function runLogin(context: CommandContext): Promise<ExitCode> {
  const name = onlyProvider(context, "login");
  const endpoints = await openEndpoints(context);
  const settings = findProvider(endpoints, name);
  if (settings.apiKeyEnv === undefined) throw new UserError(`${name} needs no key: it runs on this machine`);
  const given = stdinKind() === "terminal" ? await askedKey(context, name) : await pipedKey(context, name);
  if ("code" in given) return given.code;
  const source = await endpoints.credentials.store(name, given.key);
  const { stdout, stderr } = context.output;
  stdout.line(`the key of ${name} is stored: ${visible(describeSource(source))}`);
  if (context.env[settings.apiKeyEnv]?.trim()) stderr.line(`thndrs: note: $${settings.apiKeyEnv} is set and comes first`);
  return EXIT.ok;
}

/** Forgets a stored key. @throws UserError when the keychain does not answer */
export async function runLogout(context: CommandContext): Promise<ExitCode> {
  const name = onlyProvider(context, "logout");
  const { credentials, providers } = await openEndpoints(context);
  const removed = await credentials.remove(name);
  const { stdout, stderr } = context.output;
  stdout.line(removed ? `the stored key of ${visible(name)} is gone` : `no key of ${visible(name)} was stored`);
  // Of a damaged file nobody can say what it holds.
  const problem = await credentials.problem();
  if (problem !== undefined) stderr.line(`thndrs: warning: ${visible(problem)}`);
  const variable = providers[name]?.apiKeyEnv;
  if (variable && context.env[variable]?.trim()) stderr.line(`thndrs: note: $${variable} is still set`);
  return problem !== undefined && !removed ? EXIT.failed : EXIT.ok;
}

type Row = { readonly settings: ProviderSettings; readonly source: string | undefined };

function showStatus(context: CommandContext, rows: readonly Row[]): void {
  const { stdout } = context.output;
  const held = rows.filter((row) => row.source !== undefined);
  const width = Math.max(0, ...held.map((row) => row.settings.name.length));
  for (const row of held) stdout.line(`${row.settings.name.padEnd(width)}  ${visible(row.source ?? "")}`);
  if (held.length === 0) stdout.line("no key is known");
  const without = rows.filter((row) => row.source === undefined && row.settings.apiKeyEnv !== undefined);
  if (without.length > 0) stdout.line(`without a key: ${without.map((row) => row.settings.name).join(", ")}`);
}

/** `auth status`: where each provider's key comes from. */
export async function runAuth(context: CommandContext): Promise<ExitCode> {
  const [verb, ...rest] = context.words;
  if ((verb !== undefined && verb !== "status") || rest.length > 0) throw new UserError("it is: thndrs auth status");
  const endpoints = await openEndpoints(context);
  const rows = await Promise.all(
    Object.values(endpoints.providers).map(async (settings): Promise<Row> => {
      const source = await endpoints.sourceOf(settings);
      return { settings, source: source && describeSource(source) };
    }),
  );
  const problem = await endpoints.credentials.problem();
  if (context.flags.json) {
    const plain = rows.map(({ settings, source }) => ({
      provider: settings.name,
      variable: settings.apiKeyEnv ?? null,
      source: source ?? null,
    }));
    context.output.stdout.line(JSON.stringify(plain, null, 2));
  } else showStatus(context, rows);
  if (problem) context.output.stderr.line(`thndrs: warning: ${visible(problem)}`);
  return EXIT.ok;
}
