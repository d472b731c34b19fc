/** What is done for a request while it is being made: a connection on this machine, a name elsewhere. */
import { afterAll, afterEach, expect, spyOn, test } from "bun:test";
import { networkConnect } from "../../src/provider/http.ts";

const connected = spyOn(fetch, "preconnect").mockImplementation(() => {});
const looked = spyOn(Bun.dns, "prefetch").mockImplementation(() => {});
afterEach(() => {
  connected.mockClear();
  looked.mockClear();
});

afterAll(() => {
  connected.mockRestore();
  looked.mockRestore();
});

test.each(["http://127.0.0.1:11434", "http://localhost:8080", "http://[::1]:1"])("%s: the connection is opened", (origin) => {
  networkConnect(origin);
  expect(connected.mock.calls).toEqual([[origin]]);
  expect(looked.mock.calls).toEqual([]);
});

test.each([
  ["https://api.example.com", "api.example.com", 443],
  ["http://model.lan", "model.lan", 80],
  ["https://model.lan:8443", "model.lan", 8443],
])("%s: the name is looked up, and no connection is wasted", (origin, host, port) => {
  networkConnect(origin);
  expect(connected.mock.calls).toEqual([]);
  expect(looked.mock.calls).toEqual([[host, port]]);
});

test("what goes wrong is left to the request", () => {
  looked.mockImplementationOnce(() => {
    throw new Error("no such name");
  });
  networkConnect("https://api.example.com");
  networkConnect("null");
  expect(connected.mock.calls).toEqual([]);
});
