/**
 * Turns what a server (or the network) answered instead of a response into one failure of the contract. Classes come
 * from status and error code first, from the usual wordings second. Refuses: retrying, printing.
 */

import { count, field, filled, isObject, list, object, parseJson } from "../base/json.ts";
import { isLasting, networkCode, networkWords } from "../base/network-words.ts";
import { once } from "../base/once.ts";
import { UnreadableBody } from "../base/packed-body.ts";
import { oneLine } from "../base/text.ts";
import type { FailureClass } from "../types/event.ts";
import type { ProviderFailure } from "./provider.ts";
import { retryAfterHeader, waitInText } from "./wait.ts";

const MAX_MESSAGE = 600;
/** No more is looked at of a text that is only told. */
const MAX_BODY_SAID = 4 * 1024;

/** Wordings of a request that is larger than the model's window (P16). */
const overflow = once(
  () =>
    new RegExp(
      [
        "context[_ ]length[_ ]exceeded",
        "maximum context length",
        "maximum prompt length",
        "prompt (?:is )?too long",
        "input (?:is )?too long",
        "exceed_context_size",
        "model_context_window_exceeded",
        "request_too_large",
        "context[_ ]?(?:window|length|size|limit)[^.]{0,40}exceed",
        "exceed[^.]{0,64}context (?:window|length|size|limit)",
        "(?:input|prompt) (?:token count|length|tokens?)[^.]{0,40}exceed",
        "(?:input|prompt) exceeds? (?:the |its )?max",
        "range of input length should be",
        "max_prompt_tokens_exceeded",
        "exceed[^.]{0,44}(?:input|model|prompt) token (?:limit|count)",
        "(?:greater|larger|longer) than the[^.]{0,30}(?:context|model length)",
        "context the overflows",
        "context length of only",
        "\\binputs?`? tokens \\+ `?max_new_tokens`? must be",
        "\\binputs?`? must have less than [\\d,]+ tokens",
        "reduce the length of (?:the|your)",
        "too many (?:input |prompt )?tokens",
        "(?:prompt|input) is too (?:large|big) (?:for|compared)",
        "prompt contains [\\d,]+ tokens",
      ].join("|"),
      "i",
    ),
);
/** Wordings about rates that also speak of tokens. */
const RATE =
  /rate.?limit|too many requests|requests? per|tokens? per (?:minute|min|day|hour|second)|throttl|please wait|resource.?exhausted/i;
const QUOTA =
  /quota|billing|credit balance|payment required|out of credits?|usage limit|spend(?:ing)? limit|insufficient.{0,3}(?:funds|balance|credits?)/i;
const OVERLOADED =
  /overload|server.?error|internal.?error|unavailable|try again later|bad gateway|at capacity|api_error|timeout|upstream connect|no healthy upstream/i;
const AUTH =
  /authentication_error|invalid.?api.?key|incorrect api key|unauthori[sz]ed|permission_error|permission.?denied|unauthenticated|forbidden/i;
const INVALID = /invalid_request|invalid.?argument|not_found_error|model_not_found|unsupported/i;
/** A template that does not take the messages takes them no better later, whatever the status. */
const TEMPLATE = /jinja exception|roles must alternate/i;
/** The order of roles was refused: Mistral's own words, and those of the templates that llama.cpp, vLLM and others render. */
const ORDER = /unexpected role '?\w+'? after role|roles must alternate/i;
/** A wait longer than this is no rate limit any more. */
const QUOTA_WAIT_MS = 5 * 60_000;

/** What an error says, wherever the server put it. */
export type ErrorDetail = { readonly message: string; readonly code: string; readonly status?: number };

