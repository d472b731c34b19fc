/** Access control lists and extended attributes through an edit. Linux; skipped where the file system keeps none. */
import { dlopen } from "bun:ffi";
import { afterAll, expect, test } from "bun:test";
import { chmodSync, statSync } from "node:fs";
import { installFile, readSafe } from "../../src/base/files.ts";
import { openWorkspace } from "../../src/base/workspace.ts";
import { tempDir } from "../support/temp.ts";

const LIST = "system.posix_acl_access";
const DEFAULT_LIST = "system.posix_acl_default";
const [OWNER, NAMED, GROUP, MASK, OTHER] = [1, 2, 4, 16, 32];

const calls = () =>
  dlopen("libc.so.6", {
    lgetxattr: { args: ["ptr", "ptr", "ptr", "u64"], returns: "i64" },
    lsetxattr: { args: ["ptr", "ptr", "ptr", "u64", "i32"], returns: "i32" },
  }).symbols;
const cString = (text: string) => Buffer.from(`${text}\0`);

function setExtra(path: string, name: string, value: Buffer): boolean {
  return calls().lsetxattr(cString(path), cString(name), value, value.length, 0) === 0;
}

function getExtra(path: string, name: string): string | undefined {
  const buffer = Buffer.alloc(4096);
  const length = Number(calls().lgetxattr(cString(path), cString(name), buffer, buffer.length));
  return length < 0 ? undefined : buffer.toString("hex", 0, length);
}

/** Rights as `rwx` bits; the named user is 1234. */
function accessList(entries: readonly (readonly [tag: number, rights: number])[]): Buffer {
  const list = Buffer.alloc(4 + entries.length * 8);
  list.writeUInt32LE(2);
  for (const [index, [tag, rights]] of entries.entries()) {
    list.writeUInt16LE(tag, 4 + index * 8);
    list.writeUInt16LE(rights, 6 + index * 8);
    list.writeUInt32LE(tag === NAMED ? 1234 : 0xffffffff, 8 + index * 8);
  }
  return list;
}

const ONE_USER = accessList([
  [OWNER, 6],
  [NAMED, 6],
  [GROUP, 0],
  [MASK, 6],
  [OTHER, 0],
]);

const probe = await tempDir({ f: "" });
afterAll(() => probe.remove());

function keepsExtras(): boolean {
  if (process.platform !== "linux") return false;
  try {
    return setExtra(probe.at("f"), LIST, ONE_USER) && setExtra(probe.at("f"), "user.x", Buffer.from("1"));
  } catch {
    // Another C library.
    return false;
  }
}

async function edit(root: string): Promise<unknown> {
  const workspace = await openWorkspace(root);
  const resolved = await workspace.resolve("f");
  if (!resolved.ok) throw new Error(resolved.message);
  const original = await readSafe(resolved.path, { maxBytes: 1000 });
  if (!original.ok) throw new Error(original.message);
  return installFile(workspace, resolved.path, original, Buffer.from("new\n"));
}

test.skipIf(!keepsExtras())("an edit keeps access list, attributes and mode, so nobody gets more than before", async () => {
  await using dir = await tempDir({ f: "old\n" });
  setExtra(dir.at("f"), LIST, ONE_USER);
  setExtra(dir.at("f"), "user.origin", Buffer.from("somewhere"));
  expect((statSync(dir.at("f")).mode & 0o777).toString(8)).toBe("660");
  expect(await edit(dir.path)).toEqual({ ok: true });
  expect(await dir.read("f")).toBe("new\n");
  expect(getExtra(dir.at("f"), LIST)).toBe(ONE_USER.toString("hex"));
  expect(getExtra(dir.at("f"), "user.origin")).toBe(Buffer.from("somewhere").toString("hex"));
  expect((statSync(dir.at("f")).mode & 0o777).toString(8)).toBe("660");
});

test.skipIf(!keepsExtras())("a file without a list gets none from its directory", async () => {
  await using dir = await tempDir({ f: "old\n" });
  chmodSync(dir.at("f"), 0o660);
  expect(setExtra(dir.path, DEFAULT_LIST, ONE_USER)).toBe(true);
  expect(await edit(dir.path)).toEqual({ ok: true });
  expect(getExtra(dir.at("f"), LIST)).toBeUndefined();
  expect((statSync(dir.at("f")).mode & 0o777).toString(8)).toBe("660");
});
