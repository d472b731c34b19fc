import { expect, test } from "bun:test";
import { operatorNote } from "../../src/tools/shell-operators.ts";

const NOTED: readonly (readonly [string, number])[] = [
  ["echo hi > f.txt", 2],
  ["echo hi >> f.txt", 2],
  ["ls -la > f.txt", 2],
  ["cat < f.txt", 1],
  ["npm test 2>&1", 2],
  ["npm test 2>/dev/null", 2],
  ["npm test >/dev/null 2>&1", 2],
  ["make && make install", 1],
  ["make || true", 1],
  ["ps aux | grep x", 2],
  ["echo a ; echo b", 2],
  ["sleep 5 &", 2],
  ["grep x f.txt > out", 3],
  ["/bin/echo hi > f.txt", 2],
];
test.each(NOTED)("%s", (line, at) => {
  expect(operatorNote(line.split(" "))).toStartWith(`argv[${at}] `);
});

const SILENT = [
  "echo hi",
  "echo a>b 1&2 x;y",
  "test a > b",
  "[ a < b ]",
  "expr 1 | 2",
  "find . -exec ls {} ;",
  "awk -F ; x",
  "jq . | x",
  "sh -c x sh >",
  "bash -c x && y",
  "ssh host ls | wc",
  "cut -d ; -f 1 f",
  "sort -t | f",
  "grep | f",
  "rg -n && src",
  "tr ; x",
  "printf %s -> =>",
  "timeout 10 find . -name x.ts -exec wc -l {} ;",
  "sudo find . -exec ls {} ;",
  "fdfind .ts -x echo {} ;",
  "env sh -c x ;",
  "timeout 5 sh -c a >",
  "docker exec c sh -c a && b",
  "git grep -e ||",
  "git log -S &&",
  "rg -t ts && .",
];
test.each(SILENT)("silent: %s", (line) => expect(operatorNote(line.split(" "))).toBeUndefined());
