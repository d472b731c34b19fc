/** Authorization servers that refuse before they look at the request send the browser back with an error and no state. */
import { expect, test } from "bun:test";
import { listenForBrowser } from "../../src/mcp/login.ts";

test("an error without a state ends the login; anything else without it is nobody's answer", async () => {
  await using browser = listenForBrowser();
  const answer = browser.answer("abc", new AbortController().signal);
  for (const query of ["code=stolen", "code=stolen&state=other", "error=server_error&state=other", ""]) {
    expect((await fetch(`${browser.redirectUrl}?${query}`)).status).toBe(400);
  }
  const page = await fetch(`${browser.redirectUrl}?error=server_error`);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain("refused");
  expect((await answer).get("error")).toBe("server_error");
  expect((await fetch(`${browser.redirectUrl}?error=server_error`)).status).toBe(400);
});
