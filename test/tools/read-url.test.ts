/** read_url: the address policy (W08), the bounds (W09), and what pages become. Local servers only. */

import { afterEach, expect, test } from "bun:test";
import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib";
import { createReadUrl, DEFAULT_PAGE_CHARS, readUrl } from "../../src/tools/read-url.ts";
import { quote, specialAddress } from "../../src/tools/web-address.ts";
import { MAX_BODY_BYTES } from "../../src/tools/web-client.ts";
import { resolver, runWeb, serve, serveRaw } from "./web-server.ts";

const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] as const;
const before = Object.fromEntries(PROXIES.map((name) => [name, process.env[name]]));
afterEach(() => {
  for (const name of PROXIES) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
});

const html = (body: string, head = ""): Response =>
  new Response(`<!doctype html><html><head>${head}</head><body>${body}</body></html>`, {
    headers: { "content-type": "text/html; charset=utf-8" },
  });
const typed = (body: string | Uint8Array<ArrayBuffer>, type: string, more: Record<string, string> = {}): Response =>
  new Response(body, { headers: { "content-type": type, ...more } });

const read = (url: string, allowHosts: readonly string[] = ["127.0.0.1"]) => runWeb(readUrl, { url }, { allowHosts });

test("W08 inside addresses in every form are refused, and nothing is connected to", async () => {
  await using server = serve({ "/": () => new Response("secret") });
  const { port } = server;
  const forms: readonly (readonly [string, RegExp])[] = [
    [`http://127.0.0.1:${port}/`, /loopback/],
    [`http://127.9.9.9:${port}/`, /loopback/],
    [`http://[::1]:${port}/`, /loopback/],
    [`http://[::ffff:7f00:1]:${port}/`, /IPv4-mapped/],
    [`http://[::ffff:127.0.0.1]:${port}/`, /IPv4-mapped/],
    [`http://[::]:${port}/`, /unspecified/],
    [`http://0.0.0.0:${port}/`, /unspecified/],
    [`http://2130706433:${port}/`, /four decimal numbers/],
    [`http://0x7f.1:${port}/`, /four decimal numbers/],
    [`http://0177.0.0.1:${port}/`, /four decimal numbers/],
    [`http://127.1:${port}/`, /four decimal numbers/],
    [`http://１２７.0.0.1:${port}/`, /four decimal numbers/],
    ["http://169.254.169.254/latest/meta-data/", /link-local/],
    ["http://10.0.0.1/", /private/],
    ["http://172.31.255.255/", /private/],
    ["http://192.168.1.1/", /private/],
    ["http://100.64.0.1/", /private/],
    ["http://224.0.0.1/", /multicast/],
    ["http://255.255.255.255/", /broadcast/],
    ["http://[fe80::1]/", /link-local/],
    ["http://[fd00::1]/", /unique-local/],
    ["http://[ff02::1]/", /multicast/],
    ["http://[64:ff9b::7f00:1]/", /loopback/],
    ["http://[2002:7f00:1::]/", /reserved/],
    [`http://a@127.0.0.1:${port}/`, /user name/],
    [`http://a:b@example.com/`, /user name/],
    [`http://localhost:${port}/`, /loopback/],
    ["file:///etc/hostname", /only http and https/],
    ["ftp://example.com/x", /only http and https/],
    ["javascript:alert(1)", /only http and https/],
    ["/etc/hostname", /not a URL/],
  ];
  for (const [url, reason] of forms) {
    const { status, text } = await read(url, []);
    expect({ url, status, text }).toEqual({ url, status: "failed", text: expect.stringMatching(reason) });
  }
  expect(server.seen).toEqual([]);
});

test("W08 every redirect is checked like the first address", async () => {
  const targets = [
    "http://127.0.0.2:9/",
    "http://[::1]:9/",
    "http://[::ffff:7f00:1]/",
    "http://2130706433/",
    "http://0x7f.1/",
    "//0x7f000001/",
    "http://169.254.169.254/",
    "http://a@127.0.0.1/",
    "http://inside.test/",
    "file:///etc/hostname",
  ];
  const pages = Object.fromEntries(
    targets.map((to, index) => [`/${index}`, () => new Response("", { status: 302, headers: { location: to } })]),
  );
  await using server = serve(pages);
  const { resolveHost } = resolver({ "inside.test": ["10.1.2.3"], "outside.test": ["127.0.0.1"] });
  const tool = createReadUrl({ resolveHost });
  for (const index of targets.keys()) {
    const url = `http://outside.test:${server.port}/${index}`;
    const { status, text } = await runWeb(tool, { url }, { allowHosts: ["outside.test"] });
    expect({ to: targets[index], status }).toEqual({ to: targets[index], status: "failed" });
    expect(text).toMatch(/Redirected to|four decimal|user name|only http/);
  }
  expect(server.seen).toHaveLength(targets.length);
});

