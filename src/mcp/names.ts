/**
 * Names of outside tools as a provider takes them (M05): `mcp__{server}__{tool}`, at most 64 characters of [A-Za-z0-9_-].
 * A name depends on its own server and tool alone, so it stays the same whatever else is there. Refuses: remembering names.
 */

const MAX_NAME = 64;
const HASH_CHARS = 8;

/** Characters a provider would refuse become `_`. */
function clean(text: string): string {
  return text.toWellFormed().replace(/[^A-Za-z0-9_-]/gu, "_");
}

function shortHash(server: string, tool: string): string {
  return Bun.hash.xxHash64(`${server}\0${tool}`).toString(16).padStart(16, "0").slice(0, HASH_CHARS);
}

/** True when `server__tool` could be read as another server and tool, or as a name that was given a hash. */
function isAmbiguous(joined: string): boolean {
  const first = joined.indexOf("__");
  return joined.indexOf("__", first + 1) >= 0 || /_[0-9a-f]{8}$/.test(joined);
}

export type ToolName = {
  readonly name: string;
  /** False when the name had to be changed. */
  readonly exact: boolean;
};

/** Anything that was cleaned, cut or could be mistaken for another tool ends in a hash of the two original names. */
export function toolName(server: string, tool: string): ToolName {
  const joined = `${clean(server)}__${clean(tool)}`;
  const plain = `mcp__${joined}`;
  if (joined === `${server}__${tool}` && plain.length <= MAX_NAME && !isAmbiguous(joined)) return { name: plain, exact: true };
  const hash = shortHash(server, tool);
  return { name: `${plain.slice(0, MAX_NAME - HASH_CHARS - 1)}_${hash}`, exact: false };
}
