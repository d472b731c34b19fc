/**
 * Waits for a keychain and for another process's lock knew no signal: Ctrl+C and --timeout were heeded when they were over, and
 * a keychain that never answered kept the program for good. The keychain here is a library that says when it is asked.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { startThndrs } from "../support/run.ts";
import { type TempDir, tempDir } from "../support/temp.ts";

const NAMES =
  "g_error_free g_free g_hash_table_destroy g_hash_table_insert g_hash_table_lookup g_hash_table_new g_list_free g_list_free_full g_object_unref g_str_equal g_str_hash secret_item_get_attributes secret_item_get_secret secret_item_load_secret_sync secret_password_free secret_value_get_text secret_value_unref";
const ASKED = "secret_password_clear_sync secret_password_lookup_sync secret_password_store_sync secret_service_search_sync";
const SOURCE = `#include <fcntl.h>
#include <unistd.h>
${NAMES.replace(/\w+/g, "void *$&(void) { return 0; }")}
static void *asked(void) { close(open("asked", O_CREAT | O_WRONLY, 0600)); for (;;) pause(); }
${ASKED.replace(/\w+/g, "void *$&(void) { return asked(); }")}
`;

const compiler = process.platform === "linux" ? Bun.which("cc") : null;

async function stuckKeychain(): Promise<TempDir> {
  const stored = { version: 1, credentials: { openai: { in: "keychain" } } };
  const place = await tempDir({ "lib/keychain.c": SOURCE, "home/credentials.json": JSON.stringify(stored), "empty/.keep": "" });
  for (const name of ["libsecret-1.so.0", "libglib-2.0.so.0", "libgobject-2.0.so.0"]) {
    const made = Bun.spawnSync([
      compiler ?? "cc",
      "-shared",
      "-fPIC",
      "-o",
      place.at("lib", name),
      place.at("lib", "keychain.c"),
    ]);
    if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  }
  return place;
}

const environment = (place: TempDir, home: string) => ({ THNDRS_HOME: place.at(home), LD_LIBRARY_PATH: place.at("lib") });

async function untilAsked(place: TempDir): Promise<void> {
  while (!existsSync(place.at("asked"))) await Bun.sleep(5);
}

test.skipIf(compiler === null)("a run that waits for a keychain: Ctrl+C ends it, --timeout ends it", async () => {
  await using place = await stuckKeychain();
  const env = { ...environment(place, "home"), THNDRS_MODEL: "openai/mock", OPENAI_BASE_URL: "https://192.0.2.1/v1" };
  await using run = await startThndrs({ args: ["-p", "x"], cwd: place.path, env });
  await untilAsked(place);
  run.signal("SIGINT");
  expect(await run.exited).toMatchObject({ code: 130, signal: null, stdout: "" });
  await using late = await startThndrs({ args: ["-p", "x", "--timeout", "1s"], cwd: place.path, env });
  expect(await late.exited).toMatchObject({ code: 124, signal: null, stdout: "" });
});

test.skipIf(compiler === null)("login that waits for a keychain: Ctrl+C ends it, and the key is kept nowhere", async () => {
  await using place = await stuckKeychain();
  const key = "sk-test-0123456789abcdefghij";
  const env = environment(place, "empty");
  await using run = await startThndrs({ args: ["login", "openai"], cwd: place.path, env, stdin: { text: key } });
  await untilAsked(place);
  run.signal("SIGINT");
  expect(await run.exited).toMatchObject({ code: 130, signal: null, stdout: "", stderr: "" });
  expect(existsSync(place.at("empty", "credentials.json"))).toBe(false);
});
