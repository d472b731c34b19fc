/**
 * The files of a workspace that wait for trust: its configuration, its MCP servers, its skills. Refuses: trusting them.
 */
import { readdirSync, realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { errnoOf } from "../base/file-problem.ts";
import { decodeSettings, readSettingsFile } from "./settings-file.ts";
import { parseConfigFile } from "./toml.ts";

export type TrustFile = { readonly path: string; readonly bytes: Uint8Array; readonly kind: "config" | "mcp" | "skill" };

const SKILL_ROOTS = [".thndrs/skills", ".agents/skills", ".claude/skills"] as const;
/** More skills than this are not listed: trust is something a person reads. */
const MAX_SKILLS = 200;

/** `skill_dirs` of the project's file that lie in the workspace, relative to it. */
function declaredRoots(root: string, file: string): readonly string[] {
  const read = readSettingsFile(file);
  if (read.kind !== "bytes") return [];
  const declared = parseConfigFile(file, decodeSettings(file, read.bytes), undefined);
  const value = declared.find(({ path }) => path.join(".") === "skill_dirs")?.value;
  return (Array.isArray(value) ? value : [])
    .map((path) => relative(root, String(path)))
    .filter((path) => path !== "" && path !== ".." && !path.startsWith(`..${sep}`));
}

/** Skills that are links to a directory elsewhere in the workspace; none leads out of it. */
function linkedSkills(root: string, directory: string): string[] {
  return readdirSync(join(root, directory), { withFileTypes: true })
    .filter((entry) => entry.isSymbolicLink())
    .map((entry) => join(directory, entry.name, "SKILL.md"))
    .filter((path) => {
      try {
        return realpathSync(join(root, path)).startsWith(`${root}${sep}`);
      } catch {
        return false;
      }
    });
}

async function skillFiles(root: string, more: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const directory of new Set([...SKILL_ROOTS, ...more])) {
    const glob = new Bun.Glob("**/SKILL.md");
    try {
      for await (const path of glob.scan({ cwd: join(root, directory), dot: false, followSymlinks: false })) {
        if (found.length >= MAX_SKILLS) return found;
        found.push(join(directory, path));
      }
      found.push(...linkedSkills(root, directory));
    } catch (error) {
      if (!["ENOENT", "ENOTDIR"].includes(errnoOf(error))) throw error;
    }
  }
  return [...new Set(found)].slice(0, MAX_SKILLS).sort();
}

/**
 * Every file that asks for trust in the workspace at `root`, with the bytes that would be trusted.
 * @throws UserError when the project's configuration is wrong
 */
export async function findTrustFiles(root: string): Promise<readonly TrustFile[]> {
  const config = join(".thndrs", "config.toml");
  const more = declaredRoots(root, join(root, config));
  const named: readonly (readonly [string, TrustFile["kind"]])[] = [
    [config, "config"],
    [".mcp.json", "mcp"],
    ...(await skillFiles(root, more)).map((path) => [path, "skill"] as const),
  ];
  const files: TrustFile[] = [];
  for (const [relative, kind] of named) {
    const path = join(root, relative);
    const read = readSettingsFile(path);
    if (read.kind === "bytes") files.push({ path, bytes: read.bytes, kind });
  }
  return files;
}
