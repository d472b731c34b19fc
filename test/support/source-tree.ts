/**
 * The source tree as the house rules see it: code without comments and literals, and who imports whom.
 * Refuses: parsing TypeScript in general; it knows the forms that the formatter leaves in this repository.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";

export const root = join(import.meta.dir, "..", "..");

export type Import = {
  /** As written. */
  readonly specifier: string;
  /** Path from the root for a relative specifier, otherwise undefined. */
  readonly file?: string;
  readonly kind: "value" | "type" | "lazy";
};

export type SourceFile = {
  /** From the root, `/` separators. */
  readonly path: string;
  readonly text: string;
  /** Same length and lines as `text`; comments and the insides of literals are blanks. */
  readonly code: string;
  readonly imports: readonly Import[];
};

const beforeRegex = /(?:^|[=(,:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|await|yield|void|delete|throw|else|do))\s*$/;

/** Blanks comments and the insides of strings, templates and regular expressions; keeps `${…}` code. */
export function codeOf(text: string): string {
  const out: string[] = [];
  let at = 0;
  let last = "";
  const blank = (to: number) => {
    out.push(text.slice(at, to).replace(/[^\n]/g, " "));
    at = to;
  };
  const keep = (to: number) => {
    const piece = text.slice(at, to);
    out.push(piece);
    last = (last + piece).slice(-40);
    at = to;
  };
  /** For every template that is open: how many braces are open inside its current `${`. */
  const templates: number[] = [];
  const template = () => {
    let to = at;
    while (to < text.length && text[to] !== "`" && !text.startsWith("${", to)) to += text[to] === "\\" ? 2 : 1;
    blank(Math.min(to, text.length));
    if (text[at] === "`") keep(at + 1);
    else {
      keep(at + 2);
      templates.push(0);
    }
  };
  while (at < text.length) {
    const char = text[at] ?? "";
    const two = text.slice(at, at + 2);
    if (two === "//") blank(endOr(text, text.indexOf("\n", at)));
    else if (two === "/*") blank(endOr(text, text.indexOf("*/", at) + 2));
    else if (char === '"' || char === "'") literal(char);
    else if (char === "`") {
      keep(at + 1);
      template();
    } else if (char === "/" && beforeRegex.test(last)) regex();
    else {
      const open = templates.at(-1);
      if (open !== undefined && char === "{") templates[templates.length - 1] = open + 1;
      if (open !== undefined && char === "}") {
        if (open === 0) {
          templates.pop();
          keep(at + 1);
          template();
          continue;
        }
        templates[templates.length - 1] = open - 1;
      }
      keep(at + 1);
    }
  }
  return out.join("");

  function literal(quote: string): void {
    let to = at + 1;
    while (to < text.length && text[to] !== quote && text[to] !== "\n") to += text[to] === "\\" ? 2 : 1;
    keep(at + 1);
    blank(Math.min(to, text.length));
    keep(Math.min(at + 1, text.length));
  }

  function regex(): void {
    let to = at + 1;
    let inClass = false;
    while (to < text.length && text[to] !== "\n" && (inClass || text[to] !== "/")) {
      if (text[to] === "[") inClass = true;
      if (text[to] === "]") inClass = false;
      to += text[to] === "\\" ? 2 : 1;
    }
    keep(at + 1);
    blank(Math.min(to, text.length));
    keep(Math.min(at + 1, text.length));
  }
}

function endOr(text: string, index: number): number {
  return index <= 1 ? text.length : index;
}

/** Every import of a file. `import { type A } from` counts as a value import: the module is still evaluated. */
export function importsOf(path: string, text: string, code: string): Import[] {
  const found: Import[] = [];
  const add = (specifier: string, kind: Import["kind"]) => {
    const file = specifier.startsWith(".") ? normalize(join(dirname(path), specifier)).replaceAll("\\", "/") : undefined;
    found.push({ specifier, kind, ...(file === undefined ? {} : { file }) });
  };
  const at = (match: RegExpMatchArray) => text.slice(match.index ?? 0).match(/["']([^"'\n]*)["']/)?.[1] ?? "";
  for (const match of code.matchAll(/^(?:import|export)\s+(type\s)?[^;"'()=]*?\bfrom\s*["']|^import\s*["']/gm)) {
    add(at(match), match[1] ? "type" : "value");
  }
  for (const match of code.matchAll(/(\btypeof\s+|[:<|&,]\s*)?\bimport\(\s*["']/g))
    add(at(match), match[1] && !/await/.test(match[0]) ? "type" : "lazy");
  return found;
}

/** Reads files below the root that match the patterns. */
export function readSources(...patterns: readonly string[]): SourceFile[] {
  const paths = patterns.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: root, onlyFiles: true })]);
  return [...new Set(paths)].sort().map((name) => {
    const path = name.replaceAll("\\", "/");
    const text = readFileSync(join(root, path), "utf8");
    const code = codeOf(text);
    return { path, text, code, imports: importsOf(path, text, code) };
  });
}

/** Line number (1-based) of an offset. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/** Files that belong to the project: tracked ones, and new ones that are not ignored; without git, everything but the build. */
export function projectFiles(): string[] {
  const git = Bun.which("git") && existsSync(join(root, ".git"));
  if (git) {
    const done = Bun.spawnSync(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root });
    if (done.exitCode === 0)
      return done.stdout
        .toString()
        .split("\0")
        .filter((path) => path !== "" && existsSync(join(root, path)));
  }
  return [...new Bun.Glob("**/*").scanSync({ cwd: root, onlyFiles: true, dot: true })]
    .map((path) => relative(root, join(root, path)))
    .filter((path) => !/^(node_modules|dist|\.git)\//.test(path));
}
