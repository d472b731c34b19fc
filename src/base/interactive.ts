/**
 * Runs a program that takes the terminal over (an editor). The one spawn beside base/process.ts: those children must not
 * see the terminal, this one must. Refuses: capturing output, anything a model asked for.
 */

/**
 * Waits for `argv` with our stdin, stdout and stderr.
 * @returns its exit code; 128 + n when signal n ended it
 * @throws the spawn error (ENOENT) when it cannot be started
 */
export async function runInteractive(
  argv: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<number> {
  const child = Bun.spawn([...argv], {
    cwd: options.cwd,
    env: { ...options.env },
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  });
  return child.exited;
}