test("W08 a name that resolves inside is refused, also with one public address beside it", async () => {
  const { resolveHost } = resolver({ "a.test": ["127.0.0.1"], "b.test": ["93.184.216.34", "10.0.0.7"], "c.test": [] });
  const tool = createReadUrl({ resolveHost });
  expect((await runWeb(tool, { url: "http://a.test/" })).text).toMatch(/a\.test leads to a loopback address.*web\.allow_hosts/);
  expect((await runWeb(tool, { url: "http://b.test/" })).text).toMatch(/b\.test leads to a private address/);
  expect((await runWeb(tool, { url: "http://c.test/" })).text).toMatch(/no host of that name/);
});

test("W08 the connection goes to the address that was checked: the name is resolved once a hop, the Host header keeps it", async () => {
  await using server = serve({ "/x": (request) => new Response(`host ${request.headers.get("host")}`) });
  let asked = 0;
  // A name that changes its mind: public when checked, somewhere else when asked again.
  const resolveHost = async () => (asked++ === 0 ? ["127.0.0.1"] : ["127.0.0.99"]);
  const tool = createReadUrl({ resolveHost });
  const url = `http://rebind.test:${server.port}/x`;
  const { status, text } = await runWeb(tool, { url }, { allowHosts: [`rebind.test:${server.port}`] });
  expect({ status, asked }).toEqual({ status: "ok", asked: 1 });
  expect(text).toContain(`host rebind.test:${server.port}`);
});

test("W08 allowed hosts are exact, with or without a port", async () => {
  await using server = serve({ "/": () => new Response("hello") });
  const url = `${server.url}/`;
  for (const entry of ["127.0.0.1", `127.0.0.1:${server.port}`]) expect((await read(url, [entry])).status).toBe("ok");
  for (const entry of ["127.0.0.1:1", "127.0.0", "7.0.0.1", "", ":", "[", "*"])
    expect((await read(url, [entry])).status).toBe("failed");
});

test("no proxy, no cookies, nothing of the user's", async () => {
  await using server = serve({
    "/": () => new Response("", { status: 302, headers: { location: "/next", "set-cookie": "id=1; Path=/" } }),
    "/next": () => new Response("there"),
  });
  for (const name of PROXIES) process.env[name] = "http://127.0.0.1:1";
  expect((await read(`${server.url}/`)).status).toBe("ok");
  const [first, second] = server.seen;
  expect(second?.line).toBe("GET /next");
  for (const request of [first, second]) {
    for (const name of ["cookie", "authorization", "referer"]) expect(request?.headers.get(name)).toBeNull();
  }
});

test("https: the certificate must be valid for the name, although the connection goes to an address", async () => {
  const dir = (await Bun.$`mktemp -d`.text()).trim();
  try {
    await Bun.$`openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ${dir}/k.pem -out ${dir}/c.pem -days 2 -subj /CN=pinned.test -addext subjectAltName=DNS:pinned.test`.quiet();
    const [cert, key] = [await Bun.file(`${dir}/c.pem`).text(), await Bun.file(`${dir}/k.pem`).text()];
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, tls: { cert, key }, fetch: () => new Response("sealed") });
    const { resolveHost } = resolver({ "pinned.test": ["127.0.0.1"], "other.test": ["127.0.0.1"] });
    const ask = async (host: string, ca?: string) => {
      const tool = createReadUrl({ resolveHost, ...(ca !== undefined && { ca }) });
      return runWeb(tool, { url: `https://${host}:${server.port}/` }, { allowHosts: [host] });
    };
    expect((await ask("pinned.test", cert)).text).toContain("sealed");
    expect((await ask("other.test", cert)).text).toMatch(/certificate is not valid/);
    expect((await ask("pinned.test")).text).toMatch(/certificate is not valid/);
    await server.stop(true);
  } finally {
    await Bun.$`rm -r ${dir}`.quiet();
  }
});

