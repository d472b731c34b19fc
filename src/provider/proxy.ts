/**
 * What went wrong with the proxy that the environment names: the runtime goes through it by itself, and tells its failures as the
 * server's. Refuses: proxying, reading the environment (it is handed in).
 */
import { isLoopback } from "../base/loopback.ts";
import { networkCode } from "../base/network-words.ts";
import { failure, failureOfError } from "./failure.ts";
import type { ProviderFailure } from "./provider.ts";

export type ProxyEnv = Readonly<Record<string, string | undefined>>;

/** No connection at all: behind one, the proxy itself would have answered. */
const NOT_OPENED: ReadonlySet<string> = new Set([
  "ConnectionRefused",
  "ECONNREFUSED",
  "ENOTFOUND",
  "FailedToOpenSocket",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

/** The failure of a request that should have gone through a proxy; undefined where the proxy is not to blame. */
export function failureOfProxy(url: URL, error: unknown, env: ProxyEnv | undefined): ProviderFailure | undefined {
  const code = networkCode(error) ?? "";
  const kind = code === "UnsupportedProxyProtocol";
  if (!kind && !NOT_OPENED.has(code)) return undefined;
  const variable = variableFor(url, env ?? {});
  if (variable === undefined) return undefined;
  const value = env?.[variable]?.trim() ?? "";
  const otherwise = `or add ${url.hostname} to NO_PROXY`;
  if (kind) {
    const scheme = /^([a-z][a-z\d+.-]*):/i.exec(value)?.[1] ?? "another";
    return failure(
      "protocol",
      `cannot reach ${url.host}: ${variable} names a ${scheme} proxy, and only http:// and https:// ones can be used; change it, ${otherwise}`,
    );
  }
  const said = failureOfError(`${placeOf(value)}, the proxy for ${url.host} (${variable})`, error, false);
  return { ...said, message: `${said.message}; start it, correct ${variable}, ${otherwise}` };
}

/** The variable that names the proxy for an address; undefined without one. */
function variableFor(url: URL, env: ProxyEnv): string | undefined {
  if (isLoopback(url.hostname) || isExempt(url, env.no_proxy || env.NO_PROXY || "")) return undefined;
  const scheme = url.protocol.slice(0, -1);
  const own = [`${scheme}_proxy`, `${scheme.toUpperCase()}_PROXY`].find((name) => (env[name] ?? "").trim() !== "");
  // Of these the runtime uses what it can, and goes without the rest.
  return own ?? ["all_proxy", "ALL_PROXY"].find((name) => /^\s*(?:https?:|(?![a-z][a-z\d+.-]*:\/\/)\S)/i.test(env[name] ?? ""));
}

function isExempt(url: URL, list: string): boolean {
  return list.split(",").some((part) => {
    const entry = part
      .trim()
      .replace(/^\*?\./, "")
      .toLowerCase();
    return (
      entry === "*" || (entry !== "" && (url.host === entry || url.hostname === entry || url.hostname.endsWith(`.${entry}`)))
    );
  });
}

/** Host and port; a proxy's address may hold a password. */
function placeOf(value: string): string {
  const full = /^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  return URL.canParse(full) ? new URL(full).host : "the proxy";
}
