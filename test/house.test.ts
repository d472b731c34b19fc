/** The rules of the house (AGENTS.md), checked on the source text. Every rule carries an example that it must catch. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  codeOf,
  type Import,
  importsOf,
  lineAt,
  projectFiles,
  readSources,
  root,
  type SourceFile,
} from "./support/source-tree.ts";

const sources = readSources("src/**/*.ts");
const byPath = new Map(sources.map((file) => [file.path, file]));

const FLOORS: Readonly<Record<string, number>> = {
  cli: 6,
  ui: 5,
  app: 4,
  agent: 3,
  mcp: 3,
  acp: 3,
  tools: 2,
  context: 2,
  session: 2,
  config: 2,
  provider: 2,
  skills: 2,
  base: 1,
  types: 1,
};

/** `src/ui/print.ts` → `ui`; a file directly in src is on the top floor. */
function roomOf(path: string): string {
  const parts = path.split("/");
  return parts.length > 2 ? (parts[1] ?? "") : "main";
}

function floorOf(path: string): number {
  const room = roomOf(path);
  return room === "main" ? 7 : (FLOORS[room] ?? Number.NaN);
}

/** Help topics and prompts are data, not code: whoever needs one may embed it. */
function isCode(specifier: string): boolean {
  return specifier.endsWith(".ts");
}

function mayImport(from: string, to: string): boolean {
  if (roomOf(from) === roomOf(to)) return true;
  const [above, below] = [floorOf(from), floorOf(to)];
  // base may say the words of types; types know nobody.
  if (roomOf(from) === "base" && roomOf(to) === "types") return true;
  return below < above;
}

/** A pattern that may appear only in some files. `example` proves that the pattern catches what it is for. */
type Rule = { readonly what: string; readonly pattern: RegExp; readonly only: RegExp; readonly example: string };

const nowhere = /^$/;

/** The transports of the two protocols start their own servers and speak over their pipes (named exceptions). */
const transports = "src/(?:mcp|acp)/[\\w-]*transport[\\w-]*\\.ts";

