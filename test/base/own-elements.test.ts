import { expect, test } from "bun:test";
import { attribute, escapeOwnTags } from "../../src/base/own-elements.ts";

test("no text opens or closes an element of ours, in any spelling; other markup stays", () => {
  const names = [
    "source",
    "project_context",
    "project_context_update",
    "project_instructions",
    "thndrs_self_knowledge",
    "skill",
    "skill_reference",
    "skill_content",
    "available_skills",
    "environment",
    "conversation_summary",
  ];
  for (const name of names)
    for (const tag of [`<${name}>`, `</${name}>`, `< / ${name.toUpperCase()} a="b">`, `<${name}/>`])
      expect(escapeOwnTags(`a ${tag} b`)).toBe(`a &lt;${tag.slice(1)} b`);
  const other = "<div> <sources> <skills> <environments/> a < source b && <T extends X>";
  expect(escapeOwnTags(other)).toBe("<div> <sources> <skills> <environments/> a &lt; source b && <T extends X>");
});

test("a value cannot leave its quotes or its line", () => {
  expect(attribute('a"b<c>&\n\u2028')).toBe("a&quot;b&lt;c&gt;&amp;&#10;&#8232;");
});

test("blanks behind an opening bracket take no longer than there are", () => {
  const text = `<${" ".repeat(300_000)}/${" ".repeat(300_000)}x`;
  expect(escapeOwnTags(text)).toBe(text);
});
