/** read_url and web_search through the compiled binary: offered when they can be used, policy and bounds in place. */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";
import { serve } from "../tools/web-server.ts";

type Spec = { readonly function: { readonly name: string } };

async function offered(env: Record<string, string>, ...args: string[]): Promise<readonly string[]> {
  await using model = await startModel([{ text: "ok" }]);
  const result = await runThndrs({ args: ["-p", "hi", ...args], env: { ...model.env, ...env } });
  expect(result.code).toBe(0);
  return (model.server.requests[0]?.body.tools ?? []).map((tool: Spec) => tool.function.name);
}

test("without a backend there is no web_search; under read-only there is no web at all", async () => {
  expect(await offered({})).toEqual(expect.arrayContaining(["read_url", "web_search"]));
  const none = await offered({ THNDRS_WEB_SEARCH: "none" });
  expect(none).toContain("read_url");
  expect(none).not.toContain("web_search");
  const reading = await offered({}, "--authority", "read-only");
  for (const name of ["read_url", "web_search"]) expect(reading).not.toContain(name);
});

test("W08 W09 a page of an allowed host is read as Markdown; inside addresses are not, whatever the proxy says", async () => {
  await using dir = await tempDir();
  await using site = serve({
    "/page": () =>
      new Response("<title>A page</title><p>Some <b>bold</b> words and <a href='/next'>a link</a>.</p>", {
        headers: { "content-type": "text/html" },
      }),
    "/away": () => new Response("", { status: 302, headers: { location: "http://169.254.169.254/latest/" } }),
  });
  const read = (url: string) => ({ name: "read_url", arguments: { url } });
  const calls = [
    read(`${site.url}/page`),
    read(`${site.url}/away`),
    read(`http://localhost:${site.port}/page`),
    read("file:///etc/hostname"),
  ];
  await using model = await startModel([{ calls }, { text: "done" }]);
  const env = {
    ...model.env,
    THNDRS_WEB_ALLOW_HOSTS: "127.0.0.1",
    HTTP_PROXY: "http://127.0.0.1:1",
    http_proxy: "http://127.0.0.1:1",
  };
  const result = await runThndrs({ args: ["-p", "look"], cwd: dir.path, env: { ...env, NO_PROXY: "127.0.0.1" } });
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  const results = model.server.requests[1]?.body.messages.filter((message: { role: string }) => message.role === "tool");
  const [page = "", away = "", local = "", file = ""] = results.map((message: { content: string }) => message.content);
  expect(page).toBe(
    `Title: A page\nURL: ${site.url}/page\nStatus: 200 OK (text/html, as Markdown)\n\nSome **bold** words and [a link](${site.url}/next).`,
  );
  expect(away).toContain("link-local");
  expect(local).toContain("loopback");
  expect(file).toContain("only http and https");
  expect(site.seen.map((request) => request.line)).toEqual(expect.arrayContaining(["GET /page", "GET /away"]));
  expect(site.seen).toHaveLength(2);
});

test("web_search asks the searxng instance of the configuration", async () => {
  await using site = serve({
    "/search": () => Response.json({ results: [{ title: "Hit", url: "https://hit.test/", content: "words" }] }),
  });
  await using model = await startModel([{ calls: [{ name: "web_search", arguments: { query: "thunder" } }] }, { text: "done" }]);
  const env = { ...model.env, THNDRS_WEB_SEARCH: "searxng", THNDRS_WEB_SEARCH_URL: site.url };
  const result = await runThndrs({ args: ["-p", "search"], env });
  expect(result).toMatchObject({ code: 0, stdout: "done\n" });
  expect(model.server.requests[1]?.body.messages.at(-1).content).toContain("1. Hit\n   https://hit.test/\n   words");
});

test("a backend without its key is no tool, and said once", async () => {
  for (const [backend, what] of [
    ["brave", "BRAVE_API_KEY"],
    ["exa", "EXA_API_KEY"],
  ] as const) {
    await using model = await startModel([{ text: "ok" }]);
    const { code, stderr } = await runThndrs({ args: ["-p", "hi"], env: { ...model.env, THNDRS_WEB_SEARCH: backend } });
    expect(code).toBe(0);
    expect(stderr).toContain(`${what} is not set`);
    expect(model.server.requests[0]?.body.tools.map((tool: Spec) => tool.function.name)).not.toContain("web_search");
    expect(
      await offered({
        THNDRS_WEB_SEARCH: backend,
        THNDRS_WEB_SEARCH_URL: "http://127.0.0.1:1",
        BRAVE_API_KEY: "k",
        EXA_API_KEY: "k",
      }),
    ).toContain("web_search");
  }
});
