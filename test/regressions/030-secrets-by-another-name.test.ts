/**
 * A repository could have `.env` or the credentials in `.git/config` sent with the first request, without anybody asking for
 * them: by shipping `AGENTS.md → .env`, a template that transcludes it, or a pinned or linked name that leads there.
 */
import { expect, test } from "bun:test";
import { rmSync, symlinkSync } from "node:fs";
import { isSecretFile, mayLead } from "../../src/context/secret-files.ts";
import { bench, paths, states } from "../context/bench.ts";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const SECRETS = {
  "repo/.git/config": '[remote "o"]\n\turl = https://u:GITCRED@h/x\n',
  "repo/.git/notes.md": "GITCRED",
  "repo/.env": "DB=HUNTER2\n",
  "repo/.env.txt": "HUNTER2",
  "repo/certs/server.key": "HUNTER2",
  "repo/config/prod.json": '{"password":"HUNTER2"}',
};
const TELLING = /HUNTER2|GITCRED/;

test("an instruction file that is a link to a secret is skipped with a diagnostic, and the next name is tried", async () => {
  for (const target of [".env", ".git/config", ".git/notes.md", ".env.txt", "certs/server.key", "config/prod.json"]) {
    await using b = await bench({ ...SECRETS, "repo/CLAUDE.md": "RULES", "repo/p/x": "" });
    symlinkSync(target, b.at("AGENTS.md"));
    symlinkSync(`../${target}`, b.at("p/AGENTS.md"));
    const told = await b.engine.turn("p/x");
    expect({ target, paths: paths(b, told) }).toEqual({ target, paths: ["repo/CLAUDE.md"] });
    expect(told.text).not.toMatch(TELLING);
    expect(b.codes()).toEqual(["context_skipped", "context_skipped"]);
    expect(b.diagnostics[0]).toMatchObject({ severity: "warning", path: b.at("AGENTS.md") });
    expect(b.diagnostics[0]?.message).toMatch(/a link to a file that (may hold secrets|is no Markdown or text file)/);
  }
});

test("a file that becomes such a link later keeps its last good text", async () => {
  await using b = await bench({
    ...SECRETS,
    "repo/AGENTS.md": "ROOT @a.md",
    "repo/a.md": "A",
    "repo/p/AGENTS.md": "P",
    "repo/p/x": "",
  });
  await b.engine.turn("p/x");
  for (const name of ["AGENTS.md", "a.md", "p/AGENTS.md"]) {
    rmSync(b.at(name));
    symlinkSync(b.at(".env"), b.at(name));
  }
  expect((await b.engine.turn("p/x")).text).not.toMatch(TELLING);
  expect((await b.engine.compacted([])).text).not.toMatch(TELLING);
  expect(states(b)["repo/AGENTS.md"]).toBe("visible");
});

test("a template cannot transclude a secret, by its name or by another", async () => {
  for (const target of [".env", ".git/config", "alias.txt", "sub/config", "certs/server.key"]) {
    await using b = await bench({ ...SECRETS, "repo/AGENTS.md": `---\nthndrs: true\n---\n{{ transclude("${target}") }}\n` });
    symlinkSync(".env", b.at("alias.txt"));
    symlinkSync(".git", b.at("sub"));
    const { text } = await b.engine.start();
    expect({ target, told: TELLING.test(text) }).toEqual({ target, told: false });
    expect(b.diagnostics[0]?.message).toContain(`transclude("${target}"): it may hold secrets`);
  }
});

test("links and pins by another name are refused; a pin of the exact path is followed", async () => {
  await using b = await bench({ ...SECRETS, "repo/AGENTS.md": "@notes.md @.env.txt @.git/notes.md" });
  symlinkSync(".env", b.at("notes.md"));
  await b.engine.pin("notes.md");
  const first = await b.engine.turn("");
  expect(first.text).not.toMatch(TELLING);
  expect(b.codes()).toEqual([...Array(3).fill("context_link_refused"), "context_skipped"]);
  await b.engine.pin(".env");
  expect((await b.engine.turn("")).text).toContain("HUNTER2");
});

test("what people write rules in may be linked; what holds credentials has many names", () => {
  for (const name of ["docs/rules.md", ".cursorrules", "RULES", ".github/copilot-instructions.md"])
    expect({ name, leads: mayLead("/r", `/r/${name}`) }).toEqual({ name, leads: true });
  const secret = [".env", ".ENV.local", "a/prod.env", "x.git/config", "deploy/id_rsa", "k.PEM", ".npmrc", "secrets.yml"];
  for (const name of secret) expect({ name, secret: isSecretFile("/r", `/r/${name}`) }).toEqual({ name, secret: true });
  for (const name of [".env.example", ".gitignore", "environment.md", "id_rsa.pub", "secrets.md", ".github/x.md", "keys.ts"])
    expect({ name, secret: isSecretFile("/r", `/r/${name}`) }).toEqual({ name, secret: false });
  // A worktree of a bare repository lies below a directory of that name.
  expect(isSecretFile("/home/u/x.git/main", "/home/u/x.git/main/docs/a.md")).toBe(false);
});

test("the first request holds nothing of them, and stderr says why", async () => {
  await using dir = await tempDir({ ".git/config": "GITCRED", ".env": "HUNTER2", "p/x": "" });
  symlinkSync(".env", dir.at("AGENTS.md"));
  symlinkSync(".git/config", dir.at("CLAUDE.md"));
  await using model = await startModel([{ text: "done" }]);
  const { code, stderr } = await runThndrs({ args: ["-p", "hi"], cwd: dir.path, env: model.env });
  expect(code).toBe(0);
  expect(JSON.stringify(model.server.requests[0]?.body)).not.toMatch(TELLING);
  expect(stderr).toContain("it is a link to a file that may hold secrets");
});
