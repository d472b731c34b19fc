/** Every example of the help topics, executed as it stands in a shell (issue 7), against a loopback model. */
import { expect, test } from "bun:test";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TOPICS } from "../../src/base/help-topics.ts";
import { topicText } from "../../src/cli/help.ts";
import { binary } from "../support/launch.ts";
import { startLoopback } from "../support/loopback.ts";
import { modelEnv, TEST_KEY } from "../support/model.ts";
import { tempDir } from "../support/temp.ts";

/** Examples that talk to a person; that they parse is tested in test/cli/help.test.ts. */
const INTERACTIVE = [
  /^thndrs$/,
  /^thndrs "/,
  /^thndrs --(?:model|continue|resume)\b[^|]*$/,
  /^thndrs (?:setup|trust|config edit|mcp login \w+)$/,
  /^export /,
];
/** Examples that name something only the reader has. */
const FOREIGN = [/^thndrs login openrouter$/];

type Example = { readonly topic: string; readonly script: string };

/** The code without a comment that ends the line. */
const bare = (line: string): string => line.replace(/\s+#.*$/, "").trim();

function examples(): readonly Example[] {
  return TOPICS.flatMap((topic) =>
    [...topicText(topic).matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = ""]) => {
      const lines = block.split("\n").map(bare).filter(Boolean);
      // Blocks with variables of their own are one script.
      const scripts = lines.some((line) => /^\w+=/.test(line)) ? [lines.join("\n")] : lines;
      return scripts
        .filter((script) => ![...INTERACTIVE, ...FOREIGN].some((pattern) => pattern.test(script)))
        .map((script) => ({ topic, script }));
    }),
  );
}

async function stage() {
  const server = await startLoopback([{ text: '{"rating": 1}' }], { repeatLast: true, models: [{ id: "mock" }] });
  const work = await tempDir({
    "README.md": "# Demo\n",
    "AGENTS.md": "Be brief.\n",
    "src/api/x.ts": "export const x = 1;\n",
    "schema.json": '{"type":"object","required":["rating"]}',
    list: "README.md\n",
  });
  const home = await tempDir({});
  await symlink(binary, home.at("thndrs"));
  // `npx -y PACKAGE …` would ask a registry: the package is a development dependency here.
  const filesystem = join(import.meta.dir, "../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
  await writeFile(home.at("npx"), `#!/bin/sh\nshift 2\nexec '${process.execPath}' '${filesystem}' "$@"\n`, { mode: 0o755 });
  const env: Record<string, string> = {
    PATH: `${home.path}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home.path,
    THNDRS_HOME: home.at("thndrs-home"),
    RUNNER_TEMP: home.path,
    KEY: TEST_KEY,
    EDITOR: "true",
    ...modelEnv(server.baseUrl, "anthropic"),
    ...modelEnv(server.baseUrl, "chat"),
    OLLAMA_BASE_URL: server.baseUrl,
  };
  const sh = async (script: string) => {
    const child = Bun.spawn(["bash", "-eo", "pipefail", "-c", script], {
      cwd: work.path,
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { script, code, stdout, stderr };
  };
  await sh(
    "git init -q && git config user.email a@example.org && git config user.name a && git add -A && git commit -qm one && echo more >> README.md",
  );
  return {
    sh,
    work,
    home,
    async [Symbol.asyncDispose]() {
      await server.close();
      work.remove();
      home.remove();
    },
  };
}

const without = (tool: RegExp, name: string): RegExp => (Bun.which(name) === null ? tool : /^$/);

test("the examples of every topic do what the shell was told", async () => {
  await using place = await stage();
  await place.sh('thndrs -p "login test"');
  const skipped = [without(/\bjq\b/, "jq"), without(/\bopenssl\b/, "openssl")];
  const failed: string[] = [];
  let count = 0;
  for (const { topic, script } of examples()) {
    if (skipped.some((pattern) => pattern.test(script))) continue;
    const { code, stderr } = await place.sh(script);
    if (code !== 0) failed.push(`${topic}: ${script}: exit ${code}\n${stderr}`);
    count++;
  }
  expect(failed).toEqual([]);
  expect(count).toBeGreaterThan(25);
}, 60_000);

test("C20 the CI jobs leave an answer and a patch", async () => {
  await using place = await stage();
  const jobs = [...topicText("print-mode").matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = ""]) => Bun.YAML.parse(yaml));
  // biome-ignore lint/suspicious/noExplicitAny: two foreign formats
  const [github, gitlab] = jobs as any[];
  const step = github.jobs.fix.steps.find((candidate: { run?: string }) => candidate.run);
  expect(await place.sh(step.run)).toMatchObject({ code: 0, stdout: "" });
  expect(await place.home.read("answer.md")).toContain("rating");
  expect(await place.home.read("fix.patch")).toContain("+more");
  expect(await place.sh(gitlab["fix-tests"].script.join("\n"))).toMatchObject({ code: 0, stdout: "" });
  expect(await place.work.read("answer.md")).toContain("rating");
});

test("the loop that reads a list keeps its list", async () => {
  await using place = await stage();
  const loop = /`(while read[^`]*)`/.exec(topicText("print-mode"))?.[1] ?? "";
  const run = await place.sh(loop);
  expect(run).toMatchObject({ code: 0, stdout: '{"rating": 1}\n' });
});
