/**
 * Which files hold credentials, going by their names (security.md 3): `.git/config`, `.env*`, key and credential files are readable
 * only by who asks for them by their exact path. Refuses: reading; asking the disk.
 */

const SECRET_DIRECTORIES = new Set([".git", ".hg", ".svn", ".jj", ".bzr", "_darcs", ".ssh", ".gnupg"]);
const SECRET_NAMES: readonly RegExp[] = [
  // `.env.example` and its kin are committed for everybody to read.
  /^\.env(?!\.(?:example|sample|template|dist|defaults?)$)(?:$|[^a-z0-9])/,
  /\.env$/,
  /^\.(?:netrc|pgpass|npmrc|yarnrc\.yml|pypirc|htpasswd|my\.cnf|git-credentials|vault-token|dockercfg|s3cfg|boto)$/,
  /^(?:id_(?:rsa|dsa|ecdsa|ed25519)|ssh_host_[a-z0-9]+_key)$/,
  /\.(?:pem|key|p8|p12|pfx|jks|keystore|kdbx|ppk|gpg|tfvars|tfstate)$/,
  // Otherwise it is AsciiDoc, or a signature.
  /(?:secret|priv)[\w.-]*\.asc$/,
  /^(?:_netrc|(?:credentials?|secrets?)(?:\.(?:json|ya?ml|toml|ini|cfg|conf|properties|txt|enc))?)$/,
];
const SECRET_PLACES = /(?:^|\/)(?:\.kube\/config|\.docker\/config\.json)$/;

/** True for a path, `/`-separated and relative to where it is looked at from, of a file that may hold credentials. */
export function isSecretPath(path: string): boolean {
  const lower = path.toLowerCase();
  const parts = lower.split("/");
  const name = parts.at(-1) ?? "";
  if (parts.slice(0, -1).some((part) => SECRET_DIRECTORIES.has(part) || part.endsWith(".git"))) return true;
  return SECRET_NAMES.some((pattern) => pattern.test(name)) || SECRET_PLACES.test(lower);
}
