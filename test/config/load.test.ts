/** cli.md, Configuration: precedence, origins, strict errors. */
import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findHomes } from "../../src/config/homes.ts";
import { keys, variableOf } from "../../src/config/keys.ts";
import { makePlace } from "./place.ts";

test("defaults are the ones the specification names", async () => {
  using place = makePlace();
  const { config, diagnostics, settings } = await place.load();
  expect(diagnostics).toEqual([]);
  expect(settings).toEqual([]);
  expect(config.model).toBeUndefined();
  expect(config.providers).toEqual({});
  expect(config.context).toEqual({
    enabled: true,
    filenames: ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md"],
    maxChars: 20_000,
    ownMaxChars: 20_000,
    maxDiscoveredChars: 8_000,
    maxTotalChars: 100_000,
    ancestors: true,
    scan: "block",
  });
  expect(config.stallTimeoutMs).toBe(120_000);
  expect(config.retry).toEqual({ maxTries: 8, capMs: 60_000, maxRetryAfterMs: 300_000 });
  expect(config.compaction).toEqual({ mode: "auto", review: "auto", threshold: 0.92, keepRecentTokens: 20_000 });
  expect(config.mcp).toEqual({ startTimeoutMs: 5_000, servers: {} });
  expect(config.authority).toBe("workspace-write");
  expect(config.approval).toBe("never");
  expect(Object.isFrozen(config) && Object.isFrozen(config.context) && Object.isFrozen(config.context.filenames)).toBe(true);
});

test("precedence: flag over variable over project over user over default, with origins", async () => {
  using place = makePlace();
  place.user('model = "a/user"\n[context]\nmax_chars = 1\nmax_discovered_chars = 1\nmax_total_chars = 1\n');
  place.project('model = "a/project"\n[context]\nmax_chars = 2\nmax_discovered_chars = 2\n');
  await place.trust();
  const env = { THNDRS_MODEL: "a/env", THNDRS_CONTEXT_MAX_CHARS: "3" };
  const { config } = await place.load({ model: "a/flag" }, env);
  expect(config.model).toBe("a/flag");
  expect(config.context.maxChars).toBe(3);
  expect(config.context.maxDiscoveredChars).toBe(2);
  expect(config.context.maxTotalChars).toBe(1);
  expect(config.origins).toEqual({
    model: "flag",
    "context.max_chars": "environment",
    "context.max_discovered_chars": "project",
    "context.max_total_chars": "user",
  });
  expect((await place.load({}, env)).config.model).toBe("a/env");
  expect((await place.load()).config.model).toBe("a/project");
  expect(config.files.map((file) => [file.source, file.trusted, /^xxh64:[0-9a-f]{16}$/.test(file.hash)])).toEqual([
    ["user", true, true],
    ["project", true, true],
  ]);
});

