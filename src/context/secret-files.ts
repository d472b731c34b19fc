/**
 * Which files a repository may not bring into a conversation by a name of its own (security.md 3): `.git/config`, `.env*`, key
 * and credential files are readable only by who asks for them by their exact path. Refuses: reading; asking the disk.
 */
import { basename } from "node:path";
import { isSecretPath } from "../base/secret-files.ts";
import { isInside, segmentsBelow } from "./places.ts";

export const TEXT_FILE = /\.(?:md|markdown|mdx|mdc|mdown|txt|text|rst|adoc|asciidoc)$/i;

/** True for a file that holds credentials, going by its real path. Directories are looked at below `root` only. */
export function isSecretFile(root: string, real: string): boolean {
  return isSecretPath(isInside(root, real) ? segmentsBelow(root, real).join("/") : basename(real));
}

/**
 * Whether a link that stands for an instruction file may lead to this real path: inside `root`, and to text that people write
 * (`AGENTS.md → .cursorrules`), not to data. `true`, or why not; `false` where it leads outside.
 */
export function mayLead(root: string, real: string): boolean | string {
  if (!isInside(root, real)) return false;
  if (isSecretFile(root, real)) return "it is a link to a file that may hold secrets";
  const name = basename(real);
  const prose = TEXT_FILE.test(name) || !name.includes(".") || /^\.\w+rules$/i.test(name);
  return prose || "it is a link to a file that is no Markdown or text file";
}
