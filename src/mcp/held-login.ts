/**
 * A login during a run: the stored token is sent, renewed when it has ended, and missed when that fails. Nobody is asked, no
 * client is registered. Loads the protocol's package only to renew. Refuses: making a login (login.ts).
 */
import type { AuthProvider } from "@modelcontextprotocol/client";
import { fetchDuring } from "./http-transport.ts";
import { type Login, type LoginStore, loginName, readLogin } from "./login-store.ts";
import type { ServerPlan } from "./plans.ts";

/** What the transport asks for tokens; also says which values must not be shown. */
export type HeldLogin = AuthProvider & {
  secrets(): readonly string[];
  /** Gives up a renewal that is under way. */
  close(): void;
};

function valuesOf({ tokens, client }: Login): readonly string[] {
  const clientSecret = client && "client_secret" in client ? client.client_secret : undefined;
  return [tokens?.access_token, tokens?.refresh_token, clientSecret].filter((value) => value !== undefined);
}

/** Where tokens are asked for, and what they are for. */
function resourceOf(login: Login): string | undefined {
  return login.discovery?.resourceMetadata?.resource;
}

/** `signal`: how long the authorization server is waited for. */
async function renew(server: string, login: Login, store: LoginStore, signal: AbortSignal): Promise<Login> {
  const { LoginNeeded } = await import("./failures.ts");
  const { tokens, client, discovery } = login;
  if (!tokens?.refresh_token || !client || !discovery) throw new LoginNeeded(`the login of ${server} has ended`);
  const { refreshAuthorization } = await import("@modelcontextprotocol/client");
  const resource = resourceOf(login);
  try {
    const fresh = await refreshAuthorization(discovery.authorizationServerUrl, {
      ...(discovery.authorizationServerMetadata && { metadata: discovery.authorizationServerMetadata }),
      clientInformation: client,
      refreshToken: tokens.refresh_token,
      ...(resource !== undefined && { resource }),
      fetchFn: fetchDuring(signal),
    });
    const renewed: Login = { ...login, tokens: { ...tokens, ...fresh } };
    // A token that cannot be kept is good for this run all the same.
    await store.store(loginName(server), JSON.stringify(renewed)).catch(() => undefined);
    return renewed;
  } catch (error) {
    // No answer is no refusal: the login may be good all the same.
    signal.throwIfAborted();
    throw new LoginNeeded(`the login of ${server} could not be renewed`, { cause: error });
  }
}

/** The login that was made for exactly this address; undefined without one: then the configured headers are all it gets. */
export async function storedLogin(plan: ServerPlan, store: LoginStore): Promise<HeldLogin | undefined> {
  const { name, transport, timeoutMs } = plan;
  if (transport.kind !== "http") return undefined;
  const { url } = transport;
  const found = await readLogin(name, url, store);
  if (!found?.tokens) return undefined;
  let login: Login = found;
  let renewing: Promise<void> | undefined;
  const closing = new AbortController();
  const renewOnce = async (): Promise<void> => {
    const kept = await readLogin(name, url, store);
    // Another thndrs may have renewed it meanwhile; a refresh token is often good for one time only.
    const newer = kept?.tokens && kept.tokens.access_token !== login.tokens?.access_token;
    login = newer ? kept : await renew(name, login, store, AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]));
  };
  return {
    token: async () => login.tokens?.access_token,
    async onUnauthorized() {
      renewing ??= renewOnce().finally(() => {
        renewing = undefined;
      });
      await renewing;
    },
    secrets: () => valuesOf(login),
    close: () => closing.abort(),
  };
}