const RULES: readonly Rule[] = [
  {
    what: "starting a process",
    pattern: /\bBun\.(?:spawn|spawnSync|\$)|\bnode:child_process\b|\bchild_process\b/,
    // base/interactive.ts hands the terminal to an editor: the opposite of what process.ts guarantees.
    only: new RegExp(`^(?:src/base/(?:process[\\w-]*|interactive)\\.ts|${transports})$`),
    example: "Bun.spawn([])",
  },
  {
    what: "stdout and stderr",
    pattern: /\bprocess\.std(?:out|err)\b|\bBun\.std(?:out|err)\b|\bconsole\.\w|\bwriteSync\(\s*[12]\b/,
    only: /^src\/ui\/(?:output|sink)\.ts$/,
    example: "console.log(1)",
  },
  {
    what: "stdin",
    pattern: /\bprocess\.stdin\b|\bBun\.stdin\b|\bBun\.file\(0\)|\breadSync\(\s*0\b|\bnode:readline\b/,
    only: /^src\/ui\/(?:key-source|stdin|tty)\.ts$/,
    example: "process.stdin.on",
  },
  {
    what: "the environment",
    pattern: /\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b/,
    only: /^src\/config\//,
    example: "process.env.HOME",
  },
  {
    what: "process.exit",
    pattern: /\bprocess\.(?:exit|reallyExit|abort)\b(?!Code)/,
    // A reader of our output that takes nothing would keep us for ever.
    only: /^src\/main\.ts$/,
    example: "process.exit(1)",
  },
  { what: "the exit code", pattern: /\bprocess\.exitCode\s*=(?!=)/, only: /^src\/main\.ts$/, example: "process.exitCode = 1" },
  {
    what: "the current directory",
    pattern: /\bprocess\.(?:cwd|chdir)\b(?:\(|;)/,
    only: /^src\/program\.ts$/,
    example: "process.cwd()",
  },
  {
    what: "fetch",
    pattern: /(?<![.\w#])fetch\(|\bglobalThis\.fetch\b|\bnode:https?\b/,
    // create.ts hands http.ts its fetch; listing.ts asks for /models.
    only: new RegExp(`^(?:src/provider/(?:http|create|listing)\\.ts|src/tools/web-client\\.ts|${transports})$`),
    example: "await fetch(url)",
  },
  {
    what: "appending to a file",
    pattern: /\bappendFile(?:Sync)?\b|\bcreateWriteStream\b|\bO_APPEND\b/,
    // Records of a session; what else grows during a run (recordings, captures) does through base/.
    only: /^src\/(?:session\/log|base\/file-append)\.ts$/,
    example: "appendFileSync(path, line)",
  },
  {
    what: "writing files",
    pattern:
      /\bBun\.write\b(?!\(Bun\.std)|\.writer\(\)|(?<!function )\b(?:writeFile|rename|unlink|rm|rmdir|mkdir|mkdtemp|copyFile|truncate|ftruncate|chmod|chown|symlink|link|utimes)(?:Sync)?\(/,
    // session/ and config/ keep thndrs' own data (log, lock, trust, credentials), never a user's file.
    only: /^src\/(?:base\/(?:files?(?:-[\w-]+)?|held-directory)|session\/[\w-]+|config\/[\w-]+|provider\/record[\w-]*)\.ts$/,
    example: "await writeFile(path, text)",
  },
  { what: "compiling text to code", pattern: /\beval\(|\bnew Function\b/, only: nowhere, example: "new Function(x)" },
  { what: "any", pattern: /\bas\s+any\b|<any>|:\s*any\b/, only: nowhere, example: "x as any" },
  { what: "module state", pattern: /^(?:export\s+)?(?:let|var)\s/m, only: nowhere, example: "let count = 0" },
  {
    what: "a global registry or cache",
    pattern:
      /^(?:export\s+)?const\s+\w+(?::(?!\s*readonly)[^=\n]+)?\s*=\s*(?:new (?:Map|Set|WeakMap|WeakSet)(?:<[^\n]*>)?\(\)|\[\];|\\;)/m,
    only: nowhere,
    example: "const cache = new Map<string, string>();",
  },
  {
    what: "waiting at import",
    pattern: /^(?:await\s|(?:export\s+)?const\s+\w+\s*=\s*await\s)/m,
    only: /^src\/main\.ts$/,
    example: "const x = await load();",
  },
  {
    what: "z as a value",
    pattern: /(?<![\w.$])z(?![\w.$:])/,
    only: nowhere,
    example: "build(z)",
  },
];

/**
 * The lazy doors: `await import()` may name these and nothing else. `start` doors are on the way to the first request, so
 * what lies behind them is held to the same weight as main.ts; `later` doors may be heavy.
 */
const DOORS: readonly { readonly to: RegExp; readonly when: "start" | "later" }[] = [
  {
    to: /^(?:@clack\/prompts|@huggingface\/jinja|diff|linkedom|@mozilla\/readability|turndown|smol-toml|zod)(?:\/|$)/,
    when: "later",
  },
  { to: /^@(?:modelcontextprotocol|agentclientprotocol)\//, when: "later" },
  { to: /^src\/(?:mcp|acp)\//, when: "later" },
  // The halves of ACP that need app/: a turn an external agent drives, serving an editor.
  { to: /^src\/app\/acp-[\w-]+\.ts$/, when: "later" },
  // A tool's module with its schema, when the tool is first called.
  { to: /^src\/tools\/(?!(?:registry|tool|bounds|background)\.ts$)[\w-]+\.ts$/, when: "later" },
  // A subcommand when it is named; print mode and the REPL are the ways to the first request.
  { to: /^src\/(?:program|base\/process|cli\/(?:run|repl)|app\/[\w-]+|ui\/[\w-]+)\.ts$/, when: "start" },
  { to: /^src\/cli\/[\w-]+\.ts$/, when: "later" },
  // The wire format of the run's provider.
  { to: /^src\/provider\/(?:anthropic|openai-responses)\.ts$/, when: "start" },
  // Where an instruction file is a template.
  { to: /^src\/context\/template-engine\.ts$/, when: "later" },
  // Only where a settings file exists, or a session is read back.
  { to: /^src\/config\/(?:toml|project)\.ts$/, when: "later" },
  { to: /^src\/session\/(?:record-schemas|resume|recover)\.ts$/, when: "later" },
  // --replay.
  { to: /^src\/provider\/replay\.ts$/, when: "later" },
  // Built in, but 2 ms to load: with the first child process.
  { to: /^bun:ffi$/, when: "later" },
];

/** Packages that must not be loaded before the first request leaves. */
const HEAVY =
  /^(?:zod|@clack\/prompts|@huggingface\/jinja|diff|linkedom|@mozilla\/readability|turndown|@modelcontextprotocol\/.*|@agentclientprotocol\/.*)$/;

function doorOf(found: Import): "start" | "later" | undefined {
  return DOORS.find((door) => door.to.test(found.file ?? found.specifier))?.when;
}

function bare(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function places(file: SourceFile, pattern: RegExp): string[] {
  const flags = pattern.flags.includes("g") ? pattern.flags : `${pattern.flags}g`;
  return [...file.code.matchAll(new RegExp(pattern, flags))].map((match) => `${file.path}:${lineAt(file.code, match.index)}`);
}

/** `import * as z from "zod"` and the like are no use of z as a value. */
function withoutImports(code: string): string {
  return code.replace(/^import\s[^;]*;/gm, (whole) => whole.replace(/[^\n]/g, " "));
}

test("the reader of source text sees code, and only code", () => {
  const text =
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text of a template
    'a("x // y"); // process.exit\nb(`p ${c("}")} process.exit`); /* process.exit */ d(/process.exit["/]/g, e / f); `${`${g}`}`;\nh();';
  const code = codeOf(text);
  expect(code).toHaveLength(text.length);
  expect(code).not.toContain("process.exit");
  // biome-ignore lint/suspicious/noTemplateCurlyInString: source text of a template
  expect(code.replace(/\s+/g, "")).toBe('a("");b(`${c("")}`);d(//g,e/f);`${`${g}`}`;h();');
  const imports =
    'import type { A } from "./a.ts";\nimport { b } from "../b.ts";\nimport {\n  c,\n} from "c";\nexport { d } from "./d.ts";\nimport "./e.ts";\nconst f = await import("./f.ts");\nlet g: typeof import("./g.ts");\n// import h from "h";\nconst i = \'import j from "j"\';';
  expect(
    importsOf("src/x/y.ts", imports, codeOf(imports)).map((found) => `${found.kind} ${found.file ?? found.specifier}`),
  ).toEqual([
    "type src/x/a.ts",
    "value src/b.ts",
    "value c",
    "value src/x/d.ts",
    "value src/x/e.ts",
    "lazy src/x/f.ts",
    "type src/x/g.ts",
  ]);
});

test("every room has a floor", () => {
  const rooms = [...new Set(sources.map((file) => roomOf(file.path)))];
  expect(rooms.filter((room) => room !== "main" && FLOORS[room] === undefined)).toEqual([]);
});

test("imports go down a floor or stay in the room; the wings are strangers", () => {
  expect(mayImport("src/tools/read.ts", "src/context/scan.ts")).toBe(false);
  expect(mayImport("src/agent/loop.ts", "src/ui/print.ts")).toBe(false);
  expect(mayImport("src/types/event.ts", "src/base/hash.ts")).toBe(false);
  const wrong = sources.flatMap((file) =>
    file.imports
      .filter((found) => found.file !== undefined && isCode(found.specifier) && !mayImport(file.path, found.file))
      .map((found) => `${file.path} → ${found.file}`),
  );
  expect(wrong).toEqual([]);
});

test("relative imports name an existing file with its ending", () => {
  const wrong = sources.flatMap((file) =>
    file.imports
      .filter(
        (found) => found.file !== undefined && !(/\.(?:ts|md|json)$/.test(found.specifier) && existsSync(join(root, found.file))),
      )
      .map((found) => `${file.path} → ${found.specifier}`),
  );
  expect(wrong).toEqual([]);
});

/** Every cycle of value imports, once. */
function cycles(edges: ReadonlyMap<string, readonly string[]>): string[] {
  const found = new Set<string>();
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string) => {
    const at = path.indexOf(file);
    if (at >= 0) {
      found.add([...path.slice(at), file].join(" → "));
      return;
    }
    if (done.has(file)) return;
    path.push(file);
    for (const next of edges.get(file) ?? []) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of edges.keys()) visit(file);
  return [...found];
}

test("no import cycles", () => {
  const sample = new Map([
    ["a", ["b"]],
    ["b", ["c"]],
    ["c", ["b"]],
  ]);
  expect(cycles(sample)).toEqual(["b → c → b"]);
  const edges = new Map(
    sources.map((file) => [
      file.path,
      file.imports.flatMap((found) => (found.kind === "value" && found.file ? [found.file] : [])),
    ]),
  );
  expect(cycles(edges)).toEqual([]);
});

for (const rule of RULES) {
  test(`one place only: ${rule.what}`, () => {
    expect(rule.pattern.test(codeOf(rule.example))).toBe(true);
    const wrong = sources
      .filter((file) => !rule.only.test(file.path))
      .flatMap((file) => places({ ...file, code: withoutImports(file.code) }, rule.pattern));
    expect(wrong).toEqual([]);
  });
}

test("node:child_process is imported where processes are started and nowhere else", () => {
  const spawns = RULES[0]?.only ?? nowhere;
  const wrong = sources
    .filter((file) => !spawns.test(file.path) && file.imports.some((found) => /^(?:node:)?child_process$/.test(found.specifier)))
    .map((file) => file.path);
  expect(wrong).toEqual([]);
});

test("await import() only at the named doors", () => {
  const wrong = sources.flatMap((file) =>
    file.imports
      .filter((found) => found.kind === "lazy" && doorOf(found) === undefined)
      .map((found) => `${file.path} → ${found.file ?? found.specifier}`),
  );
  const computed = sources.flatMap((file) => places(file, /\bimport\((?!\s*["'])/));
  expect([...wrong, ...computed]).toEqual([]);
});

/** How main.ts reaches every module that is loaded before the first request: module or package → the import chain. */
function startPath(entry: string): Map<string, string> {
  const reached = new Map<string, string>([[entry, entry]]);
  const queue = [entry];
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    for (const found of byPath.get(path)?.imports ?? []) {
      if (found.kind === "type" || (found.kind === "lazy" && doorOf(found) !== "start")) continue;
      const target = found.file ?? bare(found.specifier);
      if (reached.has(target)) continue;
      reached.set(target, `${reached.get(path)} → ${target}`);
      if (found.file) queue.push(found.file);
    }
  }
  return reached;
}

test("nothing heavy is loaded on the way to the first request", () => {
  expect(byPath.has("src/main.ts")).toBe(true);
  const heavy = [...startPath("src/main.ts")].filter(([target]) => HEAVY.test(target)).map(([, chain]) => chain);
  expect(heavy).toEqual([]);
});

test("nothing of mcp/ or acp/ is loaded on the way to the first request", () => {
  const outside = /^src\/(?:mcp\/|acp\/|app\/acp-)/;
  const reached = [...startPath("src/main.ts")].filter(([target]) => outside.test(target)).map(([, chain]) => chain);
  expect(reached).toEqual([]);
});

test("context/ reaches neither config/, tools/ nor provider/", () => {
  const wrong = sources
    .filter((file) => roomOf(file.path) === "context")
    .flatMap((file) => [...startPath(file.path).values()].filter((chain) => /src\/(?:config|tools|provider)\//.test(chain)));
  expect(wrong).toEqual([]);
});

test("only the listed dependencies", () => {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { dependencies: Record<string, string> };
  const listed = new Set(Object.keys(manifest.dependencies));
  const wrong = sources.flatMap((file) =>
    file.imports
      .filter((found) => !found.file && !/^(?:node:|bun(?::|$))/.test(found.specifier) && !listed.has(bare(found.specifier)))
      .map((found) => `${file.path} → ${found.specifier}`),
  );
  expect(wrong).toEqual([]);
  expect(Object.values(manifest.dependencies).filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});

const allCode = [
  ...sources,
  ...readSources("scripts/**/*.ts", "test/**/*.ts").filter((file) => !/\/(?:fixtures|demo-project)\//.test(file.path)),
];

test("files say at the top what they own", () => {
  const needing = allCode.filter((file) => !file.path.endsWith(".test.ts"));
  expect(needing.filter((file) => !/^(?:#!.*\n)?\/(?:\*\*|\/)/.test(file.text)).map((file) => file.path)).toEqual([]);
});

test("no file is called utils, helpers, core or index", () => {
  expect(
    allCode.filter((file) => /(?:^|[/-])(?:utils?|helpers?|core|index)\.ts$/.test(file.path)).map((file) => file.path),
  ).toEqual([]);
});

test("no file is longer than 400 lines (tests: 800)", () => {
  const long = allCode
    .map((file) => ({ path: file.path, lines: file.text.split("\n").length - 1 }))
    .filter(({ path, lines }) => lines > (path.endsWith(".test.ts") ? 800 : 400))
    .map(({ path, lines }) => `${path}: ${lines}`);
  expect(long).toEqual([]);
});

test("nothing unfinished, nothing switched off", () => {
  const marks = new RegExp(["TO" + "DO", "FIX" + "ME", "not implem" + "ented"].join("|"), "i");
  expect(sources.filter((file) => marks.test(file.text)).map((file) => file.path)).toEqual([]);
  const switchedOff = allCode.flatMap((file) => places(file, /\b(?:test|describe|it)\.(?:only|todo)\b/));
  const silenced = allCode.filter((file) => new RegExp(`@ts-(?:${"ignore"}|nocheck)`).test(file.text)).map((file) => file.path);
  expect([...switchedOff, ...silenced]).toEqual([]);
});

test("no path of a machine and no package registry in the project's files", () => {
  // Put together here, so that this file does not catch itself.
  const patterns = [
    new RegExp(`(?:^|[^\\w.$}-])/${"work"}/(?:main|shared|\\.library)`),
    new RegExp(`/${"root"}/(?!\\*)`),
    new RegExp(`/tmp/${"team"}`),
    new RegExp(["registry\\." + "npmjs", "npmjs\\." + "org", "registry\\." + "yarnpkg", "deb\\." + "debian"].join("|")),
    new RegExp(`https?://[^\\s"']*/${"artifactory"}|${"nexus"}/repository`),
  ];
  const wrong = projectFiles().flatMap((path) => {
    const text = readFileSync(join(root, path), "latin1");
    return patterns.flatMap((pattern) => {
      const found = pattern.exec(text);
      return found ? [`${path}:${lineAt(text, found.index)}: ${found[0]}`] : [];
    });
  });
  expect(wrong).toEqual([]);
});

test("the map in AGENTS.md names every room", () => {
  const path = join(root, "AGENTS.md");
  // The map is written once the rooms are furnished; from then on it must be complete.
  if (!existsSync(path)) return;
  const map = readFileSync(path, "utf8");
  const rooms = [...new Set(sources.map((file) => roomOf(file.path)))].filter((room) => room !== "main");
  expect(rooms.filter((room) => !map.includes(`${room}/`))).toEqual([]);
});
