/** Keys: environment, keychain, 0600 file (cli.md, Configuration; security.md 4). */
import { expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { createCredentials, type Keychain, keyVariable } from "../../src/config/credentials.ts";
import { readEnvironment } from "../../src/config/env.ts";
import { openTrust } from "../../src/config/trust.ts";
import { makePlace } from "./place.ts";

function memoryKeychain(): Keychain & { readonly values: Map<string, string>; asked: number } {
  const values = new Map<string, string>();
  return {
    values,
    asked: 0,
    async get({ name }) {
      this.asked++;
      return values.get(name) ?? null;
    },
    async set({ name, value }) {
      values.set(name, value);
    },
    async delete({ name }) {
      return values.delete(name);
    },
  };
}

const broken: Keychain = {
  get: () => Promise.reject(new Error("libsecret not available")),
  set: () => Promise.reject(new Error("libsecret not available")),
  delete: () => Promise.reject(new Error("libsecret not available")),
};

test("the environment comes first and leaves the keychain alone", async () => {
  using place = makePlace();
  const keychain = memoryKeychain();
  const credentials = createCredentials({ env: { OPENAI_API_KEY: " key-from-environment\n" }, configHome: place.home, keychain });
  expect(await credentials.lookup("openai")).toBe("key-from-environment");
  expect(await credentials.source("openai")).toEqual({ kind: "environment", variable: "OPENAI_API_KEY" });
  expect(await credentials.lookup("openai", null)).toBeUndefined();
  expect(await credentials.lookup("anthropic")).toBeUndefined();
  expect(keychain.asked).toBe(0);
});

test("a keychain keeps the key; the file only says so", async () => {
  using place = makePlace();
  const keychain = memoryKeychain();
  const credentials = createCredentials({ env: {}, configHome: place.home, keychain });
  expect(await credentials.store("openai", "the-secret-key")).toEqual({ kind: "keychain" });
  expect(readFileSync(join(place.home, "credentials.json"), "utf8")).not.toContain("the-secret-key");
  const later = createCredentials({ env: {}, configHome: place.home, keychain });
  expect(await later.source("openai")).toEqual({ kind: "keychain" });
  expect(later.knownValues()).toEqual([]);
  expect(await later.lookup("openai")).toBe("the-secret-key");
  expect(later.knownValues()).toEqual(["the-secret-key"]);
  expect(await later.remove("openai")).toBe(true);
  expect(keychain.values.size).toBe(0);
  expect(await later.remove("openai")).toBe(false);
  expect(await later.lookup("openai")).toBeUndefined();
});

test("no keychain: a file of mode 0600 in a directory of mode 0700", async () => {
  using place = makePlace();
  const credentials = createCredentials({ env: {}, configHome: place.home, keychain: broken });
  const path = join(place.home, "credentials.json");
  expect(await credentials.store("openai", "the-secret-key")).toEqual({ kind: "file", path });
  await credentials.store("anthropic", "another-key");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(place.home).mode & 0o777).toBe(0o700);
  const later = createCredentials({ env: {}, configHome: place.home, keychain: null });
  expect(await later.lookup("openai")).toBe("the-secret-key");
  expect((await later.stored()).map((item) => item.name)).toEqual(["openai", "anthropic"]);
  expect(await later.problem()).toBeUndefined();
  chmodSync(path, 0o644);
  expect(await later.problem()).toContain("chmod 600");
  expect(await later.remove("openai")).toBe(true);
  expect(await later.lookup("openai")).toBeUndefined();
  expect(await later.lookup("anthropic")).toBe("another-key");
});

test("this machine's own keychain: without one it fails fast and quietly", async () => {
  using place = makePlace();
  const credentials = createCredentials({ env: {}, configHome: place.home, keychainTimeoutMs: 3_000 });
  const source = await credentials.store("thndrs-test-provider", "the-secret-key");
  expect(await credentials.lookup("thndrs-test-provider")).toBe("the-secret-key");
  expect(["file", "keychain"]).toContain(source.kind);
  await credentials.remove("thndrs-test-provider");
});

test("a keychain that never answers is given up on", async () => {
  using place = makePlace();
  const never = new Promise<never>(() => undefined);
  const stuck: Keychain = { get: () => never, set: () => never, delete: () => never };
  const working = memoryKeychain();
  await createCredentials({ env: {}, configHome: place.home, keychain: working }).store("openai", "the-secret-key");
  const credentials = createCredentials({ env: {}, configHome: place.home, keychain: stuck, keychainTimeoutMs: 20 });
  expect(await credentials.lookup("openai")).toBeUndefined();
  await expect(credentials.remove("openai")).rejects.toThrow("does not answer");
  expect(await credentials.store("other", "other-secret")).toMatchObject({ kind: "file" });
});