/** Reads `{error: {...}}`, `{error: "..."}`, `{message}`, `{detail}`, `[{error}]`. undefined when it is no error. */
export function errorDetail(value: unknown): ErrorDetail | undefined {
  const outer = Array.isArray(value) ? object(value[0]) : object(value);
  const inner = outer.error ?? list(outer.errors)[0];
  if (isObject(inner)) {
    const codes = [inner.code, inner.type, inner.status].filter((code) => typeof code === "string").join(" ");
    const status = count(inner.code) ?? count(inner.status) ?? count(inner.http_code);
    const raw = filled(field(inner.metadata, "raw"));
    const message = [filled(inner.message) ?? filled(inner.detail) ?? codes, raw].filter((part) => part !== undefined).join(": ");
    return { message, code: codes, ...(status === undefined ? {} : { status }) };
  }
  if (typeof inner === "string") return { message: inner, code: filled(outer.code) ?? "" };
  const bare = filled(outer.message) ?? filled(outer.detail) ?? filled(field(list(outer.detail)[0], "msg"));
  if (bare === undefined) return undefined;
  return { message: bare, code: [filled(outer.code), filled(outer.type)].filter((code) => code !== undefined).join(" ") };
}

/** A response with an error status. `body` is the (bounded) text of it. */
export function failureOfStatus(host: string, status: number, body: string, headers: Headers, now: number): ProviderFailure {
  if (status >= 300 && status < 400) {
    const target = headers.get("location")?.split("?")[0] ?? "another address";
    const message = `${host} redirects (${status}) to ${oneLine(target, 200)}; credentials are not sent on: set the base URL to the final address`;
    return { type: "failure", class: "invalid_request", status, message };
  }
  const parsed = parseJson(body);
  const detail = errorDetail(parsed) ?? { message: pageTitle(body) ?? body, code: "" };
  const wait =
    retryAfterHeader(headers, now) ??
    waitInText(detail.message, now) ??
    (isRateStatus(status) ? waitInText(body, now) : undefined);
  const kind = classify(status, `${detail.code} ${detail.message}`, wait);
  const said = oneLine(detail.message, MAX_MESSAGE);
  const told = failure(kind, `${host} answered ${status}${said === "" ? "" : `: ${said}`}${hint(kind, status)}`, status, wait);
  return ORDER.test(detail.message) ? { ...told, refuses: "order" } : told;
}

/** An error inside a stream that began with status 200 (P09). `detail` undefined: the server said nothing of it. */
export function failureOfFrame(host: string, detail: ErrorDetail | undefined, now: number): ProviderFailure {
  if (detail === undefined || (detail.message === "" && detail.code === ""))
    return failure("overloaded", `${host} reported an error without saying which`);
  const wait = waitInText(detail.message, now);
  const kind = classify(detail.status, `${detail.code} ${detail.message}`, wait);
  return failure(kind, `${host} reported an error: ${oneLine(detail.message || detail.code, MAX_MESSAGE)}`, detail.status, wait);
}

/** A status-200 body that is no event stream: JSON, a web page, nothing. */
export function failureOfBody(host: string, body: string, now: number): ProviderFailure {
  if (body.trim() === "") return failure("truncated", `${host} answered with an empty body`, 200);
  const parsed = parseJson(body);
  const detail = errorDetail(parsed);
  if (detail !== undefined) return failureOfFrame(host, detail, now);
  const title = pageTitle(body);
  if (title !== undefined) {
    // Proxies tell the status in the title alone.
    const told = Number(/^[45]\d\d(?!\d)/.exec(title)?.[0] ?? 0) || undefined;
    const kind = classify(told, title, undefined);
    const advice = kind === "protocol" ? "; check the base URL" : told === undefined ? "" : hint(kind, told);
    return failure(kind, `${host} answered with a web page (${title}) instead of an event stream${advice}`, 200);
  }
  const form = parsed === undefined ? "text" : "JSON";
  const said = oneLine(body.slice(0, MAX_BODY_SAID), 200);
  return failure(classify(undefined, said, undefined), `${host} answered with ${form} instead of an event stream: ${said}`, 200);
}

/** A stream that ended early; `stray` is what stood in it and was no event. */
export function failureOfCut(host: string, stray: string, now: number): ProviderFailure {
  const detail = errorDetail(parseJson(stray));
  if (detail !== undefined) return failureOfFrame(host, detail, now);
  const said = oneLine(stray, 200);
  return failure("truncated", `${host} ended the stream before the answer was complete${said === "" ? "" : `: ${said}`}`);
}

