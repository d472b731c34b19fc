/** `/mcp`: the servers of this run, their state and their tools. Refuses: starting and ending them. */
import type { Repl } from "./repl.ts";
import { visible } from "./sanitize.ts";
import { fit } from "./style.ts";

const STATES: Readonly<Record<string, string>> = { starting: "is starting", failed: "failed", ended: "ended", closed: "closed" };

/** `/mcp`. */
export function showServers(repl: Repl): void {
  const servers = repl.controls.mcp();
  if (servers.length === 0) {
    repl.say(['no MCP servers in this run ("thndrs mcp list" shows what is configured)']);
    return;
  }
  const lines = servers.flatMap(({ name, state, reason, tools }) => {
    const what = state === "ready" ? `${tools.length} tools` : `${STATES[state] ?? state}${reason === "" ? "" : `: ${reason}`}`;
    return [`  ${name}  ${what}`, ...tools.map((tool) => `    ${tool}`)];
  });
  repl.say(lines.map((line) => fit(visible(line), repl.columns)));
}