test("W09 five redirects are followed, a sixth is not; a circle ends", async () => {
  const hop = (to: string) => () => new Response("", { status: 301, headers: { location: to } });
  await using server = serve({
    ...Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`/${index + 1}`, hop(index === 0 ? "/end" : `/${index}`)])),
    "/end": () => new Response("arrived"),
    "/circle": hop("/circle"),
  });
  const five = await read(`${server.url}/5`);
  expect(five.text).toContain("arrived");
  expect(five.text).toContain(`URL: ${server.url}/end`);
  for (const path of ["/6", "/20", "/circle"]) {
    expect((await read(`${server.url}${path}`)).text).toMatch(/more than 5 redirects/);
  }
});

test("W09 an endless body is cut off while it streams, and the connection closed", async () => {
  let sent = 0;
  await using server = await serveRaw((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n");
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    const more = (): void => {
      while (!socket.destroyed) {
        sent += 65_536;
        if (!socket.write(chunk)) return void socket.once("drain", more);
      }
    };
    more();
  });
  const { status, text } = await read(`${server.url}/`);
  expect({ status, text }).toEqual({ status: "failed", text: expect.stringContaining("larger than 5 MiB") });
  await server.closed;
  expect(sent).toBeLessThan(4 * MAX_BODY_BYTES);
});

test("W09 a declared length over the limit is not read", async () => {
  await using server = await serveRaw((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 99999999999\r\n\r\n");
  });
  expect((await read(`${server.url}/`)).text).toContain("larger than 5 MiB");
  await server.closed;
});

test("W09 the limit counts after decompression: gzip, deflate and brotli bombs", async () => {
  const bomb = Buffer.alloc(16 * 1024 * 1024, "a");
  await using server = serve({
    "/gzip": () => typed(gzipSync(bomb), "text/plain", { "content-encoding": "gzip" }),
    "/deflate": () => typed(deflateSync(bomb), "text/plain", { "content-encoding": "deflate" }),
    "/br": () =>
      typed(brotliCompressSync(bomb, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }), "text/plain", {
        "content-encoding": "br",
      }),
  });
  for (const path of ["/gzip", "/deflate", "/br"]) expect((await read(server.url + path)).text).toContain("larger than 5 MiB");
  const [first] = server.seen;
  expect(first?.headers.get("accept-encoding")).toBe("gzip, br");
});

test("compressed pages are read; damaged and unknown encodings fail", async () => {
  const text = "plain words ".repeat(500);
  await using server = serve({
    "/gzip": () => typed(gzipSync(text), "text/plain", { "content-encoding": "gzip" }),
    "/deflate": () => typed(deflateSync(text), "text/plain", { "content-encoding": "deflate" }),
    "/br": () => typed(brotliCompressSync(text), "text/plain", { "content-encoding": "br" }),
    "/bad": () => typed("this is no gzip", "text/plain", { "content-encoding": "gzip" }),
    "/short": () => typed(gzipSync(text).subarray(0, 40), "text/plain", { "content-encoding": "gzip" }),
    "/odd": () => typed(text, "text/plain", { "content-encoding": "rot13" }),
  });
  for (const path of ["/gzip", "/deflate", "/br"]) expect((await read(server.url + path)).text).toContain(text.trim());
  for (const path of ["/bad", "/short"]) expect((await read(server.url + path)).text).toMatch(/damaged|failed/);
  expect((await read(`${server.url}/odd`)).text).toContain("rot13");
});

test("W09 time runs out for a header that never comes and a body that never ends", async () => {
  await using silent = await serveRaw(() => undefined);
  await using dribble = await serveRaw((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\nsome");
  });
  const tool = createReadUrl({ timeoutMs: 150 });
  for (const server of [silent, dribble]) {
    const { status, text } = await runWeb(tool, { url: `${server.url}/` }, { allowHosts: ["127.0.0.1"] });
    expect({ status, text }).toEqual({ status: "failed", text: expect.stringContaining("not complete after 0.15 s") });
    await server.closed;
  }
});

