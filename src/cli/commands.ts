/** Subcommand → its file. Each is a lazy door: a run loads none of them. */
import { type ExitCode, UserError } from "../base/user-error.ts";
import type { CommandContext, RunCommand } from "./command.ts";

const DOORS: Readonly<Record<string, () => Promise<RunCommand>>> = {
  setup: async () => (await import("./setup.ts")).runSetup,
  login: async () => (await import("./auth.ts")).runLogin,
  logout: async () => (await import("./auth.ts")).runLogout,
  auth: async () => (await import("./auth.ts")).runAuth,
  models: async () => (await import("./models.ts")).runModels,
  doctor: async () => (await import("./doctor.ts")).runDoctor,
  config: async () => (await import("./config.ts")).runConfig,
  context: async () => (await import("./context.ts")).runContext,
  tools: async () => (await import("./tools.ts")).runTools,
  skills: async () => (await import("./skills.ts")).runSkills,
  sessions: async () => (await import("./sessions.ts")).runSessions,
  usage: async () => (await import("./usage.ts")).runUsage,
  acp: async () => (await import("./acp.ts")).runAcp,
  mcp: async () => (await import("./mcp.ts")).runMcp,
  trust: async () => (await import("./trust.ts")).runTrust,
  completion: async () => (await import("./completion.ts")).runCompletion,
  help: async () => (await import("./help.ts")).runHelp,
};

/** @throws UserError when this build has no such command. */
export async function runCommand(name: string, context: CommandContext): Promise<ExitCode> {
  const door = DOORS[name];
  if (!door) throw new UserError(`unknown command "${name}"; "thndrs --help" lists the commands`);
  return (await door())(context);
}
