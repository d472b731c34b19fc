import { describe, expect, test } from "bun:test";
import { childEnvironment } from "../../src/base/child-env.ts";
import { looksSecret } from "../../src/base/secret-names.ts";

const SECRETS = `
  OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_APIKEY OPENCODE_GO_KEY GITHUB_TOKEN GH_TOKEN NPM_TOKEN AWS_SECRET_ACCESS_KEY
  AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN CLIENT_SECRET PGPASSWORD MYSQL_PWD DB_PASS GITLAB_PAT npm_config__auth
  npm_config_//r/:_authToken npm_config_//r/:_password SSH_PASSPHRASE
  OPENAI_API_KEY_2 OPENAI_API_KEY2 OPENAI_API_KEYS GEMINI_API_KEY_BACKUP AWS_BEARER_TOKEN_BEDROCK GROQ_KEYS GROQ_KEY_1 MY_TOKEN_PROD
  SECRET_KEY_BASE GOOGLE_CREDENTIALS GOOGLE_CREDENTIALS_JSON AZURE_CREDENTIALS DOCKER_AUTH_CONFIG CI_JOB_JWT CI_JOB_JWT_V2
  SSH_PRIVATE_KEY_PEM DEPLOY_KEY_BASE64 ANTHROPIC_CUSTOM_HEADERS OTEL_EXPORTER_OTLP_HEADERS TF_TOKEN_app_terraform_io
  VAULT_SECRET_ID SYSTEM_ACCESSTOKEN NODE_AUTH_TOKEN apiKey openaiApiKey DB_PASSWORD_TEST DB_PASS_PROD TOKEN SECRET PASSWORD
  VAULT_UNSEAL_KEY_1 SOPS_AGE_KEY ACTIONS_ID_TOKEN_REQUEST_TOKEN SESSION_COOKIE AWS_SECRET_ACCESS_KEY_DEV STRIPE_SECRETS
  MAX_BOT_TOKEN AWSACCESSKEYID S3_ACCESSKEYID`
  .trim()
  .split(/\s+/);

const ORDINARY = `
  PATH PWD OLDPWD INIT_CWD KEY KEYBOARD KEYMAP KEYTIMEOUT AUTHOR GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL SSH_AUTH_SOCK XAUTHORITY
  TOKENIZERS_PARALLELISM GIT_ASKPASS MAX_TOKENS CLAUDE_CODE_MAX_OUTPUT_TOKENS TOKEN_LIMIT PASSWORD_STORE_DIR
  AWS_SHARED_CREDENTIALS_FILE AWS_WEB_IDENTITY_TOKEN_FILE ANSIBLE_VAULT_PASSWORD_FILE SOPS_AGE_KEY_FILE SSH_KEY_PATH
  CREDENTIALS_DIRECTORY CARGO_REGISTRY_CREDENTIAL_PROVIDER NEXT_PUBLIC_KEY VITE_PUBLISHABLE_KEY CACHE_KEY ACTIONS_ID_TOKEN_REQUEST_URL
  PGPASSFILE KUBECONFIG DOCKER_CONFIG NEXTAUTH_URL JWT_ALGORITHM MONKEY_PATCH COMPATIBILITY PATTERN XDG_CONFIG_HOME AUTHORIZED
  GNOME_KEYRING_CONTROL PASSENGER_APP_ENV HOTKEYS SECRETARY PKG_CONFIG_PATH NODE_PATH BYPASS COMPASS TOKENS_PER_MINUTE_LIMIT
  GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_CONFIG_KEY_12 GIT_CONFIG_COUNT PASSWORD_STORE_GPG_OPTS PASSWORD_STORE_CLIP_TIME
  CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE AZURE_TOKEN_CREDENTIALS BORG_PASSPHRASE_FD CARGO_CREDENTIAL_ALIAS_MINE SECRET_KEY_BASE_DUMMY
  TOKEN_SERVICE_PORT_80_TCP TOKEN_SERVICE_PORT_80_TCP_ADDR SECRETS_API_PORT_443_TCP_PROTO TOKEN_SERVICE_SERVICE_HOST`
  .trim()
  .split(/\s+/);

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

  test.each(SECRETS)("%s is dropped", (name) => {
    expect([looksSecret(name), name in childEnvironment({ [name]: "v" })]).toEqual([true, false]);
  });

  test.each(ORDINARY)("%s is inherited", (name) => {
    expect([looksSecret(name), name in childEnvironment({ [name]: "v" })]).toEqual([false, true]);
  });

  test("what may be a file of credentials is inherited when it is one", () => {
    const name = "GOOGLE_APPLICATION_CREDENTIALS";
    expect(childEnvironment({ [name]: "/etc/key.json" })[name]).toBe("/etc/key.json");
    for (const path of ["keys/sa.json", "service-account.json", "/home/My User/sa.json", "C:\\keys\\sa.json"])
      expect(childEnvironment({ [name]: path })[name]).toBe(path);
    for (const secret of ['{"private_key":"x"}', "AbC/dEf+1", "user:pass"])
      expect(name in childEnvironment({ [name]: secret })).toBe(false);
    expect("CLIENT_SECRET" in childEnvironment({ CLIENT_SECRET: "/etc/key" })).toBe(false);
  });

  test("a switch or a small number is no secret, whatever it is called", () => {
    const env = childEnvironment({ SECRET_DETECTION_HISTORIC_SCAN: "true", MY_TOKEN: "0", DB_PASSWORD: "1234" });
    expect(env).toMatchObject({ SECRET_DETECTION_HISTORIC_SCAN: "true", MY_TOKEN: "0" });
    expect("DB_PASSWORD" in env).toBe(false);
  });

  test("git's idea of its repository stays here, whatever git of this machine lists; its settings go along", () => {
    const listed = Bun.spawnSync(["git", "rev-parse", "--local-env-vars"]).stdout.toString().trim().split("\n");
    const kept = ["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"];
    const named = ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_QUARANTINE_PATH"];
    const source = Object.fromEntries(
      [...listed, ...named, ...kept, "GIT_AUTHOR_NAME", "GIT_SSH_COMMAND"].map((name) => [name, "v"]),
    );
    const passed = Object.keys(childEnvironment(source)).filter((name) => name in source);
    expect(passed.sort()).toEqual(["GIT_AUTHOR_NAME", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_SSH_COMMAND"]);
    expect(childEnvironment(source, { allow: ["GIT_DIR"] }).GIT_DIR).toBe("v");
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
