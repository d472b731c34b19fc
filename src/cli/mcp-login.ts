/** `thndrs mcp login NAME`: prints an address, waits for the browser to come back, keeps the tokens. Refuses: opening a browser. */
import { version } from "../app/version.ts";
import { createProcessOwner } from "../base/process.ts";
import { signalExit } from "../base/signal-exit.ts";
import { EXIT, type ExitCode, UserError } from "../base/user-error.ts";
import { sayFailure } from "../mcp/failures.ts";
import { type LoginRequest, listenForBrowser, logIn } from "../mcp/login.ts";
import { loginName } from "../mcp/login-store.ts";
import { visible } from "../ui/sanitize.ts";
import type { CommandContext } from "./command.ts";
import { findServer, openMcpPlace } from "./mcp-open.ts";

/** How long a person may take. */
const LOGIN_MS = 10 * 60_000;

/** Exit 1 when it does not come to a login. */
export async function loginTo(context: CommandContext, name: string): Promise<ExitCode> {
  const place = await openMcpPlace(context);
  const { plan } = findServer(place, name);
  if (plan?.transport.kind !== "http") throw new UserError(`MCP server ${name} runs on this machine and needs no login`);
  const { stdout, stderr } = context.output;
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(LOGIN_MS)]);
  await using browser = listenForBrowser();
  const state = crypto.randomUUID();
  const request: LoginRequest = {
    plan,
    version,
    root: place.root,
    processes: context.processes ?? createProcessOwner(),
    inherit: context.env,
    signal,
    store: place.credentials,
    redirectUrl: browser.redirectUrl,
    state,
    ask: async (url) => {
      stderr.line(`thndrs: open this address in a browser on this machine and agree; Ctrl-C gives up`);
      stdout.line(visible(url.href));
      await stdout.flush();
      return browser.answer(state, signal);
    },
  };
  try {
    const session = await logIn(request);
    // An open stream would keep the program from ending.
    const { tools } = await session.use((connection) => connection.listTools(signal)).finally(() => session.close());
    if (!session.asked) stdout.line(`${visible(name)} asked for no login; it has ${tools.length} tools`);
    else {
      const source = await place.credentials.source(loginName(name), null);
      const where = source?.kind === "file" ? source.path : "the keychain";
      stdout.line(`logged in to ${visible(name)}: ${tools.length} tools; the login is kept in ${visible(where)}`);
    }
    return EXIT.ok;
  } catch (error) {
    const ended = signalExit(context.signal);
    if (ended !== undefined) return ended;
    if (error instanceof UserError) throw error;
    const why = signal.aborted ? "nobody agreed in time" : sayFailure(error, { server: name, timeoutMs: plan.timeoutMs });
    throw new UserError(`MCP server ${name}: ${why}`, EXIT.failed);
  }
}
