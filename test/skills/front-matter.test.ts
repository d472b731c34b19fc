/** The head of a SKILL.md: what is taken, what is a warning, what costs the skill. */
import { expect, test } from "bun:test";
import { parseSkill, splitFrontMatter } from "../../src/skills/front-matter.ts";

const parse = (yaml: string, directory = "deploy") => parseSkill(`---\n${yaml}\n---\nBody\n`, directory);
const errors = (yaml: string) => parse(yaml).faults.filter((fault) => fault.severity === "error");

test("every known key is taken", () => {
  const yaml = [
    "name: deploy",
    "description: >",
    "  Deploys the",
    "  service.",
    "license: MIT",
    "compatibility: needs kubectl",
    "metadata: {author: me, version: 2}",
    "allowed-tools: Bash(git:*), Read Bash(npm run *)",
    "references: [a.md, docs/b.md]",
  ].join("\n");
  expect(parse(yaml)).toEqual({
    head: {
      name: "deploy",
      description: "Deploys the service.",
      license: "MIT",
      compatibility: "needs kubectl",
      metadata: { author: "me", version: "2" },
      allowedTools: ["Bash(git:*)", "Read", "Bash(npm run *)"],
      references: ["a.md", "docs/b.md"],
    },
    faults: [],
    body: "Body\n",
  });
});

test("allowed-tools may be a list", () => {
  expect(parse("name: deploy\ndescription: d\nallowed-tools:\n  - read\n  - run_shell(git *)").head?.allowedTools).toEqual([
    "read",
    "run_shell(git *)",
  ]);
});

test("unknown keys and values of the wrong kind are warnings with their line", () => {
  const { head, faults } = parse(
    "name: deploy\ndescription: d\nmodel: opus\nhooks:\n  PreToolUse: []\nlicense: [1]\nmetadata: text\nreferences: a.md\nallowed-tools: {a: 1}",
  );
  expect(head?.name).toBe("deploy");
  expect(faults.every((fault) => fault.severity === "warning")).toBe(true);
  expect(faults.map((fault) => `${fault.line} ${fault.what}`)).toEqual([
    '4 unknown key "model"; ignored',
    '5 unknown key "hooks"; ignored',
    "7 license is not text; ignored",
    "8 metadata is not a map; ignored",
    "10 allowed-tools is not a list; ignored",
    "9 references is not a list; ignored",
  ]);
});

test("another directory name is a warning", () => {
  const { head, faults } = parse("name: deploy\ndescription: d", "deployment");
  expect(head?.name).toBe("deploy");
  expect(faults).toMatchObject([{ severity: "warning", what: expect.stringContaining("directory") }]);
});

test("what a skill cannot be without", () => {
  expect(errors("description: d")).toMatchObject([{ what: "name is missing" }]);
  expect(errors("name: deploy")).toMatchObject([{ what: "description is missing" }]);
  expect(errors('name: ""\ndescription: "  "')).toHaveLength(2);
  expect(errors("name: [a]\ndescription: {a: b}")).toHaveLength(2);
  for (const name of ["Deploy", "de ploy", "-deploy", "deploy-", "de--ploy", "de_ploy", "../deploy", "déploy", "$deploy"]) {
    expect({ name, errors: errors(`name: "${name}"\ndescription: d`).length }).toEqual({ name, errors: 1 });
  }
});

test("name 64 and description 1,024 characters are the limits", () => {
  const text = (name: number, description: number) => `name: ${"n".repeat(name)}\ndescription: ${"d".repeat(description)}`;
  expect(errors(text(64, 1024))).toEqual([]);
  expect(errors(text(65, 1024))).toMatchObject([{ what: expect.stringContaining("at most 64"), line: 2 }]);
  expect(errors(text(64, 1025))).toMatchObject([{ what: expect.stringContaining("at most 1024"), line: 3 }]);
});

test("a colon in a description is what people write: read as text, with a warning", () => {
  const { head, faults } = parse('name: deploy\ndescription: Use when: the user says: deploy "it"');
  expect(head?.description).toBe('Use when: the user says: deploy "it"');
  expect(faults).toMatchObject([{ severity: "warning", what: expect.stringContaining("quotes") }]);
});

test("what is no front matter, no YAML, no map", () => {
  for (const text of ["", "# Title\n", "---\nname: x\n", "\n---\nname: x\n---\n", "--- x\nname: a\n---\n"]) {
    expect(parseSkill(text, "x")).toMatchObject({ head: undefined, faults: [{ severity: "error" }] });
  }
  for (const yaml of [
    "- a\n- b",
    "just words",
    "",
    "name: [",
    "a: &a [*a]",
    `x: ${"[".repeat(20_000)}`,
    'name: "x',
    "\t- x",
    "!!js/function x",
  ]) {
    expect({ yaml: yaml.slice(0, 20), head: parse(yaml).head }).toEqual({ yaml: yaml.slice(0, 20), head: undefined });
  }
});

test("CRLF, a byte order mark, trailing blanks and `...` as the end", () => {
  const { head, body } = parseSkill("\ufeff---  \r\nname: x\r\ndescription: d\r\n---\t\r\nBody\r\n", "x");
  expect(head).toMatchObject({ name: "x", description: "d" });
  expect(body).toBe("Body\r\n");
  expect(splitFrontMatter("---\na: 1\n...\nrest")).toEqual({ yaml: "a: 1\n", body: "rest" });
  expect(splitFrontMatter("---\na: 1\n---")).toEqual({ yaml: "a: 1\n", body: "" });
});

test("names of objects' own are ordinary keys", () => {
  const { head, faults } = parse("name: deploy\ndescription: d\nmetadata: {__proto__: x, constructor: y}\ntoString: 1");
  expect(Object.keys(head?.metadata ?? {})).toContain("constructor");
  expect(faults).toMatchObject([{ severity: "warning", what: 'unknown key "toString"; ignored' }]);
});
