/**
 * What a terminal is asked and told by descriptor: whether it is one, its size, raw mode. By the binding below `node:tty`:
 * `process.stdin` and `process.stdout` bring streams with them that take a third of the REPL's start (measured), and `node:tty`
 * alone takes more than a millisecond. Where there is no such binding they do it. Refuses: reading, writing.
 */

type Tty = {
  /** Columns and rows, written into a list of two. */
  getWindowSize(size: number[]): boolean;
  /** Answers an error number, 0 for none. */
  setRawMode(mode: 0 | 1): number;
};

type Binding = {
  isTTY(fd: number): boolean;
  /** @throws where the descriptor is no terminal */
  readonly TTY: new (
    fd: number,
  ) => Tty;
};

/** Undefined on Windows, where keys are not read from a descriptor, and where the runtime has none. */
function binding(): Binding | undefined {
  if (process.platform === "win32") return undefined;
  try {
    const { binding: find } = process as unknown as { readonly binding?: (name: string) => unknown };
    return find?.call(process, "tty_wrap") as Binding | undefined;
  } catch {
    // A runtime that has none any more.
    return undefined;
  }
}

/** Never throws. */
export function isTty(fd: number): boolean {
  return binding()?.isTTY(fd) ?? process.getBuiltinModule("node:tty").isatty(fd);
}

/** Columns and rows as they are now; undefined where the binding does not tell. @throws where the descriptor is no terminal any more */
export function ttySize(fd: 1 | 2): readonly [columns: number, rows: number] | undefined {
  const found = binding();
  if (!found) return undefined;
  const size = [0, 0];
  new found.TTY(fd).getWindowSize(size);
  return [size[0] ?? 0, size[1] ?? 0];
}

/** Keys one by one, as they are; and back to what was there before. False where the terminal is gone. */
export type RawMode = (on: boolean) => boolean;

/** One for a terminal: it remembers the modes to go back to. Changes nothing before it is called. */
export function createRawMode(): RawMode {
  let tty: Tty | undefined;
  return (on) => {
    try {
      const found = binding();
      if (found) {
        tty ??= new found.TTY(0);
        return tty.setRawMode(on ? 1 : 0) === 0;
      }
      process.stdin.setRawMode(on);
      return true;
    } catch {
      return false;
    }
  };
}
