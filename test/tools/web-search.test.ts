/** web_search: every backend against a local server that answers in the shape of the real one. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { ToolSettings } from "../../src/tools/tool.ts";
import { createWebSearch } from "../../src/tools/web-search.ts";
import { runWeb, serve } from "./web-server.ts";

const fixture = (name: string) => Bun.file(join(import.meta.dir, "../fixtures/search", name)).text();
const page = (text: string, status = 200) =>
  new Response(text, { status, headers: { "content-type": "text/html; charset=UTF-8" } });

type Answer = (request: Request) => Response | Promise<Response>;

/** One search of `query` against a backend whose server answers with `answer`. */
async function search(
  backend: ToolSettings["webSearch"],
  answer: Answer,
  more: { readonly key?: string; readonly max?: number } = {},
) {
  await using server = serve({ "/html/": answer, "/brave": answer, "/exa": answer, "/base/search": answer });
  const tool = createWebSearch({
    endpoints: { duckduckgo: `${server.url}/html/`, brave: `${server.url}/brave`, exa: `${server.url}/exa` },
  });
  const result = await runWeb(
    tool,
    { query: "bun sqlite", ...(more.max !== undefined && { max_results: more.max }) },
    {
      allowHosts: backend === "searxng" ? [] : ["127.0.0.1"],
      settings: { webSearch: backend, webSearchUrl: `${server.url}/base/`, credential: () => more.key },
    },
  );
  return { ...result, seen: server.seen };
}

test("duckduckgo: results without advertisements, targets unwrapped, entities decoded", async () => {
  const body = await fixture("duckduckgo.html");
  const { status, text, seen } = await search("duckduckgo", () => page(body));
  expect(status).toBe("ok");
  expect(text.split("\n")).toEqual([
    '2 results for "bun sqlite" (duckduckgo); read_url shows a page.',
    "1. SQLite – Bun docs & more",
    "   https://docs.test/sqlite?a=1&b=2",
    "   A high-performance SQLite driver, built in.",
    "2. Second 'hit'",
    "   https://second.test/",
    "   Nothing about g-recaptcha or anomaly.js here.",
  ]);
  expect(seen.map((request) => request.line)).toEqual(["GET /html/?q=bun+sqlite"]);
});

test("duckduckgo: no hits is an answer; a challenge, an empty page and another layout are failures", async () => {
  const none = await fixture("duckduckgo-none.html");
  expect(await search("duckduckgo", () => page(none))).toMatchObject({
    status: "ok",
    text: expect.stringContaining("No results"),
  });
  const challenge = await fixture("duckduckgo-challenge.html");
  for (const status of [200, 202]) {
    expect(await search("duckduckgo", () => page(challenge, status))).toMatchObject({
      status: "failed",
      text: expect.stringContaining("bot challenge"),
    });
  }
  for (const [body, reason] of [
    ["", "an empty page"],
    ["<html><body>Welcome to the portal, please log in.</body></html>", "no result page"],
    ['<html><body><div id="links" class="results"></div></body></html>', "a page without results"],
  ] as const) {
    const { status, text } = await search("duckduckgo", () => page(body));
    expect({ body, status, text }).toEqual({ body, status: "failed", text: expect.stringContaining(reason) });
  }
});

test("searxng: the configured instance may be private; json is asked for", async () => {
  const results = [
    { title: "One", url: "https://one.test/", content: "about <b>one</b>", engine: "x" },
    { title: "", url: "https://two.test/" },
    { title: "bad", url: "ftp://three.test/" },
  ];
  const { status, text, seen } = await search("searxng", () => Response.json({ query: "q", results }));
  expect(status).toBe("ok");
  expect(text.split("\n").slice(1)).toEqual([
    "1. One",
    "   https://one.test/",
    "   about one",
    "2. https://two.test/",
    "   https://two.test/",
  ]);
  expect(seen[0]?.line).toBe("GET /base/search?q=bun+sqlite&format=json");
  const refused = await search("searxng", () => new Response("Forbidden", { status: 403 }));
  expect(refused).toMatchObject({ status: "failed", text: expect.stringContaining("search.formats") });
  const silent = await search("searxng", () => Response.json({ results: [], unresponsive_engines: [["google", "CAPTCHA"]] }));
  expect(silent).toMatchObject({ status: "failed", text: expect.stringContaining("google: CAPTCHA") });
  expect((await search("searxng", () => Response.json({ results: [] }))).text).toContain("No results");
  expect(await search("searxng", () => page("<html>not json</html>"))).toMatchObject({ status: "failed" });
});