test("every key of every kind is read", async () => {
  using place = makePlace();
  place.user(`
model = "corp/big/one"
reasoning_effort = "high"
authority = "read-only"
approval = "shell"
session_dir = "logs"
stall_timeout = 30
skill_dirs = ["skills", "~/more"]
[context]
filenames = ["ONLY.md"]
ancestors = false
scan = "warn"
[shell]
timeout = "90s"
max_timeout = "1h30m"
env_allow = ["NPM_TOKEN"]
[web]
search = "searxng"
search_url = "http://127.0.0.1:8888/"
allow_hosts = ["wiki.internal"]
[retry]
max_tries = 3
cap = 5
max_retry_after = "1m"
[compaction]
mode = "manual"
review = "always"
threshold = "80%"
keep_recent_tokens = 5000
[providers.corp]
wire = "chat"
base_url = "https://llm.corp.example/v1/"
api_key_env = "CORP_KEY"
headers = { x-team = "\${TEAM}", x-gone = "\${NOT_SET}" }
query = { api-version = "2026-01-01" }
models = ["big/one", "small"]
[models."corp/big/one"]
context_window = 200000
max_output = 8000
price = { input = 1, output = 2.5, cache_read = 0.1 }
[mcp]
start_timeout = "2s"
[mcp.servers.files]
command = "files-server"
args = ["--root", "."]
env = { TOKEN = "\${FILES_TOKEN}" }
cwd = "srv"
timeout_secs = 7
tools = ["read"]
[mcp.servers.web]
url = "https://mcp.example/mcp"
headers = { Authorization = "Bearer \${WEB_TOKEN}" }
enabled = false
[acp.agents.other]
command = "other-agent"
args = ["--acp"]
`);
  const { config, diagnostics } = await place.load({}, { TEAM: "blue", HOME: "/home/somebody" });
  expect(config.model).toBe("corp/big/one");
  expect([config.reasoningEffort, config.authority, config.approval]).toEqual(["high", "read-only", "shell"]);
  expect(config.sessionDir).toBe(join(place.home, "logs"));
  expect(config.stallTimeoutMs).toBe(30_000);
  expect(config.skillDirs).toEqual([join(place.home, "skills"), "/home/somebody/more"]);
  expect(config.context).toMatchObject({ filenames: ["ONLY.md"], ancestors: false, scan: "warn" });
  expect(config.shell).toEqual({ timeoutMs: 90_000, maxTimeoutMs: 5_400_000, envAllow: ["NPM_TOKEN"] });
  expect(config.web).toEqual({ search: "searxng", searchUrl: "http://127.0.0.1:8888", allowHosts: ["wiki.internal"] });
  expect(config.retry).toEqual({ maxTries: 3, capMs: 5_000, maxRetryAfterMs: 60_000 });
  expect(config.compaction).toEqual({ mode: "manual", review: "always", threshold: 0.8, keepRecentTokens: 5_000 });
  expect(config.providers.corp).toEqual({
    name: "corp",
    wire: "openai-chat",
    baseUrl: "https://llm.corp.example/v1",
    apiKeyEnv: "CORP_KEY",
    headers: { "x-team": "blue" },
    query: { "api-version": "2026-01-01" },
    models: ["big/one", "small"],
    defaultModel: "big/one",
  });
  expect(config.models["corp/big/one"]).toEqual({
    contextWindow: 200_000,
    maxOutput: 8_000,
    price: { input: 1, output: 2.5, cacheRead: 0.1 },
  });
  expect(config.mcp.startTimeoutMs).toBe(2_000);
  expect(config.mcp.servers.files).toEqual({
    name: "files",
    command: "files-server",
    args: ["--root", "."],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is what the file says
    env: { TOKEN: "${FILES_TOKEN}" },
    cwd: join(place.home, "srv"),
    headers: {},
    enabled: true,
    timeoutMs: 7_000,
    tools: ["read"],
  });
  expect(config.mcp.servers.web).toMatchObject({ url: "https://mcp.example/mcp", enabled: false, timeoutMs: 20_000 });
  expect(config.acp.agents.other).toEqual({ name: "other", command: "other-agent", args: ["--acp"], env: {}, timeoutMs: 60_000 });
  expect(diagnostics).toEqual([
    {
      severity: "warning",
      code: "config.missing_variable",
      message: "providers.corp.headers.x-gone is left out: $NOT_SET is not set",
    },
  ]);
});