test("a resolver that never answers is given up too; a cancel is a cancel", async () => {
  const never = createReadUrl({ timeoutMs: 50, resolveHost: () => new Promise(() => undefined) });
  expect((await runWeb(never, { url: "http://slow.test/" })).text).toContain("given up");
  await using silent = await serveRaw(() => controller.abort());
  const controller = new AbortController();
  const result = await runWeb(readUrl, { url: `${silent.url}/` }, { allowHosts: ["127.0.0.1"], signal: controller.signal });
  expect(result.status).toBe("cancelled");
  await silent.closed;
});

test("a connection that is refused, or closed in the middle, is a failure", async () => {
  const gone = serve({});
  await gone[Symbol.asyncDispose]();
  expect((await read(`${gone.url}/`)).text).toMatch(/no connection/);
  await using half = await serveRaw((socket) => {
    socket.end("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\nhalf");
  });
  const { status } = await read(`${half.url}/`);
  expect(status).toBe("failed");
});

test("the next address of a host is tried where the first one does not answer", async () => {
  await using server = serve({ "/": () => new Response("found it") });
  const { resolveHost } = resolver({ "two.test": ["127.0.0.77", "127.0.0.1"] });
  const tool = createReadUrl({ resolveHost });
  const { text } = await runWeb(tool, { url: `http://two.test:${server.port}/` }, { allowHosts: ["two.test"] });
  expect(text).toContain("found it");
});

test("W09 other types are refused by name, before they are read", async () => {
  const types = ["image/png", "application/pdf", "application/octet-stream", "video/mp4", "application/zip", "font/woff2"];
  const pages = Object.fromEntries(types.map((type) => [`/${type}`, () => typed("text all the same", type)]));
  await using server = serve({ ...pages, "/nul": () => typed("a\0b", "text/plain") });
  for (const type of types) {
    const { status, text } = await read(`${server.url}/${type}`);
    expect({ type, status, text }).toEqual({ type, status: "failed", text: expect.stringContaining(type) });
  }
  expect(await read(`${server.url}/nul`)).toMatchObject({ status: "failed", text: expect.stringContaining("binary") });
});

test("text, JSON, XML, feeds, YAML and Markdown come as they are", async () => {
  const samples: readonly (readonly [string, string])[] = [
    ["text/plain", "one\ntwo <b>not markup</b>"],
    ["application/json", '{"a": [1, 2]}'],
    ["application/vnd.api+json", '{"a":1}'],
    ["application/xml", "<a><b/></a>"],
    ["application/rss+xml", "<rss><channel/></rss>"],
    ["application/atom+xml", "<feed/>"],
    ["application/yaml", "a: 1"],
    ["text/markdown", "# Head\n\n[x](y)"],
    ["text/csv", "a,b"],
    ["application/javascript", "let a;"],
  ];
  await using server = serve(Object.fromEntries(samples.map(([type, body]) => [`/${type}`, () => typed(body, type)])));
  for (const [type, body] of samples) {
    const { text } = await read(`${server.url}/${type}`);
    expect(text).toBe(`Title: (none)\nURL: ${server.url}/${type}\nStatus: 200 OK (${type})\n\n${body}`);
  }
});

test("W09 the character set: header, byte order mark, meta, XML, and a guess", async () => {
  const latin = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
  const word = "Grüße";
  await using server = serve({
    "/header": () => typed(latin(word), "text/plain; charset=ISO-8859-1"),
    "/quoted": () => typed(latin(word), 'text/plain; charset="iso-8859-1"'),
    "/meta": () =>
      typed(
        latin(`<html><head><meta charset="iso-8859-1"><title>${word}</title></head><body><p>${word}</p></body></html>`),
        "text/html",
      ),
    "/equiv": () =>
      typed(latin(`<meta http-equiv=content-type content="text/html; charset=windows-1252"><p>${word}</p>`), "text/html"),
    "/xml": () => typed(latin(`<?xml version="1.0" encoding="ISO-8859-1"?><a>${word}</a>`), "application/xml"),
    "/bom": () => typed(new Uint8Array(Buffer.from(`\ufeff${word}`, "utf16le")), "text/plain; charset=utf-8"),
    "/guess": () => typed(latin(word), "text/plain"),
    "/unknown": () => typed(new Uint8Array(Buffer.from(word)), "text/plain; charset=klingon"),
    "/sjis": () => typed(new Uint8Array([0x93, 0xfa, 0x96, 0x7b]), "text/plain; charset=shift_jis"),
  });
  for (const path of ["/header", "/quoted", "/meta", "/equiv", "/xml", "/bom", "/guess", "/unknown"]) {
    expect({ path, text: (await read(server.url + path)).text }).toEqual({ path, text: expect.stringContaining(word) });
  }
  expect((await read(`${server.url}/sjis`)).text).toContain("日本");
  expect((await read(`${server.url}/meta`)).text).toStartWith(`Title: ${word}\n`);
});