test("searxng: the way out of the instance is no way in", async () => {
  await using inside = serve({ "/search": () => Response.json({ results: [] }) });
  const { status, text } = await search("searxng", () => Response.redirect(`${inside.url}/search`, 302));
  expect({ status, asked: inside.seen.length }).toEqual({ status: "failed", asked: 0 });
  expect(text).toContain("loopback");
  const tool = createWebSearch();
  const unset = await runWeb(tool, { query: "x" }, { settings: { webSearch: "searxng" } });
  expect(unset).toMatchObject({ status: "failed", text: expect.stringContaining("web.search_url") });
});

test("brave: key in its header and nowhere else", async () => {
  const results = [{ title: "T", url: "https://one.test/", description: "it&#x27;s <strong>bold</strong>" }];
  const { text, seen } = await search("brave", () => Response.json({ type: "search", web: { results } }), {
    key: "KEY-123",
    max: 3,
  });
  expect(text).toContain("1. T\n   https://one.test/\n   it's bold");
  expect(seen[0]?.line).toBe("GET /brave?q=bun+sqlite&count=3");
  expect(seen[0]?.headers.get("x-subscription-token")).toBe("KEY-123");
  expect((await search("brave", () => Response.json({ type: "search" }), { key: "K" })).text).toContain("No results");
  const denied = await search("brave", () => new Response("no", { status: 401 }), { key: "KEY-123" });
  expect(denied.text).toContain("BRAVE_API_KEY");
  expect(denied.text).not.toContain("KEY-123");
  expect((await search("brave", () => Response.json({}))).text).toContain("BRAVE_API_KEY is not set");
});

test("exa: a POST with the key; highlights are the snippets", async () => {
  const results = [
    { title: "T", url: "https://one.test/", highlights: ["first words", "more"] },
    { title: null, url: "https://two.test/", text: "x".repeat(2000) },
  ];
  const { text, seen } = await search("exa", () => Response.json({ results }), { key: "KEY-9" });
  expect(text).toContain("1. T\n   https://one.test/\n   first words\n2. https://two.test/");
  expect(text.length).toBeLessThan(700);
  expect(seen[0]?.line).toBe("POST /exa");
  expect(seen[0]?.headers.get("x-api-key")).toBe("KEY-9");
  expect(JSON.parse(seen[0]?.body ?? "")).toMatchObject({ query: "bun sqlite", numResults: 5 });
});

test("a key is not carried to where a backend redirects", async () => {
  await using elsewhere = serve({ "/": () => Response.json({ results: [] }) });
  for (const backend of ["brave", "exa"] as const) {
    const { status, text } = await search(backend, () => Response.redirect(`${elsewhere.url}/`, 302), { key: "KEY-1" });
    expect({ status, text }).toEqual({ status: "failed", text: expect.stringContaining("not followed") });
  }
  expect(elsewhere.seen).toEqual([]);
});

test("results are bounded, statuses said", async () => {
  const results = Array.from({ length: 30 }, (_, index) => ({
    title: `n${index} ${"t".repeat(500)}`,
    url: `https://n.test/${index}`,
    content: "c".repeat(5000),
  }));
  const many = await search("searxng", () => Response.json({ results }), { max: 10 });
  expect(many.text.match(/^\d+\. /gm)).toHaveLength(10);
  expect(many.text.length).toBeLessThan(8000);
  expect((await search("searxng", () => Response.json({ results }))).text.match(/^\d+\. /gm)).toHaveLength(5);
  expect((await search("duckduckgo", () => new Response("", { status: 429 }))).text).toContain("too many requests");
  expect((await search("duckduckgo", () => new Response("", { status: 503 }))).text).toContain("status 503");
  expect((await search("none", () => new Response(""))).status).toBe("failed");
});
