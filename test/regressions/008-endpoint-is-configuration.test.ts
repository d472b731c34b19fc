/**
 * A base URL that is none (`127.0.0.1:8080`, `file:///…`) and a key with a line break are configuration: they ended a run that had
 * already made a session with exit 1 instead of 2. A password in such an address was shown when it had no `//` before it.
 */
import { expect, test } from "bun:test";
import { modelEnv } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

for (const [what, more, says] of [
  ["an address without a scheme", { OPENROUTER_BASE_URL: "127.0.0.1:1/v1" }, "OPENROUTER_BASE_URL"],
  ["another scheme", { OPENROUTER_BASE_URL: "file:///etc/passwd" }, "no http(s) address"],
  ["a password before a wrong address", { OPENROUTER_BASE_URL: "user:hunter22@127.0.0.1:1" }, "no http(s) address"],
  ["a key with a line break", { OPENROUTER_API_KEY: "sk-ab\ncd" }, "OPENROUTER_API_KEY"],
  ["a key with an ellipsis", { OPENROUTER_API_KEY: "sk-ab…" }, "OPENROUTER_API_KEY"],
] as const) {
  test(`${what} is told before there is a session`, async () => {
    await using dir = await tempDir();
    const result = await runThndrs({ args: ["-p", "hi"], cwd: dir.path, env: { ...modelEnv("http://127.0.0.1:1/v1"), ...more } });
    expect(result.code).toBe(2);
    expect(result.stderr).toContain(says);
    expect(result.stderr).not.toMatch(/hunter22|sk-ab/);
    expect([...new Bun.Glob("**/*").scanSync({ cwd: dir.path, dot: true })]).toEqual([]);
  });
}