const ARTICLE = `<nav><a href="/home">Home</a> <a href="/shop">Shop</a></nav>
<article><h1>On thunder</h1>
${"<p>Thunder is the sound that follows lightning, and it is heard, as everybody knows, a little later.</p>".repeat(6)}
<p>See <a href="../storms?page=2#list">storms</a>, <a href="javascript:alert(1)">this</a>, <a href="#top">the top</a> and <a href="mailto:a@b.test">us</a>.</p>
<pre><code class="language-js">const a = "&lt;b&gt;";</code></pre>
<ol><li>first</li><li>second</li></ol>
<table><thead><tr><th>Name</th><th>a|b</th></tr></thead><tbody><tr><td>x</td><td>1</td></tr></tbody></table>
<img src="/bolt.png" alt="a bolt"><img src="data:image/png;base64,AAAA" alt="inline"></article>
<div style="display: none">unseen words</div><p hidden>unseen words</p>
<script>document.title = "changed"; alert("never")</script><style>p { color: red }</style>
<footer>All rights reserved</footer>`;

test("HTML becomes Markdown: the article, links kept and absolute, code, lists, tables; no scripts", async () => {
  await using server = serve({ "/a/b/page": () => html(ARTICLE, "<title>On &amp; about\n thunder</title>") });
  const { status, text } = await read(`${server.url}/a/b/page`);
  expect(status).toBe("ok");
  const lines = text.split("\n");
  expect(lines.slice(0, 4)).toEqual([
    "Title: On & about thunder",
    `URL: ${server.url}/a/b/page`,
    "Status: 200 OK (text/html, as Markdown)",
    "",
  ]);
  expect(text).toContain(`See [storms](${server.url}/a/storms?page=2#list), this, the top and [us](mailto:a@b.test).`);
  expect(text).toContain('```js\nconst a = "<b>";\n```');
  expect(text).toContain("1. first\n2. second");
  expect(text).toContain("| Name | a\\|b |\n| --- | --- |\n| x | 1 |");
  expect(text).toContain(`![a bolt](${server.url}/bolt.png)`);
  for (const absent of ["alert", "color", "base64", "javascript:", "Shop", "<p>", "unseen"]) expect(text).not.toContain(absent);
});

test("a page without an article keeps its links; <base> counts; a type that is not said is looked at", async () => {
  const items = Array.from({ length: 30 }, (_, index) => `<li><a href="doc${index}.html">Document ${index}</a></li>`).join("");
  await using server = serve({
    "/index": () => html(`<h1>All documents</h1><ul>${items}</ul>`, '<base href="/deep/down/">'),
    "/untyped": () =>
      new Response(new TextEncoder().encode("<!DOCTYPE html><title>T</title><p>words</p>"), { headers: { "content-type": "" } }),
  });
  const { text } = await read(`${server.url}/index`);
  for (const index of [0, 29]) expect(text).toContain(`[Document ${index}](${server.url}/deep/down/doc${index}.html)`);
  expect((await read(`${server.url}/untyped`)).text).toMatch(/^Title: T\n[\s\S]*\n\nwords$/);
});

test("hostile HTML ends in time and never throws", async () => {
  const pages: Readonly<Record<string, string>> = {
    deep: `${"<div>".repeat(50_000)}deep words`,
    scripts: `${"<script>".repeat(50_000)}x`,
    comments: "<!--".repeat(50_000),
    angles: "<".repeat(400_000),
    entities: "&".repeat(400_000),
    paragraphs: `${"<p>".repeat(30_000)}end`,
    attribute: `<a href="${"x".repeat(500_000)}`,
    formatting: "<b><i>".repeat(120) + "<p>a".repeat(2000),
    empty: "",
  };
  await using server = serve(Object.fromEntries(Object.entries(pages).map(([name, body]) => [`/${name}`, () => html(body)])));
  for (const name of Object.keys(pages)) {
    const started = performance.now();
    const { status } = await read(`${server.url}/${name}`);
    expect({ name, status }).toEqual({ name, status: "ok" });
    expect(performance.now() - started).toBeLessThan(15_000);
  }
  expect((await read(`${server.url}/deep`)).text).toContain("deep words");
}, 60_000);