const mistakes: readonly (readonly [string, string, RegExp])[] = [
  ["unknown key", "\n\nmodle = 'a/b'\n", /config\.toml:3: unknown key "modle"; did you mean "model"\?/],
  [
    "unknown key in a table",
    "[context]\n# note\nmax_char = 1\n",
    /:3: unknown key "context\.max_char"; did you mean "context\.max_chars"\?/,
  ],
  ["dotted key", "context.max_char = 1", /:1: unknown key "context\.max_char"; did you mean/],
  [
    "key in the wrong table",
    "[context]\nsession_dirs = 'x'\n",
    /:2: unknown key "context\.session_dirs"; did you mean "session_dir"\?/,
  ],
  ["unknown table", "[provider.x]\nwire = 'chat'\n", /:1: unknown key "provider"; did you mean "providers"\?/],
  [
    "far-off word",
    "[retry]\nzzzzzzzz = 1\n",
    /:2: unknown key "retry\.zzzzzzzz"; valid in \[retry\]: max_tries, cap, max_retry_after/,
  ],
  [
    "after a long string",
    'model = """a/b""" # """\n[context]\nfilenames = [\n "a", # ]\n "b"\n]\nscna = 1\n',
    /:7: unknown key "context\.scna"/,
  ],
  [
    "key of an inline table",
    "providers = { x = { wires = 'chat' } }",
    /:1: unknown key "providers\.x\.wires"; did you mean "providers\.x\.wire"\?/,
  ],
  [
    "quoted names",
    '[models."a/b.c"]\nmax_out = 1\n',
    /:2: unknown key "models\."a\/b\.c"\.max_out"; did you mean "models\."a\/b\.c"\.max_output"\?/,
  ],
  ["wrong type", "[context]\nmax_chars = '9'\n", /:2: "context\.max_chars" must be a whole number from 1 up/],
  ["zero", "[context]\nmax_chars = 0\n", /:2: "context\.max_chars" must be a whole number/],
  [
    "wrong choice",
    "authority = 'readonly'\n",
    /:1: "authority" must be one of read-only, workspace-write \(did you mean "read-only"\?\)/,
  ],
  ["value for a table", "context = 5\n", /:1: "context" must be a table with filenames/],
  ["date", "stall_timeout = 2026-01-01\n", /:1: "stall_timeout" must be seconds or a duration such as "90s"/],
  ["nonsense duration", "stall_timeout = '5 parsecs'\n", /must be seconds or a duration/],
  ["model that is none", "model = '/gpt'\n", /:1: "model" must be PROVIDER\/ID/],
  ["malformed", "model = \n", /config\.toml:1: not valid TOML: invalid value \(column \d+\)/],
  ["repeated key", "model = 'a/b'\nmodel = 'a/c'\n", /config\.toml:2: not valid TOML/],
  ["prototype", "__proto__ = 1\n", /not valid TOML/],
  ["secret", "[providers.x]\napi_key = 'sk-SECRETSECRET'\n", /:2: "providers\.x\.api_key" looks like a secret/],
  ["secret at the top", "OPENAI_API_KEY = 'sk-SECRETSECRET'\n", /:1: "OPENAI_API_KEY" looks like a secret.*thndrs login/],
  [
    "secret in headers",
    "[providers.x.headers]\nAuthorization = 'Bearer SECRETSECRET'\n",
    /must be free of secrets: write Authorization = "\$\{AUTHORIZATION\}"/,
  ],
  [
    "secret in a server's variables",
    "[mcp.servers.x]\ncommand='c'\nenv = { GITHUB_TOKEN = 'SECRETSECRET' }\n",
    /:3: .*\$\{GITHUB_TOKEN\}/,
  ],
  [
    "secret under a harmless name",
    "[mcp.servers.x]\ncommand='c'\nenv = { PLACE = 'AIzaSECRETSECRETSECRETSECRETSECRETSECRET' }\n",
    /:3: .*\$\{PLACE\}/,
  ],
  [
    "key where a variable's name belongs",
    "[providers.x]\napi_key_env = 'sk-SECRETSECRET'\n",
    /must be the name of an environment variable/,
  ],
  [
    "password in an address",
    "[providers.x]\nbase_url = 'https://u:SECRETSECRET@h/v1'\n",
    /must be an http:\/\/ or https:\/\/ address without user name/,
  ],
  ["server without an address", "[mcp.servers.x]\nenabled = true\n", /:2: \[mcp\.servers\.x\] needs either "command" or "url"/],
  ["server with both", "[mcp.servers.x]\ncommand = 'a'\nurl = 'http://h'\n", /needs either "command" or "url", not both/],
  ["searxng without an address", "[web]\nsearch = 'searxng'\n", /:2: web\.search = "searxng" needs web\.search_url/],
  ["provider name with a slash", "[providers.'a/b']\nwire = 'chat'\n", /:1: "a\/b" cannot name a provider/],
];

