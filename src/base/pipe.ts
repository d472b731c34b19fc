/**
 * A real kernel pipe for a child's output. Bun connects children through sockets, and a socket cannot be opened again by
 * name: `echo x >/dev/stderr` or `tee /dev/stdout` would fail in every command. Whoever loads it is about to run commands of a
 * model, so the same call closes the door of `/proc/PID/environ`, through which a child of the same user would read the keys that it
 * does not inherit (root reads everything). Refuses: reading and writing.
 */

export type Pipe = { readonly read: number; readonly write: number };
export type OpenPipe = () => Pipe | undefined;

/** Linux C libraries by the names they are loaded under: glibc, then musl. */
const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
const CLOSE_ON_EXEC = 0o2000000;
/** `prctl`: memory and environment of this process are for itself and root; no core dumps. A child is not affected once it runs. */
const PR_SET_DUMPABLE = 4;
const WORDS = ["i32", "u64", "u64", "u64", "u64"] as const;

/**
 * Loads `pipe2`. The opener returns undefined where there is no such call (other systems, whose sockets can be reopened)
 * or no descriptor is left: the caller then uses Bun's own pipes.
 */
export async function loadPipes(platform: NodeJS.Platform): Promise<OpenPipe> {
  const none = () => undefined;
  if (platform !== "linux") return none;
  const { dlopen, ptr } = await import("bun:ffi");
  for (const library of LIBRARIES) {
    try {
      const { symbols } = dlopen(library, {
        pipe2: { args: ["ptr", "i32"], returns: "i32" },
        prctl: { args: [...WORDS], returns: "i32" },
      });
      symbols.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
      return () => {
        const ends = new Int32Array(2);
        const failed = symbols.pipe2(ptr(ends), CLOSE_ON_EXEC) !== 0;
        const [read, write] = ends;
        return failed || read === undefined || write === undefined ? undefined : { read, write };
      };
    } catch {
      // The next name may exist.
    }
  }
  return none;
}
