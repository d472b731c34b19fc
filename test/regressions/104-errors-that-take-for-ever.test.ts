/** What a server says of an error was looked at by patterns that took minutes for 64 KiB of the right words; so did some texts of files. */
import { expect, test } from "bun:test";
import { formatSource } from "../../src/context/format.ts";
import { mentionedPaths } from "../../src/context/mention.ts";
import { scanText } from "../../src/context/scan.ts";
import { failureOfStatus } from "../../src/provider/failure.ts";

const SIZE = 64 * 1024;
const fill = (words: string): string => words.repeat(SIZE / words.length);

for (const words of ["exceed", "tokens per ", `retrydelay${" ".repeat(SIZE)}`, "wait 1s1s1s ", "try again in 1 s and ", "1"]) {
  test(`an error of many ${JSON.stringify(words.slice(0, 20))}`, () => {
    const found = failureOfStatus("host", 500, fill(words) || words, new Headers(), 0);
    expect(found.class).not.toBe("context_overflow");
  });
}

test("what they are for is found as before", () => {
  const say = (message: string, status = 400) =>
    failureOfStatus("host", status, JSON.stringify({ error: { message } }), new Headers(), 0);
  expect(say("Input exceeds the model's context window").class).toBe("context_overflow");
  expect(say("this exceeded by far the prompt token limit").class).toBe("context_overflow");
  expect(say("on tokens per min (TPM): Limit 30000, Requested 45000.", 429).class).toBe("context_overflow");
  expect(say("Please try again in 1h2m", 429).retryAfterMs).toBe(3_720_000);
  expect(say('"retryDelay": "34s"', 429).retryAfterMs).toBe(34_000);
});

test("long lines of a file and of a prompt", () => {
  expect(scanText(`a\n${" ".repeat(SIZE)}!\n`).findings).toEqual([]);
  expect(mentionedPaths(fill("a.b-"))).toEqual([]);
  expect(mentionedPaths("see src/a.ts and ~/b")).toEqual(["src/a.ts", "~/b"]);
  const info = {
    path: "/a",
    scope: ".",
    origin: "root",
    contentHash: "",
    byteCount: 0,
    truncated: false,
    state: "visible",
    reason: "",
  } as const;
  expect(formatSource({ info, body: `${"\n".repeat(SIZE * 4)}x\n\n` })).toEndWith("\nx\n</source>");
});
