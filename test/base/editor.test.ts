import { expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { chosenEditor, commandWords } from "../../src/base/editor.ts";
import { tempDir } from "../support/temp.ts";

test("words of a command line, quoted as in a shell", () => {
  const lines: Record<string, readonly string[]> = {
    "code --wait": ["code", "--wait"],
    "  vim   -u NONE ": ["vim", "-u", "NONE"],
    '"/opt/My Editor/bin/edit" --wait': ["/opt/My Editor/bin/edit", "--wait"],
    "'/opt/My Editor/bin/edit' -n": ["/opt/My Editor/bin/edit", "-n"],
    "/opt/My\\ Editor/edit": ["/opt/My Editor/edit"],
    'emacs --eval "(setq x \\"y\\")"': ["emacs", "--eval", '(setq x "y")'],
    "vim -c 'set tw=72 et'": ["vim", "-c", "set tw=72 et"],
    "a\"b c\"d'e f'": ["ab cde f"],
    'edit ""': ["edit", ""],
    "it's": ["it's"],
    'say "never ends': ["say", '"never', "ends"],
    "ends with \\": ["ends", "with", "\\"],
    "$(rm -rf x); `y` | z": ["$(rm", "-rf", "x);", "`y`", "|", "z"],
    "": [],
  };
  for (const [line, words] of Object.entries(lines)) expect([line, commandWords(line)]).toEqual([line, words]);
});

test("$VISUAL before $EDITOR; a program whose path has blanks needs no quotes", async () => {
  await using dir = await tempDir({ "my editor": "#!/bin/sh\n" });
  const path = dir.at("my editor");
  expect(chosenEditor({ EDITOR: path })).toEqual(path.split(" "));
  chmodSync(path, 0o755);
  expect(chosenEditor({ EDITOR: path })).toEqual([path]);
  expect(chosenEditor({ EDITOR: `"${path}" -n` })).toEqual([path, "-n"]);
  expect(chosenEditor({ VISUAL: "a -b", EDITOR: "c" })).toEqual(["a", "-b"]);
  expect(chosenEditor({ VISUAL: "", EDITOR: " c " })).toEqual(["c"]);
  expect(chosenEditor({})).toBeUndefined();
});
