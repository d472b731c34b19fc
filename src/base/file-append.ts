/**
 * A file of thndrs' own that grows while a run goes on (recordings, captures): begun anew with the first piece, in place of an
 * older file, then only appended to. A piece is in it whole or not at all. Refuses: workspace files, reading.
 */
import { constants } from "node:fs";
import { basename, dirname } from "node:path";
import { open } from "./async-fs.ts";
import { putThroughTemp, writeAll } from "./file-install.ts";
import { type FileFailure, FileProblem, failureOf } from "./file-problem.ts";
import { ownTarget } from "./files.ts";
import { holdDirectory } from "./held-directory.ts";

export interface GrowingFile {
  /** One piece after the other. Once one is lost so are all that follow: a gap in the middle would not be seen. */
  append(text: string): Promise<{ readonly ok: true } | FileFailure>;
}

/** The file as it was left, so that nothing is appended to another one. */
type Grown = { readonly directory: string; readonly name: string; readonly dev: bigint; readonly ino: bigint; size: bigint };

const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK | (constants.O_NOFOLLOW ?? 0);

const CHANGED = "it was changed or replaced by somebody else meanwhile";

async function begin(path: string, bytes: Uint8Array, mode: number): Promise<Grown> {
  const target = ownTarget(path);
  const directory = holdDirectory(dirname(target));
  try {
    const name = basename(target);
    await putThroughTemp({ directory, name }, bytes, mode, {});
    const found = directory.look(name);
    if (!found) throw new FileProblem("changed", CHANGED);
    return { directory: directory.path, name, dev: found.dev, ino: found.ino, size: BigInt(bytes.length) };
  } finally {
    directory.close();
  }
}

/** Opened anew each time: a run holds no file open for hours, and one that was taken away is noticed. */
async function extend(file: Grown, bytes: Uint8Array): Promise<void> {
  const directory = holdDirectory(file.directory);
  try {
    const handle = await open(directory.at(file.name), APPEND);
    try {
      const found = await handle.stat({ bigint: true });
      if (found.dev !== file.dev || found.ino !== file.ino || found.size !== file.size) throw new FileProblem("changed", CHANGED);
      try {
        await writeAll(handle, bytes);
        await handle.sync();
      } catch (error) {
        await handle.truncate(Number(file.size)).catch(() => undefined);
        throw error;
      }
    } finally {
      await handle.close();
    }
  } finally {
    directory.close();
  }
}

/** Nothing is touched before the first piece. `path` is absolute; the caller answers for it. */
export function growOwnFile(path: string, mode: number): GrowingFile {
  let grown: Grown | undefined;
  let lost: FileFailure | undefined;
  return {
    async append(text) {
      if (lost) return lost;
      try {
        const bytes = new TextEncoder().encode(text);
        if (grown) {
          await extend(grown, bytes);
          grown.size += BigInt(bytes.length);
        } else grown = await begin(path, bytes, mode);
        return { ok: true };
      } catch (error) {
        lost = failureOf(error);
        return lost;
      }
    },
  };
}
