/**
 * What search backends answer, as one list of results. Tells a page without hits from a page that is none (a bot challenge,
 * another layout). Refuses: asking.
 */
import { field, isObject, list, parseJson, text } from "../base/json.ts";
import { oneLine } from "../base/text.ts";
import { decodeEntities } from "./page-plain.ts";

type SearchResult = { readonly title: string; readonly url: string; readonly snippet: string };

export type SearchResults =
  | { readonly ok: true; readonly results: readonly SearchResult[] }
  /** `message` completes "the search failed: ". */
  | { readonly ok: false; readonly message: string };

const MAX_SNIPPET = 400;
const MAX_TITLE = 200;

function clean(html: string, max: number): string {
  return oneLine(decodeEntities(html.replace(/<\/?(?:b|strong|em|i|mark|span|wbr)\b[^<>]{0,200}>/gi, "")), max);
}

/** A web address, or undefined for anything else a result may point to. */
function webUrl(written: unknown): string | undefined {
  try {
    const url = new URL(String(written));
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : undefined;
  } catch {
    return undefined;
  }
}

function result(title: unknown, url: unknown, snippet: unknown): SearchResult[] {
  const target = webUrl(url);
  if (target === undefined) return [];
  const shown = clean(text(title) ?? "", MAX_TITLE);
  return [{ title: shown || target, url: target, snippet: clean(text(snippet) ?? "", MAX_SNIPPET) }];
}

/** The results of a JSON answer: `path` leads to the list, `pick` to the parts of one entry. */
function jsonResults(
  body: string,
  backend: string,
  path: readonly string[],
  pick: (entry: Readonly<Record<string, unknown>>) => SearchResult[],
): SearchResults {
  let at: unknown = parseJson(body);
  if (!isObject(at)) return { ok: false, message: `${backend} answered with something that is not JSON` };
  for (const name of path) at = isObject(at) ? at[name] : undefined;
  // Brave leaves the list out when there is nothing in it; then the whole answer still says what it is.
  if (at === undefined && path.length > 1) return { ok: true, results: [] };
  if (!Array.isArray(at)) return { ok: false, message: `${backend} answered without a list of results` };
  return { ok: true, results: list(at).flatMap((entry) => (isObject(entry) ? pick(entry) : [])) };
}

/** `format=json` of a SearXNG instance. */
export function parseSearxng(body: string): SearchResults {
  const found = jsonResults(body, "searxng", ["results"], (entry) => result(entry.title, entry.url, entry.content));
  if (!found.ok || found.results.length > 0) return found;
  // No hits because no engine answered is no answer: `[["google", "CAPTCHA"], …]`.
  const silent = list(field(parseJson(body), "unresponsive_engines")).map((entry) => list(entry).map(String).join(": "));
  return silent.length === 0
    ? found
    : { ok: false, message: `no engine of the searxng instance answered (${clean(silent.join(", "), 300)})` };
}

/** Brave's `web/search`. */
export function parseBrave(body: string): SearchResults {
  return jsonResults(body, "brave", ["web", "results"], (entry) => result(entry.title, entry.url, entry.description));
}

/** Exa's `search`; its first highlight is the snippet. */
export function parseExa(body: string): SearchResults {
  return jsonResults(body, "exa", ["results"], (entry) => {
    const highlight = list(entry.highlights)
      .map(text)
      .find((part) => part !== undefined);
    return result(entry.title, entry.url, highlight ?? entry.summary ?? entry.text);
  });
}

/** DuckDuckGo wraps targets: `//duckduckgo.com/l/?uddg=ENCODED&rut=…`. */
function unwrap(href: string): string | undefined {
  try {
    const url = new URL(decodeEntities(href), "https://duckduckgo.com");
    return url.pathname === "/l/" ? (url.searchParams.get("uddg") ?? undefined) : url.href;
  } catch {
    return undefined;
  }
}

type Collected = { title: string; url: string | undefined; snippet: string; ad: boolean };

const CHALLENGE =
  "DuckDuckGo asks for proof that a person is searching (bot challenge); try later, or set another web.search backend";

/** The HTML endpoint's page. */
export async function parseDuckduckgo(body: string): Promise<SearchResults> {
  const collected: Collected[] = [];
  const page = { known: false, nothing: false, challenge: false };
  const last = (): Collected | undefined => collected.at(-1);
  const rewriter = new HTMLRewriter()
    .on("#links, .results, #search_form, form[action='/html/']", {
      element: () => {
        page.known = true;
      },
    })
    .on(".no-results, .result--no-result", {
      element: () => {
        page.nothing = true;
      },
    })
    .on(".anomaly-modal, .anomaly-modal__modal, #challenge-form, .g-recaptcha, script[src*='anomaly']", {
      element: () => {
        page.challenge = true;
      },
    })
    .on(".result", {
      element: (element) => {
        const classes = element.getAttribute("class") ?? "";
        collected.push({ title: "", url: undefined, snippet: "", ad: /\bresult--ad\b/.test(classes) });
      },
    })
    .on(".result a.result__a", {
      element: (element) => {
        const current = last();
        if (current) current.url ??= unwrap(element.getAttribute("href") ?? "");
      },
      text: (chunk) => {
        const current = last();
        if (current) current.title += chunk.text;
      },
    })
    .on(".result .result__snippet", {
      text: (chunk) => {
        const current = last();
        if (current) current.snippet += chunk.text;
      },
    });
  await rewriter.transform(new Response(body)).text();
  const results = collected.flatMap(({ title, url, snippet, ad }) => (ad || !url ? [] : result(title, url, snippet)));
  if (results.length === 0 && page.challenge) return { ok: false, message: CHALLENGE };
  if (results.length > 0 || (page.known && page.nothing)) return { ok: true, results };
  const what = body.trim() === "" ? "an empty page" : page.known ? "a page without results" : "a page that is no result page";
  return {
    ok: false,
    message: `DuckDuckGo answered with ${what} (it may be limiting this address); try later, or set another web.search backend`,
  };
}
