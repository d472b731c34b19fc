/**
 * The stored login of a remote server: tokens and client registration, in the keychain or the 0600 file beside the providers'
 * keys, bound to the server's address. Loads nothing of the protocol. Refuses: asking anybody.
 */
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { Credentials } from "../config/credentials.ts";

export type LoginStore = Pick<Credentials, "lookup" | "store" | "remove">;

/** What one login consists of. */
export type Login = {
  /** The address it was made for; it goes nowhere else. */
  readonly url: string;
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
  readonly discovery?: OAuthDiscoveryState;
  /** Where the browser comes back to; part of the registration. */
  readonly redirectUrl?: string;
};

/** The name under which credentials/ keeps it. */
export function loginName(server: string): string {
  return `mcp:${server}`;
}

function parse(text: string | undefined, url: string): Login | undefined {
  if (text === undefined) return undefined;
  try {
    const login: unknown = JSON.parse(text);
    return typeof login === "object" && login !== null && "url" in login && login.url === url ? (login as Login) : undefined;
  } catch {
    return undefined;
  }
}

/** The login of a server, if one was made for exactly this address. */
export async function readLogin(server: string, url: string, store: LoginStore): Promise<Login | undefined> {
  return parse(await store.lookup(loginName(server), null), url);
}

function metadataFor(redirectUrl: string | undefined): OAuthClientMetadata {
  return {
    client_name: "thndrs",
    redirect_uris: redirectUrl === undefined ? [] : [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
}

/**
 * The provider the protocol's client asks for tokens. It keeps what it is given; `redirect` is what happens when a person must
 * agree in a browser.
 */
export class LoginProvider implements OAuthClientProvider {
  readonly clientMetadataUrl?: string;
  readonly #server: string;
  readonly #store: LoginStore;
  readonly #redirect: (url: URL) => void | Promise<void>;
  readonly #state: string | undefined;
  #login: Login;
  #verifier = "";

  constructor(options: {
    readonly server: string;
    readonly login: Login;
    readonly store: LoginStore;
    readonly redirect: (url: URL) => void | Promise<void>;
    readonly state?: string;
    /** Where this client describes itself, for servers that take that instead of a registration. */
    readonly clientMetadataUrl?: string;
  }) {
    this.#server = options.server;
    this.#login = options.login;
    this.#store = options.store;
    this.#redirect = options.redirect;
    this.#state = options.state;
    if (options.clientMetadataUrl !== undefined) this.clientMetadataUrl = options.clientMetadataUrl;
  }

  get redirectUrl(): string | undefined {
    return this.#login.redirectUrl;
  }
  get clientMetadata(): OAuthClientMetadata {
    return metadataFor(this.#login.redirectUrl);
  }
  async #save(change: Partial<Login>): Promise<void> {
    this.#login = { ...this.#login, ...change };
    await this.#store.store(loginName(this.#server), JSON.stringify(this.#login));
  }
  state(): string {
    return this.#state ?? crypto.randomUUID();
  }
  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#login.client;
  }
  async saveClientInformation(client: StoredOAuthClientInformation): Promise<void> {
    await this.#save({ client });
  }
  tokens(): StoredOAuthTokens | undefined {
    return this.#login.tokens;
  }
  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    await this.#save({ tokens });
  }
  redirectToAuthorization(url: URL): void | Promise<void> {
    return this.#redirect(url);
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }
  codeVerifier(): string {
    return this.#verifier;
  }
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#login.discovery;
  }
  async saveDiscoveryState(discovery: OAuthDiscoveryState): Promise<void> {
    await this.#save({ discovery });
  }
  async invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): Promise<void> {
    const { client, tokens, discovery, ...rest } = this.#login;
    const all = scope === "all";
    this.#login = {
      ...rest,
      ...(client && !all && scope !== "client" && { client }),
      ...(tokens && !all && scope !== "tokens" && { tokens }),
      ...(discovery && !all && scope !== "discovery" && { discovery }),
    };
    if (all || scope === "verifier") this.#verifier = "";
    await this.#save({});
  }
}
