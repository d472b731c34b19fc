/** Writes the address of the releases into scripts/install.sh. Refuses: an address that a shell could misread. */

const BLANK = /^stamped_url=''$/m;

/** `url`: where `latest/download/` and `download/vX.Y.Z/` are; undefined leaves the script without an address. */
export function stampInstaller(script: string, url: string | undefined): string {
  if (!BLANK.test(script)) throw new Error("install.sh has no line stamped_url=''");
  if (url === undefined) return script;
  if (!/^https?:\/\/[A-Za-z0-9._~:/%+-]+$/.test(url)) throw new Error(`--url=${url}: not an address that can be stamped`);
  return script.replace(BLANK, `stamped_url='${url.replace(/\/+$/, "")}'`);
}
