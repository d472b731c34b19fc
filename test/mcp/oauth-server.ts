/**
 * A remote MCP server that wants a login, and its authorization server, in one. Strict about PKCE, redirect and resource.
 * Tokens can be made to end. Refuses: a person's page; `authorize` answers with the redirect at once.
 */

export type OAuthManners = { readonly refuse?: boolean; readonly noRefresh?: boolean };

export type OAuthServer = AsyncDisposable & {
  readonly url: string;
  /** Access tokens given out so far are worth nothing from now on. */
  expire(): void;
  /** Refresh tokens, too. */
  revoke(): void;
  /** `authorize`, `token code`, `token refresh`, `register`, in order. */
  readonly seen: string[];
};

export function startOAuth(manners: OAuthManners = {}): OAuthServer {
  const seen: string[] = [];
  const access = new Set<string>();
  const refresh = new Set<string>();
  const codes = new Map<string, { challenge: string; redirect: string }>();
  const clients = new Map<string, string[]>();
  let count = 0;
  const base = (): string => `http://127.0.0.1:${server.port}`;

  const authorize = (query: URLSearchParams): Response => {
    seen.push("authorize");
    const redirect = query.get("redirect_uri") ?? "";
    const known = clients.get(query.get("client_id") ?? "");
    if (!known?.includes(redirect) || query.get("code_challenge_method") !== "S256") return new Response("bad", { status: 400 });
    const back = new URL(redirect);
    back.searchParams.set("state", query.get("state") ?? "");
    if (manners.refuse) back.searchParams.set("error", "access_denied");
    else {
      const code = `code-${++count}`;
      codes.set(code, { challenge: query.get("code_challenge") ?? "", redirect });
      back.searchParams.set("code", code);
    }
    return Response.redirect(back.href, 302);
  };
  const grant = (): Response => {
    const token = `access-token-number-${++count}`;
    const renew = `refresh-token-number-${count}`;
    access.add(token);
    refresh.add(renew);
    return Response.json({
      access_token: token,
      token_type: "Bearer",
      expires_in: 3600,
      ...(!manners.noRefresh && { refresh_token: renew }),
    });
  };
  const token = async (form: URLSearchParams): Promise<Response> => {
    if (form.get("grant_type") === "refresh_token") {
      seen.push("token refresh");
      if (!refresh.delete(form.get("refresh_token") ?? "")) return Response.json({ error: "invalid_grant" }, { status: 400 });
      return grant();
    }
    seen.push("token code");
    const made = codes.get(form.get("code") ?? "");
    const digest = new Bun.CryptoHasher("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (!made || made.challenge !== digest || made.redirect !== form.get("redirect_uri"))
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    codes.delete(form.get("code") ?? "");
    return grant();
  };
  const mcp = async (request: Request): Promise<Response> => {
    const held = (request.headers.get("authorization") ?? "").replace(/^Bearer /, "");
    if (!access.has(held)) {
      const challenge = `Bearer resource_metadata="${base()}/.well-known/oauth-protected-resource/mcp"`;
      return new Response("login", { status: 401, headers: { "www-authenticate": challenge } });
    }
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const { id, method, params } = (await request.json()) as { id?: number; method: string; params?: Record<string, unknown> };
    if (id === undefined) return new Response(null, { status: 202 });
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "locked", version: "1" },
      },
      "tools/list": { tools: [{ name: "open", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: "opened" }] },
    };
    return Response.json({ jsonrpc: "2.0", id, result: results[method] ?? {} });
  };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const url = new URL(request.url);
      switch (url.pathname) {
        case "/mcp":
          return mcp(request);
        case "/.well-known/oauth-protected-resource/mcp":
          return Response.json({ resource: `${base()}/mcp`, authorization_servers: [base()] });
        case "/.well-known/oauth-authorization-server":
          return Response.json({
            issuer: base(),
            authorization_endpoint: `${base()}/authorize`,
            token_endpoint: `${base()}/token`,
            registration_endpoint: `${base()}/register`,
            response_types_supported: ["code"],
            code_challenge_methods_supported: ["S256"],
            token_endpoint_auth_methods_supported: ["none"],
          });
        case "/register": {
          seen.push("register");
          const asked = (await request.json()) as { redirect_uris: string[] };
          const id = `client-${++count}`;
          clients.set(id, asked.redirect_uris);
          return Response.json({ ...asked, client_id: id }, { status: 201 });
        }
        case "/authorize":
          return authorize(url.searchParams);
        case "/token":
          return token(new URLSearchParams(await request.text()));
        default:
          return new Response("not found", { status: 404 });
      }
    },
  });
  return {
    url: `${base()}/mcp`,
    seen,
    expire: () => access.clear(),
    revoke: () => refresh.clear(),
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}