test("a keychain that never answers is left with the signal: no key, and none put anywhere else", async () => {
  using place = makePlace();
  const never = new Promise<never>(() => undefined);
  const stuck: Keychain = { get: () => never, set: () => never, delete: () => never };
  const working = memoryKeychain();
  await createCredentials({ env: {}, configHome: place.home, keychain: working }).store("openai", "the-secret-key");
  const control = new AbortController();
  const options = { env: {}, configHome: place.home, keychain: stuck, signal: control.signal };
  const credentials = createCredentials(options);
  const waits = [credentials.lookup("openai"), credentials.store("other", "x-secret-key"), credentials.remove("openai")];
  const settled = Promise.allSettled(waits);
  control.abort("signal:SIGINT");
  const ended = { status: "rejected", reason: "signal:SIGINT" } as const;
  expect(await settled).toEqual([{ status: "fulfilled", value: undefined }, ended, ended]);
  const left = createCredentials({ env: {}, configHome: place.home, keychain: working });
  expect(await left.stored()).toEqual([{ name: "openai", source: { kind: "keychain" } }]);
}, 3000);

test("no home at all: the environment still works, storing says what is missing", async () => {
  const credentials = createCredentials({ env: { X_API_KEY: "value" }, configHome: undefined });
  expect(await credentials.lookup("x")).toBe("value");
  expect(await credentials.lookup("y")).toBeUndefined();
  await expect(credentials.store("y", "v")).rejects.toThrow("set HOME or THNDRS_HOME");
});

test("a damaged file is no credential and no crash", async () => {
  using place = makePlace();
  for (const text of [
    "",
    "[]",
    "null",
    '{"credentials":null}',
    '{"credentials":{"a":null}}',
    '{"credentials":{"a":{"in":"file","value":5}}}',
  ]) {
    place.write(join(place.home, "credentials.json"), text);
    const credentials = createCredentials({ env: {}, configHome: place.home, keychain: null });
    expect(await credentials.lookup("a")).toBeUndefined();
  }
});

test("known values: secret-named variables that are no words and no paths", () => {
  const env = {
    GITHUB_TOKEN: "ghp_0123456789",
    SHORT_TOKEN: "abc",
    DB_PASSWORD: "changeme",
    SSH_PRIVATE_KEY: "/home/me/id_1",
    PATH: "/usr/bin:/bin",
    EDITOR: "vi-and-more",
  };
  expect(createCredentials({ env, configHome: undefined }).knownValues()).toEqual(["ghp_0123456789"]);
});

test("key variables and the environment copy", () => {
  expect(keyVariable("openai")).toBe("OPENAI_API_KEY");
  expect(keyVariable("my-corp")).toBe("MY_CORP_API_KEY");
  const env = readEnvironment();
  expect(Object.isFrozen(env)).toBe(true);
  expect(env.PATH).toBe(process.env.PATH);
});

test("many at once: no key and no trust is lost", async () => {
  using place = makePlace();
  const names = Array.from({ length: 12 }, (_, index) => `provider-${index}`);
  const options = { env: {}, configHome: place.home, keychain: null };
  await Promise.all(names.map((name) => createCredentials(options).store(name, `secret-of-${name}`)));
  const stored = await createCredentials(options).stored();
  expect(stored.map((item) => item.name).sort()).toEqual(names.toSorted());
  const files = names.map((name) => place.write(join(place.root, name), name));
  await Promise.all(files.map((path) => openTrust(place.home).add([{ path, bytes: Buffer.from(path) }])));
  expect(await openTrust(place.home).list()).toHaveLength(12);
  expect(readdirSync(place.home).sort()).toEqual(["credentials.json", "trust.json"]);
});

test("a lock left behind by a killed process is taken over", async () => {
  using place = makePlace();
  const lock = place.write(join(place.home, "credentials.json.lock"), "");
  utimesSync(lock, new Date(0), new Date(0));
  await createCredentials({ env: {}, configHome: place.home, keychain: null }).store("a", "secret-of-a");
  expect(readdirSync(place.home)).toEqual(["credentials.json"]);
});
