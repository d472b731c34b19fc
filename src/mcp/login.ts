/**
 * `thndrs mcp login`: a person agrees in a browser, here or elsewhere, and comes back to a port of this machine; the tokens
 * are kept for later runs. Refuses: opening a browser, listening anywhere but on the loopback address.
 */
import type { StoredOAuthClientInformation } from "@modelcontextprotocol/client";
import { UserError } from "../base/user-error.ts";
import { type Connecting, type Connection, type ConnectRequest, connect } from "./connection.ts";
import { needsLogin } from "./failures.ts";
import { LoginProvider, type LoginStore } from "./login-store.ts";
import { atMost, orAborted } from "./waiting.ts";

/** How often a server may ask again within one login (a wider scope). */
const MAX_ROUNDS = 3;
const LAST_PAGE_MS = 500;

/** Sends a person to the address; resolves with what the browser brought back. */
export type AskBrowser = (url: URL) => Promise<URLSearchParams>;

export type Callback = AsyncDisposable & {
  readonly redirectUrl: string;
  /**
   * Resolves with the query of the first visit that carries `state`, or of one that brings an error and no state at all: servers
   * that refuse early know none, and nobody gains by it. Rejects when the signal is aborted.
   */
  answer(state: string, signal: AbortSignal): Promise<URLSearchParams>;
};

const PAGE = (text: string): Response =>
  new Response(`<!doctype html><meta charset="utf-8"><title>thndrs</title><p>${text}</p>\n`, {
    headers: { "content-type": "text/html; charset=utf-8", connection: "close" },
  });

/** Listens on a free port of 127.0.0.1 until it is disposed. */
export function listenForBrowser(): Callback {
  const waiting = new Map<string, (answer: URLSearchParams) => void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const url = new URL(request.url);
      if (url.pathname !== "/callback") return new Response("not found\n", { status: 404 });
      const [only] = url.searchParams.has("error") ? waiting.keys() : [];
      const state = url.searchParams.get("state") ?? only ?? "";
      const take = waiting.get(state);
      if (!take) return new Response("this login is not waited for\n", { status: 400 });
      waiting.delete(state);
      take(url.searchParams);
      return PAGE(url.searchParams.has("code") ? "Done. You can close this page." : "The login was refused. See the terminal.");
    },
  });
  return {
    redirectUrl: `http://127.0.0.1:${server.port}/callback`,
    answer(state, signal) {
      const { promise, resolve } = Promise.withResolvers<URLSearchParams>();
      waiting.set(state, resolve);
      return orAborted(promise, signal);
    },
    async [Symbol.asyncDispose]() {
      // The page is still on its way to the browser when the login goes on.
      await atMost(LAST_PAGE_MS, server.stop(false));
      await server.stop(true);
    },
  };
}

export type LoginRequest = Omit<ConnectRequest, "auth" | "onClosed" | "onListChanged"> & {
  readonly store: LoginStore;
  readonly redirectUrl: string;
  readonly ask: AskBrowser;
  /** Goes round with the browser, so that nobody else's answer is taken. */
  readonly state?: string;
  /** A client that was registered by hand. */
  readonly client?: StoredOAuthClientInformation;
  readonly clientMetadataUrl?: string;
};

export type LoggedIn = {
  readonly connection: Connection;
  /** False when the server never asked. */
  readonly asked: boolean;
  /** Does something on the connection; where the server wants a wider authorization, asks for it and does it again. */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  close(): Promise<void>;
};

/**
 * Connects to a remote server, and lets a person agree where it wants that. An earlier login is forgotten.
 * @throws UserError when the server refuses the person
 */
export async function logIn(request: LoginRequest): Promise<LoggedIn> {
  const { plan, store, ask, redirectUrl, state, client, clientMetadataUrl, ...rest } = request;
  if (plan.transport.kind !== "http") throw new UserError(`MCP server ${plan.name} runs on this machine and needs no login`);
  let page: URL | undefined;
  let rounds = 0;
  const provider = new LoginProvider({
    server: plan.name,
    login: { url: plan.transport.url, redirectUrl, ...(client && { client }) },
    store,
    redirect: (url) => {
      page = url;
    },
    ...(state !== undefined && { state }),
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
  });
  const start = (): Connecting =>
    connect({ ...rest, plan, auth: provider, onClosed: () => undefined, onListChanged: () => undefined });
  /** Returns when a person was asked and agreed: what failed is worth doing again. */
  const finish = async (error: unknown, connecting: Connecting): Promise<void> => {
    if (!needsLogin(error) || !page || rounds >= MAX_ROUNDS) throw error;
    rounds += 1;
    const answer = await ask(page);
    page = undefined;
    const refusal = answer.get("error");
    if (refusal) throw new UserError(`the login was refused: ${answer.get("error_description") ?? refusal}`);
    await connecting.finishAuth(answer);
  };
  for (;;) {
    const connecting = start();
    try {
      const connection = await connecting.done;
      return {
        connection,
        asked: rounds > 0,
        async use(work) {
          for (;;) {
            try {
              return await work(connection);
            } catch (error) {
              await finish(error, connecting);
            }
          }
        },
        close: () => connection.close(),
      };
    } catch (error) {
      await finish(error, connecting).finally(() => connecting.end());
    }
  }
}
