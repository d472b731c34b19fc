/**
 * Text of strangers that took minutes instead of a blink, because a regular expression looked at each of its blanks once for every
 * blank before it: a page of unclosed tags held up `read_url` beyond every time limit. Each case here hung; now each is a blink.
 */
import { expect, test } from "bun:test";
import { sayCommand } from "../../src/tools/command-text.ts";
import { plainText } from "../../src/tools/page-plain.ts";
import { decodePage, sniffKind } from "../../src/tools/page-text.ts";
import { compilePattern } from "../../src/tools/pattern.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";

const BLANKS = " ".repeat(400_000);

test("a page of unclosed tags is read within the time limit of its run", async () => {
  const page = `${"<i> ".repeat(160_000)}words`;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(page, { headers: { "content-type": "text/html" } }),
  });
  try {
    const url = `http://127.0.0.1:${server.port}/`;
    await using model = await startModel([{ calls: [{ name: "read_url", arguments: { url } }] }, { text: "done" }]);
    const env = { ...model.env, THNDRS_WEB_ALLOW_HOSTS: `127.0.0.1:${server.port}` };
    const result = await runThndrs({ args: ["-p", "--timeout", "10s", "go"], env, timeoutMs: 60_000 });
    expect(result).toMatchObject({ code: 0, stdout: "done\n" });
    expect(model.server.requests[1]?.body.messages.at(-1).content).toContain("words");
  } finally {
    server.stop(true);
  }
}, 60_000);

test("bare text has no blanks round its lines", () => {
  expect(plainText(`<i> a <i> ${"<i> ".repeat(200_000)}<p> b <p>  <p><p> c ${"<i> ".repeat(200_000)}`)).toBe("a\nb\n\nc");
});

test("what kind of page it is: comments in any number, and blanks", () => {
  expect(sniffKind(`${"<!---->".repeat(500)}<html>`)).toBe("html");
  expect(sniffKind(`\n<!-- a > b --> <!-- -->\n<!DOCTYPE html>`)).toBe("html");
  for (const end of "abcdefgh") expect(sniffKind(`${"<!---->".repeat(580)}${end}`)).toBe("text");
  expect(sniffKind("<!-- never closed <html>")).toBe("text");
});

test("the character set a page declares behind many tags and blanks", () => {
  const head = `${"<meta".repeat(95)} charset=${" ".repeat(3500)}`;
  for (let time = 0; time < 10; time++) expect(decodePage(Buffer.from(`${head}>é`), undefined)).toEndWith("é");
  expect(decodePage(Buffer.from("<meta charset = ' windows-1251'>\u00ff", "latin1"), undefined)).toEndWith("я");
});

test("a command of blanks, and a repetition count of blanks", () => {
  expect(sayCommand(["a", `b${BLANKS}c`])).toHaveLength(201);
  expect(sayCommand(["a \n\t b", "c\n"])).toBe("'a ⏎ b' 'c ⏎ '");
  expect(compilePattern(`(?x)a{1,${BLANKS}`, false, false).ok).toBe(false);
  for (const [pattern, fits, not] of [
    ["(?x)^a{ 1 , 2 }$", "aa", "aaa"],
    ["(?x)^a{ 2 , }$", "aaa", "a"],
    ["(?x)^a{ 3 }$", "aaa", "aa"],
  ] as const) {
    const compiled = compilePattern(pattern, false, false);
    expect([fits, not].map((line) => compiled.ok && compiled.matcher.find(line) !== undefined)).toEqual([true, false]);
  }
});
