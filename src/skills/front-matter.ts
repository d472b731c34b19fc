/**
 * The head of a SKILL.md: YAML between two `---` lines, checked key by key. A mistake costs the key, or the skill, never
 * more; an untrusted one is read too, so nothing here takes longer than its length. Refuses: reading files, the body.
 */
import { isObject } from "../base/json.ts";
import { MAX_DESCRIPTION_CHARS, MAX_HEAD_CHARS, MAX_NAME_CHARS, type SkillHead } from "./skill.ts";

/** `line` is 1-based in the file. */
export type HeadFault = { readonly severity: "error" | "warning"; readonly what: string; readonly line?: number };

export type ParsedSkill = {
  /** Undefined when one of the faults is an error. */
  readonly head: SkillHead | undefined;
  readonly faults: readonly HeadFault[];
  /** The Markdown below the front matter. */
  readonly body: string;
};

const KEYS: ReadonlySet<string> = new Set([
  "name",
  "description",
  "license",
  "compatibility",
  "metadata",
  "allowed-tools",
  "references",
]);
/** Unknown keys that are named; more are counted. */
const MAX_UNKNOWN = 20;
/** What may be a YAML alias: a small text with many of them, or with maps merged through them, makes much work. */
const ALIAS = /(?:^|[\s,[{:])\*[^\s,[\]{}]/g;
const MAX_ALIASES = 16;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

function scalar(value: unknown): string | undefined {
  if (typeof value === "string") return value.trim() === "" ? undefined : value.trim();
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

function oneLine(text: string): string {
  return text
    .replace(/[\s\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ")
    .trim()
    .toWellFormed();
}

/** Splits the text; undefined without a complete front matter. LF and CRLF, one leading BOM. */
export function splitFrontMatter(text: string): { readonly yaml: string; readonly body: string } | undefined {
  const source = text.startsWith("\ufeff") ? text.slice(1) : text;
  const open = /^---[ \t]*\r?\n/.exec(source);
  if (!open) return undefined;
  const rest = source.slice(open[0].length);
  const close = /^(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/m.exec(rest);
  if (!close) return undefined;
  return { yaml: rest.slice(0, close.index), body: rest.slice(close.index + close[0].length) };
}

/** `description: use when: …` is no YAML, but it is what people write: such values are quoted and tried again. */
function quoteLooseValues(yaml: string): string {
  const quoted = yaml.split("\n").map((line) => {
    const key = /^(?:name|description|license|compatibility):(?=[ \t])/.exec(line)?.[0];
    const value = key === undefined ? "" : line.slice(key.length).trim();
    return value === "" || /^["'|>&*!#[{]/.test(value) ? line : `${key} ${JSON.stringify(value)}`;
  });
  return quoted.join("\n");
}

function parseYaml(yaml: string): { readonly value: unknown; readonly fault?: HeadFault } {
  const refused =
    yaml.length > MAX_HEAD_CHARS
      ? `the front matter has more than ${MAX_HEAD_CHARS} characters`
      : (yaml.match(ALIAS)?.length ?? 0) > MAX_ALIASES
        ? `the front matter has more than ${MAX_ALIASES} aliases (*name)`
        : undefined;
  if (refused !== undefined) return { value: undefined, fault: { severity: "error", what: refused } };
  try {
    return { value: Bun.YAML.parse(yaml) };
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^YAML Parse error: /, "") : String(error);
    const loose = quoteLooseValues(yaml);
    if (loose !== yaml) {
      try {
        const fault: HeadFault = { severity: "warning", what: "a value with a colon needs quotes; it was read as plain text" };
        return { value: Bun.YAML.parse(loose), fault };
      } catch {
        // The first reason is the one that speaks of the text as written.
      }
    }
    return { value: undefined, fault: { severity: "error", what: `the front matter is no valid YAML (${reason})` } };
  }
}

type Checker = {
  readonly values: Readonly<Record<string, unknown>>;
  readonly faults: HeadFault[];
  readonly lineOf: (key: string) => number | undefined;
};

function complain(checker: Checker, severity: HeadFault["severity"], key: string, what: string): void {
  const line = checker.lineOf(key);
  checker.faults.push({ severity, what, ...(line !== undefined && { line }) });
}

function checkName(checker: Checker): string {
  const name = scalar(checker.values.name);
  if (name === undefined) complain(checker, "error", "name", "name is missing");
  else if (name.length > MAX_NAME_CHARS)
    complain(checker, "error", "name", `name has ${name.length} characters; at most ${MAX_NAME_CHARS} are allowed`);
  else if (!NAME.test(name))
    complain(checker, "error", "name", `name ${JSON.stringify(name)} may hold only a-z, 0-9 and single hyphens between them`);
  return name ?? "";
}

function checkDescription(checker: Checker): string {
  const description = oneLine(scalar(checker.values.description) ?? "");
  if (description === "") complain(checker, "error", "description", "description is missing");
  else if (description.length > MAX_DESCRIPTION_CHARS) {
    const what = `description has ${description.length} characters; at most ${MAX_DESCRIPTION_CHARS} are allowed`;
    complain(checker, "error", "description", what);
  }
  return description;
}

/** An optional text; anything else is left out with a warning. */
function optionalText(checker: Checker, key: "license" | "compatibility"): string | undefined {
  const value = checker.values[key];
  if (value === undefined || value === null) return undefined;
  const text = scalar(value);
  if (text === undefined) complain(checker, "warning", key, `${key} is not text; ignored`);
  return text === undefined ? undefined : oneLine(text);
}

function checkMetadata(checker: Checker): Readonly<Record<string, string>> {
  const { metadata } = checker.values;
  if (metadata === undefined || metadata === null) return {};
  if (!isObject(metadata)) {
    complain(checker, "warning", "metadata", "metadata is not a map; ignored");
    return {};
  }
  const kept: Record<string, string> = Object.create(null);
  for (const [key, value] of Object.entries(metadata)) {
    const text = scalar(value);
    if (text === undefined) complain(checker, "warning", "metadata", `metadata.${oneLine(key)} is not text; ignored`);
    else kept[oneLine(key)] = oneLine(text);
  }
  return kept;
}

/** The words between commas and spaces; those before a `)` that closes are no separators. From the end, because that one decides. */
function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  let end = text.length;
  let inside = false;
  for (let at = text.length - 1; at >= 0; at--) {
    const character = text[at] ?? "";
    if (character === ")") inside = true;
    else if (character === "(") inside = false;
    else if (!inside && /[,\s]/.test(character)) {
      words.push(text.slice(at + 1, end));
      end = at;
    }
  }
  words.push(text.slice(0, end));
  return words.reverse().filter((word) => word !== "");
}

/** A list of texts, or one text; commas and spaces outside parentheses separate where `split` says so. */
function texts(checker: Checker, key: "allowed-tools" | "references", split: boolean): readonly string[] {
  const value = checker.values[key];
  if (value === undefined || value === null) return [];
  if (typeof value === "string" && split) return wordsOf(value);
  if (!Array.isArray(value)) {
    complain(checker, "warning", key, `${key} is not a list; ignored`);
    return [];
  }
  const kept = value.map(scalar);
  if (kept.includes(undefined)) complain(checker, "warning", key, `an entry of ${key} is not text; ignored`);
  if (value.length === 0) complain(checker, "warning", key, `${key} is an empty list`);
  return kept.filter((text) => text !== undefined);
}

/** Where each key of the head begins a line, 1-based in the file. */
function linesOf(yaml: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  for (const [index, line] of yaml.split("\n").entries()) {
    const colon = line.indexOf(":");
    const key = line.slice(0, colon);
    if (colon >= 0 && !lines.has(key)) lines.set(key, index + 2);
  }
  return lines;
}

/** Reads the front matter of one SKILL.md. Never throws. `directory` is the name the skill should have. */
export function parseSkill(text: string, directory: string): ParsedSkill {
  const parts = splitFrontMatter(text);
  if (!parts) {
    const what = "it does not begin with a front matter (YAML between two lines of ---)";
    return { head: undefined, faults: [{ severity: "error", what, line: 1 }], body: text };
  }
  const { value, fault } = parseYaml(parts.yaml);
  const faults: HeadFault[] = fault ? [fault] : [];
  if (fault?.severity === "error") return { head: undefined, faults, body: parts.body };
  if (!isObject(value)) {
    faults.push({ severity: "error", what: "the front matter is not a map of keys and values", line: 1 });
    return { head: undefined, faults, body: parts.body };
  }
  const lines = linesOf(parts.yaml);
  const checker: Checker = { values: value, faults, lineOf: (key) => lines.get(key) };
  const head = checkHead(checker, directory);
  return { head: faults.some((found) => found.severity === "error") ? undefined : head, faults, body: parts.body };
}

function checkHead(checker: Checker, directory: string): SkillHead {
  const unknown = Object.keys(checker.values).filter((key) => !KEYS.has(key));
  for (const key of unknown.slice(0, MAX_UNKNOWN)) {
    complain(checker, "warning", key, `unknown key ${JSON.stringify(oneLine(key).slice(0, 80))}; ignored`);
  }
  const [more] = unknown.slice(MAX_UNKNOWN);
  if (more !== undefined)
    complain(checker, "warning", more, `${unknown.length - MAX_UNKNOWN} more unknown keys from here on; ignored`);
  const name = checkName(checker);
  const description = checkDescription(checker);
  if (name !== "" && name !== directory)
    complain(checker, "warning", "name", `name ${JSON.stringify(name)} is not the name of its directory`);
  const license = optionalText(checker, "license");
  const compatibility = optionalText(checker, "compatibility");
  return {
    name,
    description,
    ...(license !== undefined && { license }),
    ...(compatibility !== undefined && { compatibility }),
    metadata: checkMetadata(checker),
    allowedTools: texts(checker, "allowed-tools", true),
    references: texts(checker, "references", false),
  };
}
