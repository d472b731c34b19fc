import { expect, test } from "bun:test";
import { isLoopback } from "../../src/base/loopback.ts";

const hostOf = (url: string): string => new URL(url).hostname;

test("this machine by every name it has, and no other that looks like it", () => {
  const here = [
    "http://localhost:1/",
    "http://127.0.0.1/",
    "http://127.1.2.3:80/",
    "http://[::1]/",
    "http://127.1/",
    "http://0x7f.1/",
  ];
  const elsewhere = [
    "http://127.evil.example/",
    "http://127.0.0.1.example/",
    "http://localhost.example/",
    "http://128.0.0.1/",
    "http://[::2]/",
  ];
  expect(here.map(hostOf).filter((host) => !isLoopback(host))).toEqual([]);
  expect(elsewhere.map(hostOf).filter(isLoopback)).toEqual([]);
});