for (const [name, text, pattern] of mistakes) {
  test(`strict errors: ${name}`, async () => {
    using place = makePlace();
    const file = place.user(text);
    const message = await place.complaint();
    expect(message).toMatch(pattern);
    expect(message).toStartWith(file);
    expect(message).not.toContain("SECRETSECRET");
  });
}

test("strict errors: a project file's too, trusted or not", async () => {
  using place = makePlace();
  place.project("[mcp.servers.x]\ncomand = 'touch'\n");
  expect(await place.complaint()).toMatch(/\.thndrs\/config\.toml:2: unknown key "mcp\.servers\.x\.comand"; did you mean/);
});

test("strict errors: variables", async () => {
  using place = makePlace();
  expect(await place.complaint({}, { THNDRS_MODLE: "a/b" })).toBe(
    "environment: unknown variable THNDRS_MODLE; did you mean THNDRS_MODEL?",
  );
  expect(await place.complaint({}, { THNDRS_CONTEXT_MAX_CHARS: "many" })).toMatch(
    /THNDRS_CONTEXT_MAX_CHARS must be a whole number/,
  );
  expect(await place.complaint({}, { THNDRS_CONTEXT_ANCESTORS: "perhaps" })).toMatch(/THNDRS_CONTEXT_ANCESTORS must be 1, 0/);
});

test("variables that configure nothing are left alone, empty ones count as unset", async () => {
  using place = makePlace();
  const env = { THNDRS_PROCESS: "mark", THNDRS_VERSION: "0.1.0", THNDRS_MODEL: "", THNDRS_AUTHORITY: " " };
  expect((await place.load({}, env)).settings).toEqual([]);
});

test("every static key has a variable, and it works", async () => {
  using place = makePlace();
  const samples: Record<string, string> = {
    THNDRS_MODEL: "a/b",
    THNDRS_REASONING_EFFORT: "low",
    THNDRS_AUTHORITY: "read-only",
    THNDRS_APPROVAL: "all",
    THNDRS_SESSION_DIR: "s",
    THNDRS_STALL_TIMEOUT: "9s",
    THNDRS_SKILL_DIRS: "one:two",
    THNDRS_CONTEXT_FILENAMES: "A.md, B.md",
    THNDRS_CONTEXT_MAX_CHARS: "1",
    THNDRS_CONTEXT_MAX_DISCOVERED_CHARS: "2",
    THNDRS_CONTEXT_MAX_TOTAL_CHARS: "3",
    THNDRS_CONTEXT_ANCESTORS: "off",
    THNDRS_CONTEXT_SCAN: "off",
    THNDRS_SHELL_TIMEOUT: "5",
    THNDRS_SHELL_MAX_TIMEOUT: "6",
    THNDRS_SHELL_ENV_ALLOW: "X",
    THNDRS_WEB_SEARCH: "none",
    THNDRS_WEB_SEARCH_URL: "http://h",
    THNDRS_WEB_ALLOW_HOSTS: "h",
    THNDRS_RETRY_MAX_TRIES: "1",
    THNDRS_RETRY_CAP: "1",
    THNDRS_RETRY_MAX_RETRY_AFTER: "1",
    THNDRS_COMPACTION_MODE: "off",
    THNDRS_COMPACTION_REVIEW: "never",
    THNDRS_COMPACTION_THRESHOLD: "50%",
    THNDRS_COMPACTION_KEEP_RECENT_TOKENS: "7",
    THNDRS_MCP_START_TIMEOUT: "1",
    THNDRS_ACP_PERMISSIONS: "allow",
  };
  const names = keys()
    .map(variableOf)
    .filter((name) => name !== undefined);
  expect(Object.keys(samples).sort()).toEqual([...names].sort());
  const { config, settings } = await place.load({}, samples);
  expect(settings).toHaveLength(names.length);
  expect(settings.every((setting) => setting.origin === "environment")).toBe(true);
  expect(config.sessionDir).toBe(join(place.root, "s"));
  expect(config.skillDirs).toEqual([join(place.root, "one"), join(place.root, "two")]);
  expect(config.context).toMatchObject({ filenames: ["A.md", "B.md"], ancestors: false, scan: "off" });
  expect(config.compaction.threshold).toBe(0.5);
});

