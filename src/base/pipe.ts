/**
 * A real kernel pipe for a child's output. Bun connects children through sockets, and a socket cannot be opened again by
 * name: `echo x >/dev/stderr` or `tee /dev/stdout` would fail in every command. Whoever loads it is about to run commands of a
 * model, so the same call closes the door of `/proc/PID/environ`, through which a child of the same user would read the keys that it
 * does not inherit (root reads everything). Refuses: reading and writing.
 */

export type Pipe = { readonly read: number; readonly write: number };
export type OpenPipe = () => Pipe | undefined;

/** The calls of the system's C library that Bun has no name for. */
export type Kernel = {
  readonly openPipe: OpenPipe;
  /** Makes this process the parent of orphans below it, so that none of them is out of reach when the run ends. */
  readonly adoptOrphans: () => void;
  /**
   * Takes the exit of an adopted process that is over, so that it does not stay in the process table. Negative: of all such in a
   * process group.
   */
  readonly bury: (pid: number) => void;
};

const NONE: Kernel = { openPipe: () => undefined, adoptOrphans: () => undefined, bury: () => undefined };

/** Linux C libraries by the names they are loaded under: glibc, then musl. */
const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
const CLOSE_ON_EXEC = 0o2000000;
/** `prctl`: memory and environment of this process are for itself and root; no core dumps. A child is not affected once it runs. */
const PR_SET_DUMPABLE = 4;
const PR_SET_CHILD_SUBREAPER = 36;
const WNOHANG = 1;
const SIG_SETMASK = 2;
/** glibc and musl. */
const SIGSET_BYTES = 128;
const WORDS = ["i32", "u64", "u64", "u64", "u64"] as const;

/**
 * Loads `pipe2` and its kin. The opener returns undefined where there is no such call (other systems, whose sockets can be reopened)
 * or no descriptor is left: the caller then uses Bun's own pipes.
 */
export async function loadKernel(platform: NodeJS.Platform): Promise<Kernel> {
  if (platform !== "linux") return NONE;
  const { dlopen, ptr } = await import("bun:ffi");
  for (const library of LIBRARIES) {
    try {
      const { symbols } = dlopen(library, {
        pipe2: { args: ["ptr", "i32"], returns: "i32" },
        prctl: { args: [...WORDS], returns: "i32" },
        sigprocmask: { args: ["i32", "ptr", "ptr"], returns: "i32" },
        waitpid: { args: ["i32", "ptr", "i32"], returns: "i32" },
      });
      symbols.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
      // Children begin with what this thread blocks. Whoever started us blocked it for themselves (a thread that waits for signals); in
      // a command TERM would do nothing, and every end would take its two seconds to KILL.
      symbols.sigprocmask(SIG_SETMASK, ptr(new Uint8Array(SIGSET_BYTES)), null);
      const openPipe = (): Pipe | undefined => {
        const ends = new Int32Array(2);
        const failed = symbols.pipe2(ptr(ends), CLOSE_ON_EXEC) !== 0;
        const [read, write] = ends;
        return failed || read === undefined || write === undefined ? undefined : { read, write };
      };
      return {
        openPipe,
        adoptOrphans: () => void symbols.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0),
        bury: (pid) => {
          while (symbols.waitpid(pid, null, WNOHANG) > 0);
        },
      };
    } catch {
      // The next name may exist.
    }
  }
  return NONE;
}
