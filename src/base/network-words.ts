/** Why a connection failed, in our words: the runtime's are made for whoever writes programs. Refuses: recognising by text. */
import { once } from "./once.ts";

const NOT_HTTP = "what it answers is not HTTP: check the address and the port";
const UNKNOWN_AUTHORITY =
  "its certificate is from an authority that is not known here (NODE_EXTRA_CA_CERTS names a file with more of them)";

/** By the codes that the runtime and the system give. */
const table = once(
  (): Readonly<Record<string, string>> => ({
    ConnectionRefused: "the connection was refused",
    ECONNREFUSED: "the connection was refused",
    ECONNRESET: "the connection was reset",
    ECONNABORTED: "the connection was reset",
    EPIPE: "the connection was reset",
    ENOTFOUND: "the host name is not known",
    EAI_AGAIN: "the host name cannot be looked up now (no network, or no name server answers)",
    FailedToOpenSocket: "no connection could be opened (host name or network)",
    ConnectionClosed: "the connection was closed",
    ETIMEDOUT: "the connection timed out",
    Timeout: "the connection timed out",
    ENETUNREACH: "no network leads there",
    EHOSTUNREACH: "no network leads there",
    EADDRNOTAVAIL: "no network leads there",
    ENETDOWN: "the network is down",
    EPROTO: "the TLS handshake failed: does it speak https on this port?",
    Malformed_HTTP_Response: NOT_HTTP,
    InvalidHTTPResponse: NOT_HTTP,
    InvalidContentLength: NOT_HTTP,
    UnrequestedUpgrade: NOT_HTTP,
    UnsupportedProxyProtocol: "the proxy in HTTP_PROXY or HTTPS_PROXY is of a kind that cannot be used: give an http:// address",
    ERR_PROXY_TUNNEL: "the proxy in HTTPS_PROXY refused to connect to it",
    DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self signed (NODE_EXTRA_CA_CERTS names a file with more of those to trust)",
    SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
    UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
    CERT_HAS_EXPIRED: "its certificate has expired",
    CERT_NOT_YET_VALID: "its certificate is not valid yet: is this machine's clock right?",
    CERT_REVOKED: "its certificate was revoked",
    ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  }),
);

/** What asking again does not mend. */
const LASTING = /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|ERR_TLS/;

/** The code of an error, or of what caused it. */
export function networkCode(error: unknown): string | undefined {
  for (let at = error, depth = 0; typeof at === "object" && at !== null && depth < 5; depth += 1) {
    const { code, cause } = at as { code?: unknown; cause?: unknown };
    if (typeof code === "string" && code !== "") return code;
    at = cause;
  }
  return undefined;
}

export function networkWords(code: string | undefined): string | undefined {
  const words = table();
  return code !== undefined && Object.hasOwn(words, code) ? words[code] : undefined;
}

/** True for a refusal that stays: a certificate, something that is no web server, a proxy that cannot be used. */
export function isLasting(code: string | undefined): boolean {
  const words = networkWords(code);
  return LASTING.test(code ?? "") || words === NOT_HTTP || code === "UnsupportedProxyProtocol";
}