test("relative paths start at the declaring file; skill directories add up, nearest first", async () => {
  using place = makePlace();
  place.user('skill_dirs = ["a"]\n');
  place.project('session_dir = "../logs"\nskill_dirs = ["../b"]\n');
  const { config } = await place.load({ skillDir: ["c"] });
  expect(config.sessionDir).toBe(join(place.root, "logs"));
  expect(config.skillDirs).toEqual([join(place.root, "c"), join(place.root, "b"), join(place.home, "a")]);
});

test("a maximum below the time-out is raised to it", async () => {
  using place = makePlace();
  place.user('[shell]\ntimeout = "20m"\n');
  expect((await place.load()).config.shell).toMatchObject({ timeoutMs: 1_200_000, maxTimeoutMs: 1_200_000 });
});

test("a maximum below the default time-out holds for it too", async () => {
  using place = makePlace();
  place.user('[shell]\nmax_timeout = "60s"\n');
  expect((await place.load()).config.shell).toMatchObject({ timeoutMs: 60_000, maxTimeoutMs: 60_000 });
});

test("C13 what a project caps is not the user's own file", async () => {
  using place = makePlace();
  place.project("[context]\nmax_chars = 7\n");
  expect((await place.load()).config.context).toMatchObject({ maxChars: 7, ownMaxChars: 20_000 });
  place.user("[context]\nmax_chars = 9\n");
  expect((await place.load()).config.context).toMatchObject({ maxChars: 7, ownMaxChars: 20_000 });
  place.project("");
  expect((await place.load()).config.context).toMatchObject({ maxChars: 9, ownMaxChars: 9 });
});

test("BOM and CRLF are read; line numbers hold", async () => {
  using place = makePlace();
  place.user("\ufeffmodel = 'a/b'\r\n[context]\r\nmax_chars = 7\r\n");
  expect((await place.load()).config).toMatchObject({ model: "a/b", context: { maxChars: 7 } });
  place.user("model = 'a/b'\r\n[context]\r\nmax_charz = 7\r\n");
  expect(await place.complaint()).toMatch(/:3: unknown key/);
});

test("odd files end with a reason and never block", async () => {
  using place = makePlace();
  mkdirSync(place.home, { recursive: true });
  mkdirSync(place.userFile);
  expect(await place.complaint()).toMatch(/cannot be read: it is a directory/);
  using fifo = makePlace();
  mkdirSync(join(fifo.root, ".thndrs"));
  execFileSync("mkfifo", [fifo.projectFile]);
  expect(await fifo.complaint()).toMatch(/cannot be read: it is not a regular file/);
  using device = makePlace();
  mkdirSync(join(device.root, ".thndrs"));
  symlinkSync("/dev/zero", device.projectFile);
  expect(await device.complaint()).toMatch(/cannot be read: it is not a regular file/);
  using binary = makePlace();
  mkdirSync(binary.home, { recursive: true });
  writeFileSync(binary.userFile, Buffer.from([0x6d, 0xff, 0xfe]));
  expect(await binary.complaint()).toMatch(/is not UTF-8 text/);
  using large = makePlace();
  large.user(`# ${"x".repeat(262_144)}\n`);
  expect(await large.complaint()).toMatch(/larger than 262144 bytes/);
});

