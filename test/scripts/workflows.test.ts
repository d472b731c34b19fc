/** .github/workflows: pinned, sparing with rights, and covering every target. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { TARGETS } from "../../scripts/release/targets.ts";
import { root } from "../support/source-tree.ts";

type Step = { readonly uses?: string; readonly run?: string };
type Job = {
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly strategy?: { readonly matrix: { readonly include: readonly { readonly target: string }[] } };
  readonly steps: readonly Step[];
};
type Workflow = { readonly permissions: Readonly<Record<string, string>>; readonly jobs: Readonly<Record<string, Job>> };

const directory = join(root, ".github", "workflows");
const workflows = readdirSync(directory).map((name) => {
  const text = readFileSync(join(directory, name), "utf8");
  return { name, text, flow: Bun.YAML.parse(text) as Workflow };
});
const jobs = workflows.flatMap(({ name, flow }) =>
  Object.entries(flow.jobs).map(([job, what]) => ({ name: `${name} ${job}`, what })),
);

test("every action is pinned to a commit, with its version beside it", () => {
  const uses = workflows.flatMap(({ text }) => [...text.matchAll(/uses:(.*)/g)].map(([, value = ""]) => value.trim()));
  expect(uses.length).toBeGreaterThan(5);
  for (const one of uses) expect(one).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test("a job has the rights it needs and an end; only publishing may write", () => {
  for (const { name, flow } of workflows) expect(flow.permissions, name).toEqual({ contents: "read" });
  for (const { name, what } of jobs) {
    expect(what["timeout-minutes"], name).toBeGreaterThan(0);
    const may = name === "release.yml publish" ? { contents: "write", "id-token": "write", attestations: "write" } : undefined;
    expect(what.permissions, name).toEqual(may as never);
  }
});

test("no expression is pasted into a script: what others wrote must not become code", () => {
  for (const { name, what } of jobs) for (const step of what.steps) expect(step.run ?? "", name).not.toContain("${{");
});

test("every target is tried out before a release is published", () => {
  const release = workflows.find(({ name }) => name === "release.yml")?.flow.jobs ?? {};
  const tried = ["smoke", "smoke-musl"].flatMap(
    (job) => release[job]?.strategy?.matrix.include.map(({ target }) => target) ?? [],
  );
  expect(tried.sort()).toEqual(TARGETS.map(({ name }) => name).sort());
  expect(release.publish?.needs).toEqual(["check", "build", "smoke", "smoke-musl"]);
});

test("scripts in workflows are valid shell", () => {
  for (const { name, what } of jobs)
    for (const { run } of what.steps) {
      if (run === undefined) continue;
      const parsed = Bun.spawnSync(["sh", "-n"], { stdin: new TextEncoder().encode(run), stderr: "pipe" });
      expect(parsed.stderr.toString(), name).toBe("");
    }
});

test("the checks are those of .ci/run", () => {
  const check = workflows.find(({ name }) => name === "check.yml")?.flow.jobs.check;
  expect(check?.steps.map(({ run }) => run).filter(Boolean)).toEqual([".ci/run"]);
});
