/** Files of the config home: what stands in the way is said at once, two changes at a time lose nothing. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { UserError } from "../../src/base/user-error.ts";
import { updatePrivateFile } from "../../src/config/private-file.ts";
import type { FileRead } from "../../src/config/settings-file.ts";
import { tempDir } from "../support/temp.ts";

test("a plain file where a directory should be is an error at once, not a lock to wait for", async () => {
  await using place = await tempDir({ state: "a file" });
  for (const path of [place.at("state", "history"), place.at("state", "deeper", "history")]) {
    const error = await updatePrivateFile(path, () => "x").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UserError);
    expect(String(error)).toContain("is not a directory");
  }
  expect(readFileSync(place.at("state"), "utf8")).toBe("a file");
}, 3000);

test("changes made at the same time wait for each other; the file and its directory are the user's own", async () => {
  await using place = await tempDir();
  const path = place.at("state", "list");
  const add = (word: string): Promise<void> =>
    updatePrivateFile(path, (read) => `${read.kind === "bytes" ? new TextDecoder().decode(read.bytes) : ""}${word}\n`);
  await Promise.all(["a", "b", "c", "d"].map(add));
  expect(readFileSync(path, "utf8").trim().split("\n").sort()).toEqual(["a", "b", "c", "d"]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(place.at("state")).mode & 0o777).toBe(0o700);
  expect(() => statSync(`${path}.lock`)).toThrow();
});

test("the wait for somebody else's change ends with the signal, and nothing is changed", async () => {
  await using place = await tempDir({ "list.lock": "" });
  const path = place.at("list");
  const control = new AbortController();
  const waiting = updatePrivateFile(path, () => "x", control.signal).catch((thrown: unknown) => thrown);
  control.abort("signal:SIGINT");
  expect(await waiting).toBe("signal:SIGINT");
  expect(await updatePrivateFile(path, () => "x", control.signal).catch((thrown: unknown) => thrown)).toBe("signal:SIGINT");
  expect([existsSync(path), existsSync(`${path}.lock`)]).toEqual([false, true]);
}, 3000);

test("of several that meet a lock left behind, no change is lost", async () => {
  for (let round = 0; round < 60; round++) {
    await using place = await tempDir({ "list.lock": "" });
    utimesSync(place.at("list.lock"), new Date(0), new Date(0));
    const path = place.at("list");
    const text = (read: FileRead): string => (read.kind === "bytes" ? new TextDecoder().decode(read.bytes) : "");
    await Promise.all([0, 1, 2, 3].map((entry) => updatePrivateFile(path, (read) => `${text(read)}${entry}\n`)));
    expect(readFileSync(path, "utf8").trim().split("\n").sort()).toEqual(["0", "1", "2", "3"]);
    expect(readdirSync(place.path)).toEqual(["list"]);
  }
});

test("a guard that a killed process left is no end of it: once it is old, the lock goes", async () => {
  await using place = await tempDir({ "list.lock": "" });
  const old = new Date(0);
  utimesSync(place.at("list.lock"), old, old);
  const { ino, mtimeMs } = statSync(place.at("list.lock"));
  const guard = place.at(`list.lock.${ino}-${mtimeMs}`);
  writeFileSync(guard, "");
  const waiting = updatePrivateFile(place.at("list"), () => "x");
  expect(existsSync(place.at("list"))).toBe(false);
  utimesSync(guard, old, old);
  await waiting;
  expect(readFileSync(place.at("list"), "utf8")).toBe("x");
});
