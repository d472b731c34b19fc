/** Where the sessions of this command are, and how their texts are made safe to show. Shared by `sessions` and `usage`. */
import { join } from "node:path";
import { redact } from "../base/redact.ts";
import { openWorkspace } from "../base/workspace.ts";
import { createCredentials } from "../config/credentials.ts";
import { loadConfig } from "../config/load.ts";
import { type Owner, ownerOf } from "../session/ids.ts";
import { type CommandContext, tellUnread } from "./command.ts";

export type SessionPlace = {
  /** Absolute. */
  readonly dir: string;
  /** Whose `latest` is meant. */
  readonly owner: Owner;
  readonly redact: (text: string) => string;
};

export async function openSessionPlace(context: CommandContext): Promise<SessionPlace> {
  const { env, flags, cwd } = context;
  const { root } = await openWorkspace(cwd);
  const loaded = await loadConfig({ env, flags, cwd, workspaceRoot: root });
  tellUnread(context, loaded.diagnostics);
  const exact = createCredentials({ env, configHome: loaded.homes.config }).knownValues();
  const dir = loaded.config.sessionDir ?? join(root, ".thndrs", "sessions");
  return {
    dir,
    owner: ownerOf(dir, root),
    redact: (text) => redact(text, { exact }),
  };
}
