/**
 * The files of a workspace that wait for trust: its configuration, its MCP servers, its skills. Refuses: trusting them.
 */
import { join } from "node:path";
import { readSettingsFile } from "./settings-file.ts";

export type TrustFile = { readonly path: string; readonly bytes: Uint8Array; readonly kind: "config" | "mcp" | "skill" };

const SKILL_ROOTS = [".thndrs/skills", ".agents/skills", ".claude/skills"] as const;
/** More skills than this are not listed: trust is something a person reads. */
const MAX_SKILLS = 200;

async function skillFiles(root: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const directory of SKILL_ROOTS) {
    const glob = new Bun.Glob("**/SKILL.md");
    try {
      for await (const path of glob.scan({ cwd: join(root, directory), dot: false, followSymlinks: false })) {
        if (found.length >= MAX_SKILLS) return found;
        found.push(join(directory, path));
      }
    } catch (error) {
      if (!(error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))) throw error;
    }
  }
  return found.sort();
}

/** Every file that asks for trust in the workspace at `root`, with the bytes that would be trusted. */
export async function findTrustFiles(root: string): Promise<readonly TrustFile[]> {
  const named: readonly (readonly [string, TrustFile["kind"]])[] = [
    [join(".thndrs", "config.toml"), "config"],
    [".mcp.json", "mcp"],
    ...(await skillFiles(root)).map((path) => [path, "skill"] as const),
  ];
  const files: TrustFile[] = [];
  for (const [relative, kind] of named) {
    const path = join(root, relative);
    const read = readSettingsFile(path);
    if (read.kind === "bytes") files.push({ path, bytes: read.bytes, kind });
  }
  return files;
}