/** A connection that could not be made or broke. `started` says that a part of the response had arrived. */
export function failureOfError(host: string, error: unknown, started: boolean): ProviderFailure {
  if (error instanceof UnreadableBody) return unreadable(host, error.encoding);
  const code = networkCode(error);
  const why = networkWords(code) ?? runtimeWords(error, code);
  // Asking again mends no certificate, and nothing that is no web server.
  if (!started) return failure(isLasting(code) ? "protocol" : "network", `cannot reach ${host}: ${why}`);
  return failure("truncated", `the connection to ${host} broke before the answer was complete (${why})`);
}

function unreadable(host: string, encoding: string): ProviderFailure {
  const what = `${host} sent an answer that cannot be unpacked (content-encoding: ${oneLine(encoding, 60)})`;
  return failure("protocol", `${what}; thndrs asks for none that is packed: check the server, or the proxy before it`);
}

/** Of an error that we have no words for. */
function runtimeWords(error: unknown, code: string | undefined): string {
  const told = error instanceof Error ? error.message : String(error);
  const plain = withoutAddress(told.replace(/^\w+: /, "").replace(/ For more information, pass.*/, ""));
  return oneLine(plain, 200) || code || (error instanceof Error ? error.name : "");
}

/** The runtime quotes the whole address, whose query may hold a key. */
function withoutAddress(told: string): string {
  return told.replace(/ fetching "[^"]*"\.?/, "");
}

/** A frame whose data should be JSON and is not. */
export function notJson(host: string, data: string): ProviderFailure {
  return failure("protocol", `${host} sent an event that is not JSON: ${oneLine(data, 120)}`);
}

/** `wait`: what the server asks for, in milliseconds. */
export function failure(kind: FailureClass, message: string, status?: number, wait?: number): ProviderFailure {
  return {
    type: "failure",
    class: kind,
    message,
    ...(status === undefined ? {} : { status }),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  };
}

function isRateStatus(status: number): boolean {
  return status === 429 || status === 402 || status === 503 || status === 529;
}

/** `Limit 30000, Requested 45000`: tokens that no minute has, however long one waits. */
const NEVER_FITS = /\btokens? per\b[^\n]{0,300}?\blimit:? ([\d,]+)(?:, used:? [\d,]+)?, requested:? ([\d,]+)/i;

function neverFits(said: string): boolean {
  const [, limit = "", requested = ""] = NEVER_FITS.exec(said) ?? [];
  const number = (digits: string): number => Number(digits.replaceAll(",", ""));
  return number(requested) > number(limit);
}

function classify(status: number | undefined, said: string, wait: number | undefined): FailureClass {
  const sizeStatus = status === undefined || status === 400 || status === 413 || status === 422 || status >= 500;
  if (sizeStatus && overflow().test(said) && !RATE.test(said)) return "context_overflow";
  if (status === 413 || neverFits(said)) return "context_overflow";
  if (TEMPLATE.test(said)) return "invalid_request";
  if (status === 402) return "quota";
  if (/rate_limit_(?:exceeded|error)/.test(said) && !/insufficient_quota/.test(said)) return "rate_limit";
  // A quota that is free again within minutes is a rate limit, however it is called.
  if ((status === undefined || status < 500) && QUOTA.test(said))
    return wait !== undefined && wait <= QUOTA_WAIT_MS ? "rate_limit" : "quota";
  if (status === 401 || status === 403) return "auth";
  if (status === 429 || (status === undefined && RATE.test(said))) return "rate_limit";
  if (status === 408 || status === 409 || status === 425 || (status !== undefined && status >= 500)) return "overloaded";
  if (status !== undefined && status >= 400) return "invalid_request";
  if (AUTH.test(said)) return "auth";
  if (INVALID.test(said)) return "invalid_request";
  if (OVERLOADED.test(said)) return "overloaded";
  return "protocol";
}

function hint(kind: FailureClass, status: number): string {
  if (kind === "auth") return " (check the API key)";
  if (status === 404) return " (check the model id and the base URL)";
  return "";
}

/** The title of a body that is a web page. */
export function pageTitle(body: string): string | undefined {
  const head = body.slice(0, 4_096);
  if (!/^\s*<(?:!doctype|html|head|\?xml)/i.test(head)) return undefined;
  return oneLine(/<title[^<>]*>([^<]*)/i.exec(head)?.[1] ?? "", 100) || "no title";
}
