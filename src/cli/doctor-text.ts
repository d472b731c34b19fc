/** What `thndrs doctor` found, for a person. Refuses: finding anything out. */
import type { OutputStream } from "../ui/output.ts";
import { visible } from "../ui/sanitize.ts";
import type { Checked, EngineCheck, Reach } from "./doctor-checks.ts";

function engine(name: string, check: EngineCheck): string {
  return check.path === null ? `${name} not found` : `${name} ${check.version ?? "(version unknown)"} (${check.path})`;
}

function reachText(reach: Reach): string {
  return reach.ok
    ? `${reach.provider}: ${reach.models} models at ${reach.url}`
    : `${reach.provider}: ${reach.reason} (${reach.url})`;
}

function rows(checked: Checked): readonly (readonly [string, string])[] {
  const { terminal, session } = checked;
  const files = checked.config.files.map((file) => `${file.path} (${file.source}${file.trusted ? "" : ", not trusted"})`);
  const keys = checked.credentials.map((entry) => `${entry.provider}: ${entry.source}`);
  const set = Object.entries(checked.config.origins).map(([key, origin]) => `${key} (${origin})`);
  const unusable = checked.config.problem === undefined ? undefined : "cannot be used (see below)";
  return [
    ["thndrs", `${checked.version} (${checked.commit}), bun ${checked.bun}, ${checked.platform}`],
    ["workspace", checked.workspace],
    ["config", unusable ?? (files.length > 0 ? files.join(", ") : "no file")],
    ["settings", unusable ?? (set.length > 0 ? set.join(", ") : "all defaults")],
    ["model", checked.model ?? "none"],
    ["keys", keys.length > 0 ? keys.join(", ") : "none"],
    ["search", `${engine("rg", checked.tools.rg)}, ${engine("fd", checked.tools.fd)}`],
    ["sessions", `${session.path}${session.writable ? "" : ` (${session.reason})`}`],
    [
      "terminal",
      `stdin ${terminal.stdin}, stdout ${terminal.stdout ? `terminal, ${terminal.columns} columns` : "no terminal"}, colour ${terminal.color ? "on" : "off"}, TERM ${terminal.term ?? "not set"}`,
    ],
    ...(checked.reach ?? []).map((reach) => ["online", reachText(reach)] as const),
  ];
}

export function showReport(checked: Checked, stdout: OutputStream): void {
  for (const [name, text] of rows(checked)) stdout.line(`${name.padEnd(10)} ${visible(text)}`);
  for (const warning of checked.warnings) stdout.line(`${"warning".padEnd(10)} ${visible(warning)}`);
  for (const issue of checked.blocking_issues) {
    for (const [index, line] of issue.split("\n").entries())
      stdout.line(`${(index === 0 ? "missing" : "").padEnd(10)} ${visible(line)}`);
  }
  if (checked.blocking_issues.length === 0) stdout.line("ready: thndrs can answer a prompt");
}