test("a long page is cut between characters, and the cut is said", async () => {
  await using server = serve({
    "/long": () => typed("word ".repeat(20_000), "text/plain"),
    "/wide": () => typed("😀".repeat(60_000), "text/plain"),
    "/odd": () => typed(`a${"😀".repeat(40_000)}`, "text/plain"),
    "/gone": () => new Response("gone ".repeat(1000), { status: 410 }),
  });
  const url = `${server.url}/long`;
  const plain = await read(url);
  expect(plain).toMatchObject({ status: "ok", truncated: true });
  expect(plain.text).toEndWith(`[cut: 20,000 of 100,000 characters shown; max_chars up to 60,000 shows more]`);
  expect(DEFAULT_PAGE_CHARS).toBe(20_000);
  const few = await runWeb(readUrl, { url, max_chars: 7 }, { allowHosts: ["127.0.0.1"] });
  expect(few.text).toContain("\n\nword wo\n[cut: 7 of 100,000");
  const wide = await runWeb(readUrl, { url: `${server.url}/wide`, max_chars: 60_000 }, { allowHosts: ["127.0.0.1"] });
  expect(wide.text.isWellFormed()).toBe(true);
  expect(Buffer.byteLength(wide.text)).toBeLessThanOrEqual(65_536);
  expect(wide.text).toMatch(/\[cut: [\d,]+ of 120,000 characters shown; the rest is not reachable/);
  // Where the cut would split a pair, one character less is shown.
  const odd = await runWeb(readUrl, { url: `${server.url}/odd`, max_chars: 100 }, { allowHosts: ["127.0.0.1"] });
  expect(odd.text).toEndWith("[cut: 99 of 80,001 characters shown; max_chars up to 60,000 shows more]");
  expect((await read(`${server.url}/odd`)).text).toEndWith(
    "[cut: 19,999 of 80,001 characters shown; max_chars up to 60,000 shows more]",
  );
  // Of an error page only the beginning is shown, whatever is asked for.
  const gone = `${server.url}/gone`;
  expect((await read(gone)).text).toEndWith("[cut: 2,000 of 5,000 characters shown; the rest is not reachable with read_url]");
  const less = await runWeb(readUrl, { url: gone, max_chars: 10 }, { allowHosts: ["127.0.0.1"] });
  expect(less.text).toEndWith("[cut: 10 of 5,000 characters shown; max_chars up to 2,000 shows more]");
});

test("an error status is a failure that shows what the page says; an empty page is said to be empty", async () => {
  await using server = serve({
    "/gone": () => new Response("it moved to the attic", { status: 410 }),
    "/empty": () => typed("", "text/plain"),
  });
  const gone = await read(`${server.url}/gone`);
  expect(gone.status).toBe("failed");
  expect(gone.text).toMatch(/Status: 410 [\s\S]*it moved to the attic/);
  expect((await read(`${server.url}/empty`)).text).toContain("(the page has no text)");
});

test("which addresses are public", () => {
  for (const address of [
    "8.8.8.8",
    "1.1.1.1",
    "172.15.0.1",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700::1111",
    "64:ff9b::808:808",
  ]) {
    expect({ address, kind: specialAddress(address) }).toEqual({ address, kind: undefined });
  }
  for (const address of [
    "::127.0.0.1",
    "::ffff:8.8.8.8",
    "2001::1",
    "2001:db8::1",
    "fec0::1",
    "198.18.0.1",
    "192.0.2.1",
    "240.0.0.1",
    "4000::1",
    "fe80::1%eth0",
    "x",
  ]) {
    expect({ address, kind: specialAddress(address) }).toEqual({ address, kind: expect.any(String) });
  }
});

test("a long address in a message is never cut inside a character", () => {
  for (let lead = 0; lead < 2; lead++) {
    const shown = quote(`${"x".repeat(198 + lead)}😀😀`);
    expect([shown.isWellFormed(), shown.endsWith("…")]).toEqual([true, true]);
  }
});
