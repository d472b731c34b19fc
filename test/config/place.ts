/** A throw-away home and workspace for configuration tests. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type ConfigFlags, type LoadedConfig, loadConfig } from "../../src/config/load.ts";
import { openTrust } from "../../src/config/trust.ts";

export type Place = {
  readonly home: string;
  readonly root: string;
  readonly userFile: string;
  readonly projectFile: string;
  write(path: string, text: string): string;
  user(text: string): string;
  project(text: string): string;
  trust(): Promise<void>;
  load(flags?: ConfigFlags, env?: Record<string, string>): Promise<LoadedConfig>;
  /** The message of the UserError that loading ends in. */
  complaint(flags?: ConfigFlags, env?: Record<string, string>): Promise<string>;
  [Symbol.dispose](): void;
};

export function makePlace(): Place {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "thndrs-config-")));
  const home = join(base, "home");
  const root = join(base, "work");
  mkdirSync(root, { recursive: true });
  const userFile = join(home, "config.toml");
  const projectFile = join(root, ".thndrs", "config.toml");
  const write = (path: string, text: string): string => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  const load = (flags: ConfigFlags = {}, env: Record<string, string> = {}): Promise<LoadedConfig> =>
    loadConfig({ env: { THNDRS_HOME: home, ...env }, flags, cwd: root, workspaceRoot: root });
  return {
    home,
    root,
    userFile,
    projectFile,
    write,
    user: (text) => write(userFile, text),
    project: (text) => write(projectFile, text),
    async trust() {
      await openTrust(home).add([{ path: projectFile, bytes: await Bun.file(projectFile).bytes() }]);
    },
    load,
    async complaint(flags, env) {
      try {
        await load(flags, env);
      } catch (error) {
        if (error instanceof Error && error.name === "UserError") return error.message;
        throw error;
      }
      throw new Error("nothing was wrong");
    },
    [Symbol.dispose]() {
      rmSync(base, { recursive: true, force: true });
    },
  };
}
