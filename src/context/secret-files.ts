/**
 * Which files a repository may not bring into a conversation by a name of its own (security.md 3): `.git/config`, `.env*`, key
 * and credential files are readable only by who asks for them by their exact path. Refuses: reading; asking the disk.
 */
import { basename } from "node:path";
import { isInside, segmentsBelow } from "./places.ts";

const SECRET_DIRECTORIES = new Set([".git", ".hg", ".svn", ".jj", ".bzr", "_darcs", ".ssh", ".gnupg"]);
const SECRET_NAMES: readonly RegExp[] = [
  // `.env.example` and its kin are committed for everybody to read.
  /^\.env(?!\.(?:example|sample|template|dist|defaults?)$)(?:$|[^a-z0-9])/,
  /\.env$/,
  /^\.(?:netrc|pgpass|npmrc|yarnrc\.yml|pypirc|htpasswd|my\.cnf|git-credentials|vault-token|dockercfg|s3cfg|boto)$/,
  /^(?:id_(?:rsa|dsa|ecdsa|ed25519)|ssh_host_[a-z0-9]+_key)$/,
  /\.(?:pem|key|p8|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg|tfvars|tfstate)$/,
  /^(?:_netrc|(?:credentials?|secrets?)(?:\.(?:json|ya?ml|toml|ini|cfg|conf|properties|txt|enc))?)$/,
];
const SECRET_PLACES = /(?:^|\/)(?:\.kube\/config|\.docker\/config\.json)$/;

export const TEXT_FILE = /\.(?:md|markdown|mdx|mdc|mdown|txt|text|rst|adoc|asciidoc)$/i;

/** True for a file that holds credentials, going by its real path. Directories are looked at below `root` only. */
export function isSecretFile(root: string, real: string): boolean {
  const parts = (isInside(root, real) ? segmentsBelow(root, real) : [basename(real)]).map((part) => part.toLowerCase());
  const name = parts.at(-1) ?? "";
  if (parts.slice(0, -1).some((part) => SECRET_DIRECTORIES.has(part) || part.endsWith(".git"))) return true;
  return SECRET_NAMES.some((pattern) => pattern.test(name)) || SECRET_PLACES.test(parts.join("/"));
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
