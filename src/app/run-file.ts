/**
 * A file that a run was asked to write beside its log (`--record`, `--capture`): piece by piece as it comes, so that a killed run
 * leaves what there was. What is lost is said once, at once, and again at the run's end. Refuses: what is written.
 */
import { growOwnFile } from "../base/file-append.ts";
import { ownFileProblem } from "../base/files.ts";
import { EXIT, UserError } from "../base/user-error.ts";
import { leadsToLog } from "../session/ids.ts";

export interface RunFile {
  /** Resolves when this piece and all before it are written; false when they are lost, and everything after them. */
  add(text: string): Promise<boolean>;
  /** Who is told from now on. */
  onLost(tell: (message: string) => void): void;
  /** Resolves when everything is written. @throws UserError when something was lost */
  settle(): Promise<void>;
}

/** `what` names it for people. @throws UserError (exit 2) when it cannot be written, as far as that can be told now. */
export function openRunFile(path: string, mode: number, what: string): RunFile {
  if (leadsToLog(path)) throw new UserError(`${path} is the log of a session: choose another file`);
  const problem = ownFileProblem(path);
  if (problem !== undefined) throw new UserError(`${path} cannot be written: ${problem.message}`);
  const file = growOwnFile(path, mode);
  let tell: (message: string) => void = () => undefined;
  let lost: string | undefined;
  let written: Promise<unknown> = Promise.resolve();
  const append = async (text: string): Promise<boolean> => {
    const done = await file.append(text);
    if (!done.ok && lost === undefined) {
      lost = done.message;
      tell(`${what} is not kept from here on: ${path}: ${lost}`);
    }
    return done.ok;
  };
  return {
    add(text) {
      const added = written.then(() => append(text));
      written = added;
      return added;
    },
    onLost(listener) {
      tell = listener;
    },
    async settle() {
      await written;
      if (lost !== undefined) throw new UserError(`${what} could not be kept: ${path}: ${lost}`, EXIT.failed);
    },
  };
}
