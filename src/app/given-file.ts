/**
 * A file named on the command line (`--output-schema`, `--replay`), read whole as text. A pipe the shell made (`<(…)`) counts; a FIFO or
 * a device by name does not: nobody says when it ends. Refuses: what the text means.
 */
import { readFile } from "../base/async-fs.ts";
import { readRegularFile } from "../base/files.ts";
import { UserError } from "../base/user-error.ts";

const MAX_BYTES = 256 * 1024 * 1024;
/** A descriptor we inherited: its writer runs, and its end comes. */
const INHERITED = /^\/(?:dev|proc\/self)\/fd\/\d+$/;

/** @throws UserError (exit 2) that names `shown` when it cannot be read or is no UTF-8 text. */
export async function readGivenFile(path: string, shown: string): Promise<string> {
  const bytes = INHERITED.test(path) ? await readPipe(path, shown) : await readNamed(path, shown);
  try {
    // A BOM is dropped by the decoder itself.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UserError(`${shown}: is not UTF-8 text`);
  }
}

async function readNamed(path: string, shown: string): Promise<Uint8Array> {
  const read = await readRegularFile(path, { maxBytes: MAX_BYTES });
  if (read.ok) return read.bytes;
  throw new UserError(`${shown}: ${read.reason === "missing" ? "there is no such file" : read.message}`);
}

async function readPipe(path: string, shown: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new UserError(`${shown}: cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
