/** A proxy of the environment that cannot be used is told as what it is, not as the server. */
import { expect, test } from "bun:test";
import { listModels } from "../../src/provider/listing.ts";
import { failureOfProxy, type ProxyEnv } from "../../src/provider/proxy.ts";
import { collect, settingsFor, testProvider } from "../support/wire/stream.ts";

const refused = Object.assign(new Error("Unable to connect."), { code: "ECONNREFUSED" });
const unsupported = Object.assign(new TypeError("UnsupportedProxyProtocol fetching"), { code: "UnsupportedProxyProtocol" });
const told = (address: string, error: unknown, env: ProxyEnv) => failureOfProxy(new URL(address), error, env);

test("a kind of proxy that cannot be used: said, with what helps, and not tried again", async () => {
  const settings = settingsFor("chat", "https://api.mock.test/v1");
  let tries = 0;
  const fetch = () => {
    tries += 1;
    return Promise.reject(unsupported);
  };
  const env = { HTTPS_PROXY: "socks5://user:secret@proxy.test:1080" };
  const retry = { maxTries: 8, capMs: 0, maxRetryAfterMs: 0 };
  const { failure } = await collect(testProvider(settings, { fetch, env, retry }));
  expect([failure?.class, tries]).toEqual(["protocol", 1]);
  expect(failure?.message).toBe(
    "cannot reach api.mock.test: HTTPS_PROXY names a socks5 proxy, and only http:// and https:// ones can be used; change it, or add api.mock.test to NO_PROXY",
  );
  const listing = await listModels(settings, { userAgent: "t", fetch, env }, new AbortController().signal);
  expect(listing).toMatchObject({ ok: false, failure: { message: failure?.message } });
});

test("a proxy that is not there is named, without its password", () => {
  const failure = told("http://mock.test/v1", refused, { http_proxy: "http://user:secret@proxy.test:3128" });
  expect(failure?.class).toBe("network");
  expect(failure?.message).toBe(
    "cannot reach proxy.test:3128, the proxy for mock.test (http_proxy): the connection was refused; start it, correct http_proxy, or add mock.test to NO_PROXY",
  );
  expect(told("http://mock.test/v1", refused, { ALL_PROXY: "proxy.test:1" })?.message).toContain("proxy.test:1");
  const both = { all_proxy: "socks5://socks.test:1", ALL_PROXY: "HTTP://proxy.test:1" };
  expect(told("https://mock.test/v1", refused, both)?.message).toContain("(ALL_PROXY)");
});

test.each([
  ["no proxy", "http://mock.test", {}],
  ["one for another scheme", "https://mock.test", { HTTP_PROXY: "http://proxy.test" }],
  ["an empty one", "http://mock.test", { HTTP_PROXY: " " }],
  ["one for all that the runtime does without", "http://mock.test", { ALL_PROXY: "socks5://proxy.test:1" }],
  ["one for all in small letters, of a kind that is no proxy", "https://mock.test", { all_proxy: " socks5h://proxy.test" }],
  ["this machine", "http://127.0.0.1:1", { HTTP_PROXY: "http://proxy.test" }],
  ["an exempt host", "http://a.mock.test", { HTTP_PROXY: "http://proxy.test", NO_PROXY: "x, .mock.test" }],
  ["an exempt port", "http://mock.test:81", { HTTP_PROXY: "http://proxy.test", no_proxy: "mock.test:81" }],
  ["all exempt", "http://mock.test", { HTTP_PROXY: "http://proxy.test", NO_PROXY: "*" }],
])("the server is told as itself with %s", (_, address, env: ProxyEnv) => {
  expect(told(address, refused, env)).toBeUndefined();
});

test("other failures are the server's", () => {
  const reset = Object.assign(new Error("reset"), { code: "ECONNRESET" });
  expect(told("http://mock.test", reset, { HTTP_PROXY: "http://proxy.test" })).toBeUndefined();
});
