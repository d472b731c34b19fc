/** `context --show` rendered templates as for a run without tools, servers and skills: another text than the one that is sent. */
import { expect, test } from "bun:test";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const TEMPLATE = `---
thndrs: true
---
{% if has_tool("run_shell") %}MAY RUN{% else %}MAY NOT RUN{% endif %}
tools {{ available_tools | length }}, servers {{ available_mcp_servers | join(",") }}, skills {{ available_skills | join(",") }}
`;

test.each([[[]], [["--deny-tool", "run_shell"]], [["--authority", "read-only"]]])(
  "%j: the text that a model gets",
  async (flags) => {
    await using dir = await tempDir({
      "AGENTS.md": TEMPLATE,
      "home/config.toml": '[mcp.servers.off]\ncommand = "false"\n',
      "home/skills/mine/SKILL.md": "---\nname: mine\ndescription: d\n---\nText.\n",
    });
    await using model = await startModel([{ text: "done" }]);
    const env = { ...model.env, THNDRS_HOME: dir.at("home") };
    const run = (...args: string[]) => runThndrs({ args: [...args, ...flags], cwd: dir.path, env });
    await run("-p", "x", "--quiet");
    const sent: string = model.server.requests[0]?.body.messages.find((one: { role: string }) => one.role === "user").content;
    const { code, stdout } = await run("context", "--show");
    expect(code).toBe(0);
    expect(sent).toContain(stdout.trimEnd());
    expect(stdout).toContain(flags.length === 0 ? "MAY RUN" : "MAY NOT RUN");
  },
);
