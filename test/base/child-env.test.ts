import { describe, expect, test } from "bun:test";
import { childEnvironment, looksSecret } from "../../src/base/child-env.ts";

describe("H11 what children inherit", () => {
  test("ordinary variables pass, undefined ones do not", () => {
    const env = childEnvironment({
      PATH: "/bin",
      HOME: "/h",
      LANG: "C",
      SSH_AUTH_SOCK: "/s",
      NODE_OPTIONS: "--max-old-space-size=1",
      X: undefined,
    });
    expect(env).toMatchObject({
      PATH: "/bin",
      HOME: "/h",
      LANG: "C",
      SSH_AUTH_SOCK: "/s",
      NODE_OPTIONS: "--max-old-space-size=1",
    });
    expect("X" in env).toBe(false);
  });

  test("names that say secret are dropped, look-alikes are not", () => {
    for (const name of [
      "OPENAI_API_KEY",
      "ANTHROPIC_API_KEY",
      "GEMINI_APIKEY",
      "OPENCODE_GO_KEY",
      "GITHUB_TOKEN",
      "GH_TOKEN",
      "NPM_TOKEN",
      "AWS_SECRET_ACCESS_KEY",
      "AWS_ACCESS_KEY_ID",
      "AWS_SESSION_TOKEN",
      "CLIENT_SECRET",
      "PGPASSWORD",
      "MYSQL_PWD",
      "DB_PASS",
      "GITLAB_PAT",
      "npm_config__auth",
      "npm_config_//r/:_authToken",
      "SSH_PASSPHRASE",
    ]) {
      expect([name, looksSecret(name)]).toEqual([name, true]);
    }
    for (const name of [
      "PWD",
      "OLDPWD",
      "KEY",
      "SSH_AUTH_SOCK",
      "XAUTHORITY",
      "GIT_ASKPASS",
      "KEYBOARD",
      "TOKENIZERS_PARALLELISM",
      "PATH",
    ]) {
      expect([name, looksSecret(name)]).toEqual([name, false]);
    }
  });

  test("provider keys are dropped whatever they are called; the allow-list lets exact names through", () => {
    const source = { ODD: "1", GITHUB_TOKEN: "t", NPM_TOKEN: "n" };
    expect(Object.keys(childEnvironment(source, { credentialNames: ["ODD"] }))).not.toContain("ODD");
    const env = childEnvironment(source, { allow: ["GITHUB_TOKEN"], credentialNames: ["ODD"] });
    expect(env.GITHUB_TOKEN).toBe("t");
    expect(env.NPM_TOKEN).toBeUndefined();
  });

  test("B03 no BUN_ switch passes, not even when allowed; thndrs' own only where harmless", () => {
    const source = {
      BUN_OPTIONS: "--preload x",
      BUN_BE_BUN: "1",
      bun_x: "1",
      THNDRS_WEB_THING: "s",
      THNDRS_HOME: "/t",
      THNDRS_PROCESS: "m",
    };
    const env = childEnvironment(source, { allow: ["BUN_OPTIONS", "BUN_BE_BUN"] });
    expect(
      Object.keys(env)
        .filter((name) => /^(bun|thndrs)_/i.test(name))
        .sort(),
    ).toEqual(["THNDRS_HOME", "THNDRS_PROCESS"]);
  });
});

test("H05 H10 nothing may prompt, page, edit or colour, whatever the user has set", () => {
  const env = childEnvironment({
    EDITOR: "vim",
    GIT_SEQUENCE_EDITOR: "true",
    PAGER: "less",
    FORCE_COLOR: "1",
    COLORTERM: "x",
    TERM: "xterm",
    GPG_TTY: "/dev/tty",
  });
  expect(env).toMatchObject({
    TERM: "dumb",
    NO_COLOR: "1",
    PAGER: "cat",
    GIT_PAGER: "cat",
    EDITOR: "false",
    VISUAL: "false",
    GIT_EDITOR: "false",
    GIT_SEQUENCE_EDITOR: "false",
    GIT_TERMINAL_PROMPT: "0",
  });
  for (const gone of ["FORCE_COLOR", "COLORTERM", "GPG_TTY"]) expect(gone in env).toBe(false);
});
