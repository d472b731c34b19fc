/** Files of a workspace that nobody writes as a file, whoever asks. Refuses: touching the disk; it judges names. */

/**
 * Why the file at `relative` (from the workspace root, links resolved) is not to be written, as the end of a sentence; undefined
 * when nothing speaks against it. Compared without case: on some disks `.GIT` is the same directory.
 */
export function whyKept(relative: string): string | undefined {
  if (!relative.split("/").some((name) => name.toLowerCase() === ".git")) return undefined;
  return "git's own files (hooks and settings run programs) are not written by file tools";
}
