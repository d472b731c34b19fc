/**
 * What a file has beside bytes, owner and mode: access control list, extended attributes. With a list, the mode's group bits are only
 * the most that it may grant: a copy with that mode and no list would grant it to the whole group. Bun has no calls for them, the C
 * library has. Linux only. Refuses: deciding when.
 */
import { once } from "./once.ts";

/** As the kernel has them: names and values are bytes, nothing is followed. */
type Extras = {
  /** Undefined where the file system keeps none. */
  names(path: string): readonly string[] | undefined;
  get(path: string, name: string): Uint8Array | undefined;
  set(path: string, name: string, value: Uint8Array): boolean;
  remove(path: string, name: string): boolean;
};

const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
/** The kernel's own limit for one value, and for all names. */
const MOST_BYTES = 65_536;
const ACCESS_LIST = "system.posix_acl_access";
/** Not `security.capability`: it was granted to the old bytes. */
const COPIED = /^(?:user\.|security\.selinux$)/;

const loadExtras = once(async (): Promise<Extras | undefined> => {
  if (process.platform !== "linux") return undefined;
  const { dlopen } = await import("bun:ffi");
  for (const library of LIBRARIES) {
    try {
      const { symbols } = dlopen(library, {
        llistxattr: { args: ["ptr", "ptr", "u64"], returns: "i64" },
        lgetxattr: { args: ["ptr", "ptr", "ptr", "u64"], returns: "i64" },
        lsetxattr: { args: ["ptr", "ptr", "ptr", "u64", "i32"], returns: "i32" },
        lremovexattr: { args: ["ptr", "ptr"], returns: "i32" },
      });
      const text = (value: string) => Buffer.from(`${value}\0`);
      const buffer = Buffer.alloc(MOST_BYTES);
      return {
        names(path) {
          const length = Number(symbols.llistxattr(text(path), buffer, MOST_BYTES));
          return length < 0 ? undefined : buffer.toString("latin1", 0, length).split("\0").slice(0, -1);
        },
        get(path, name) {
          const length = Number(symbols.lgetxattr(text(path), text(name), buffer, MOST_BYTES));
          return length < 0 ? undefined : Uint8Array.from(buffer.subarray(0, length));
        },
        set: (path, name, value) =>
          symbols.lsetxattr(text(path), text(name), value.length > 0 ? value : new Uint8Array(1), value.length, 0) === 0,
        remove: (path, name) => symbols.lremovexattr(text(path), text(name)) === 0,
      };
    } catch {
      // The next name may exist.
    }
  }
  return undefined;
});

/**
 * Gives the file `to` what `from` has: its access control list, or none where `from` has none (a directory may give new files one of
 * its own), and its extended attributes as far as they can be set. The mode has to be set afterwards. False when the list could not
 * be made the same.
 */
export async function copyExtras(from: string, to: string): Promise<boolean> {
  const extras = await loadExtras();
  const names = extras?.names(from);
  const own = extras?.names(to);
  if (extras === undefined || names === undefined || own === undefined) return true;
  for (const name of names.filter((one) => COPIED.test(one))) {
    const value = extras.get(from, name);
    if (value !== undefined) extras.set(to, name, value);
  }
  if (!names.includes(ACCESS_LIST)) return !own.includes(ACCESS_LIST) || extras.remove(to, ACCESS_LIST);
  const list = extras.get(from, ACCESS_LIST);
  return list !== undefined && extras.set(to, ACCESS_LIST, list);
}