test("a file made to be slow is not: depth, dots, lists, tables at the size limit", async () => {
  const size = 250_000;
  const slow = [
    `model = ${"[".repeat(2000)}`,
    `${"a.".repeat(size / 2)}a = 1\n`,
    `model = "${"\\".repeat(size)}"`,
    `skill_dirs = [${'"a",'.repeat(size / 4)}]\n`,
    `[retry]\n${"x".repeat(size)} = 1\n`,
    `model = """${"\n'".repeat(size / 2)}"""\n`,
  ];
  for (const text of slow) {
    using place = makePlace();
    place.project(text);
    const started = performance.now();
    await place.complaint();
    expect(performance.now() - started).toBeLessThan(3000);
  }
  using tables = makePlace();
  tables.project(Array.from({ length: 5000 }, (_, index) => `[models."p/${index}"]\ncontext_window = 5\n`).join(""));
  const started = performance.now();
  expect((await tables.load()).untrusted?.keys).toHaveLength(5000);
  expect(performance.now() - started).toBeLessThan(3000);
});

test("J14 a workspace path with spaces, quotes and non-ASCII; a file where a directory should be", async () => {
  using place = makePlace();
  const root = join(place.root, "a b'c", "é");
  place.write(join(root, ".thndrs", "config.toml"), "[context]\nmax_chars = 5\n");
  const { loadConfig } = await import("../../src/config/load.ts");
  const odd = await loadConfig({ env: { HOME: "/nonexistent" }, flags: {}, cwd: root, workspaceRoot: root });
  expect(odd.config.context.maxChars).toBe(5);
  place.write(join(place.root, ".thndrs"), "a file");
  expect((await place.load()).config.files).toEqual([]);
});

test("B02 .env files of the workspace configure nothing", async () => {
  using place = makePlace();
  for (const name of [".env", ".env.local", ".env.production"])
    place.write(join(place.root, name), "THNDRS_MODEL=evil/model\nTHNDRS_HOME=/tmp/evil\n");
  const { config } = await place.load();
  expect(config.model).toBeUndefined();
});

test("no configuration file: neither the TOML parser nor zod is loaded", async () => {
  using place = makePlace();
  const script = `
    const { loadConfig } = await import(${JSON.stringify(join(import.meta.dir, "../../src/config/load.ts"))});
    await loadConfig({ env: { THNDRS_HOME: ${JSON.stringify(place.home)} }, flags: {}, cwd: ${JSON.stringify(place.root)}, workspaceRoot: ${JSON.stringify(place.root)} });
    const loaded = Object.keys(require.cache).filter((file) => /smol-toml|zod/.test(file));
    console.log(JSON.stringify(loaded));`;
  const run = Bun.spawnSync([process.execPath, "-e", script], { stdout: "pipe", stderr: "pipe" });
  expect(run.stdout.toString().trim()).toBe("[]");
  place.user("model = 'a/b'\n");
  const with_ = Bun.spawnSync([process.execPath, "-e", script], { stdout: "pipe", stderr: "pipe" });
  expect(with_.stdout.toString()).toMatch(/smol-toml/);
  expect(with_.stdout.toString()).not.toMatch(/zod/);
});

test("homes: THNDRS_HOME, XDG, HOME, none", () => {
  expect(findHomes({ THNDRS_HOME: "/t", XDG_CONFIG_HOME: "/x", HOME: "/h" }, "/c")).toEqual({
    user: "/h",
    config: "/t",
    state: "/t/state",
  });
  expect(findHomes({ THNDRS_HOME: "t" }, "/c").config).toBe("/c/t");
  expect(findHomes({ XDG_CONFIG_HOME: "/x", HOME: "/h" }, "/c").config).toBe("/x/thndrs");
  expect(findHomes({ XDG_CONFIG_HOME: "x", HOME: "/h" }, "/c").config).toBe("/h/.config/thndrs");
  expect(findHomes({ HOME: "/h" }, "/c")).toEqual({ user: "/h", config: "/h/.config/thndrs", state: "/h/.local/state/thndrs" });
  expect(findHomes({}, "/c")).toEqual({});
});
