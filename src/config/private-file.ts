/** Small files of the user's own config home, written whole and readable by nobody else. Refuses: anything inside a workspace. */
import { writeOwnFile } from "../base/files.ts";
import { UserError } from "../base/user-error.ts";

/**
 * Writes `text` whole, mode 0600, in a directory made 0700 where it is missing.
 * @throws UserError with the reason
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const written = await writeOwnFile(path, text, 0o600);
  if (!written.ok) throw new UserError(`${path} cannot be written: ${written.message}`);
}
