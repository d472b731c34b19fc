/**
 * A keychain that never answers: a libsecret of our own, put before the system's, that leaves a file where it is asked. Linux with
 * a C compiler only. Refuses: holding anything.
 */
import { existsSync, rmSync } from "node:fs";
import { type TempDir, tempDir } from "./temp.ts";

const NAMES =
  "g_error_free g_free g_hash_table_destroy g_hash_table_insert g_hash_table_lookup g_hash_table_new g_list_free g_list_free_full g_object_unref g_str_equal g_str_hash secret_item_get_attributes secret_item_get_secret secret_item_load_secret_sync secret_password_free secret_value_get_text secret_value_unref";
const ASKED = "secret_password_clear_sync secret_password_lookup_sync secret_password_store_sync secret_service_search_sync";
const sourceFor = (asked: string): string => `#include <fcntl.h>
#include <unistd.h>
${NAMES.replace(/\w+/g, "void *$&(void) { return 0; }")}
static void *asked(void) { close(open(${JSON.stringify(asked)}, O_CREAT | O_WRONLY, 0600)); for (;;) pause(); }
${ASKED.replace(/\w+/g, "void *$&(void) { return asked(); }")}
`;

const compiler = process.platform === "linux" ? Bun.which("cc") : null;

export const noCompiler = compiler === null;

export type StuckKeychain = AsyncDisposable & {
  readonly place: TempDir;
  /** For a program whose key of openai is in the keychain. */
  readonly env: { readonly THNDRS_HOME: string; readonly LD_LIBRARY_PATH: string };
  /** Resolves when it has been asked since the last time. */
  asked(): Promise<void>;
};

/** In a directory with an `empty/` beside the home. */
export async function stuckKeychain(): Promise<StuckKeychain> {
  const stored = { version: 1, credentials: { openai: { in: "keychain" } } };
  const place = await tempDir({ "lib/.keep": "", "home/credentials.json": JSON.stringify(stored), "empty/.keep": "" });
  const mark = place.at("asked");
  const source = place.at("lib", "keychain.c");
  await Bun.write(source, sourceFor(mark));
  for (const name of ["libsecret-1.so.0", "libglib-2.0.so.0", "libgobject-2.0.so.0"]) {
    const made = Bun.spawnSync([compiler ?? "cc", "-shared", "-fPIC", "-o", place.at("lib", name), source]);
    if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  }
  return {
    place,
    env: { THNDRS_HOME: place.at("home"), LD_LIBRARY_PATH: place.at("lib") },
    async asked() {
      while (!existsSync(mark)) await Bun.sleep(5);
      rmSync(mark);
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}
