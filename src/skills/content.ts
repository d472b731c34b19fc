/**
 * What a skill says: its body and the reference files it declares, cut to the bounds with every cut said. Refuses: files
 * outside the skill's own directory, binary files, deciding who may use it.
 */
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { isBelow, realOf } from "../base/below.ts";
import { readRegularFile } from "../base/files.ts";
import { contentHash } from "../base/hash.ts";
import { cutBytes } from "../base/text.ts";
import { parseSkill, splitFrontMatter } from "./front-matter.ts";
import { MAX_DEPTH, MAX_FILE_BYTES, MAX_REFERENCES, MAX_SKILL_BYTES, MAX_SKILL_FILE_BYTES, type Skill } from "./skill.ts";

export type Reference = {
  /** Relative to the skill's directory, with `/`. */
  readonly path: string;
  /** Over the whole file, as far as it was read. */
  readonly contentHash: string;
  readonly byteCount: number;
  readonly truncated: boolean;
  readonly text: string;
  readonly bytes: Uint8Array;
};

export type SkillContent = {
  readonly body: string;
  readonly truncated: boolean;
  /** Of the SKILL.md that `body` comes from. */
  readonly contentHash: string;
  readonly byteCount: number;
  readonly bytes: Uint8Array;
  readonly references: readonly Reference[];
  /** One line each: what is not here, and why. */
  readonly notes: readonly string[];
};

/** Reference files are read up to here for their hash; a larger one is named, not delivered. */
const MAX_READ_BYTES = 1_048_576;

/** Real paths of the files that one declared reference stands for; a text says what is wrong with it. */
function expand(directory: string, declared: string): readonly string[] | string {
  if (isAbsolute(declared) || declared.includes("\0") || declared.startsWith("~")) return "is not a path relative to the skill";
  const path = realOf(join(directory, declared));
  if (!isBelow(path, directory)) return "leads out of the skill's directory";
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return "does not exist";
    if (stat.isDirectory()) return path === directory ? "is the skill itself" : filesBelow(path, 0);
    return stat.isFile() ? [path] : "is not a regular file";
  } catch (error) {
    return `cannot be read (${error instanceof Error && "code" in error ? String(error.code) : String(error)})`;
  }
}

/** Links are left out: every file counts once, under its own name. */
function filesBelow(directory: string, depth: number): string[] {
  if (depth > MAX_DEPTH) return [];
  const files: string[] = [];
  const entries = readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (files.length > MAX_REFERENCES || entry.name.startsWith(".")) continue;
    const path = join(directory, entry.name);
    if (entry.isFile()) files.push(path);
    else if (entry.isDirectory()) files.push(...filesBelow(path, depth + 1));
  }
  return files;
}

async function readReference(skill: Skill, path: string, room: number): Promise<Reference | string> {
  const read = await readRegularFile(path, { maxBytes: MAX_READ_BYTES });
  if (!read.ok) return read.message;
  const { bytes } = read;
  let whole: string;
  try {
    whole = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return "is not UTF-8 text";
  }
  if (whole.includes("\0")) return "is binary";
  const text = cutBytes(whole, Math.min(MAX_FILE_BYTES, room));
  return {
    path: relative(skill.directory, path).split(sep).join("/"),
    contentHash: contentHash(bytes),
    byteCount: bytes.length,
    truncated: text.length < whole.length,
    text,
    bytes,
  };
}

async function readReferences(skill: Skill, used: number): Promise<{ references: Reference[]; notes: string[] }> {
  const references: Reference[] = [];
  const notes: string[] = [];
  const seen = new Set<string>([skill.realPath]);
  let room = MAX_SKILL_BYTES - used;
  for (const declared of skill.references) {
    const paths = expand(skill.directory, declared);
    if (typeof paths === "string") notes.push(`reference ${JSON.stringify(declared)} ${paths}`);
    for (const path of typeof paths === "string" ? [] : paths) {
      if (seen.has(path)) continue;
      seen.add(path);
      const name = JSON.stringify(relative(skill.directory, path));
      if (references.length >= MAX_REFERENCES) {
        notes.push(`reference ${name} is left out: at most ${MAX_REFERENCES} files go with a skill`);
        return { references, notes };
      }
      if (room <= 0) {
        notes.push(`reference ${name} is left out: at most ${MAX_SKILL_BYTES} bytes go with a skill`);
        continue;
      }
      const read = await readReference(skill, path, room);
      if (typeof read === "string") notes.push(`reference ${name} is left out: it ${read.replace(/^it /, "")}`);
      else {
        references.push(read);
        room -= Buffer.byteLength(read.text);
        if (read.truncated) notes.push(`reference ${name} is cut: ${read.byteCount} bytes; read the rest from the file`);
      }
    }
  }
  return { references, notes };
}

/** The reference files that a SKILL.md with these bytes declares, as they are on disk now: what trust in it has to cover. */
export async function referenceFiles(path: string, bytes: Uint8Array): Promise<readonly { path: string; bytes: Uint8Array }[]> {
  const directory = dirname(realOf(path));
  const { head } = parseSkill(new TextDecoder().decode(bytes), basename(directory));
  const paths = new Set(
    (head?.references ?? [])
      .map((declared) => expand(directory, declared))
      .filter(Array.isArray)
      .flat(),
  );
  const files: { path: string; bytes: Uint8Array }[] = [];
  for (const file of [...paths].slice(0, MAX_REFERENCES)) {
    const read = await readRegularFile(file, { maxBytes: MAX_READ_BYTES });
    if (read.ok) files.push({ path: file, bytes: read.bytes });
  }
  return files;
}

/** Reads a skill as it is on disk now. An answer that is a text says why it cannot be read. */
export async function readContent(skill: Skill): Promise<SkillContent | string> {
  const read = await readRegularFile(skill.realPath, { maxBytes: MAX_SKILL_FILE_BYTES });
  if (!read.ok) return read.message;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(read.bytes);
  } catch {
    return "it is not UTF-8 text";
  }
  const whole = (splitFrontMatter(text)?.body ?? text).replaceAll("\r\n", "\n").trim();
  const body = cutBytes(whole, MAX_FILE_BYTES);
  const truncated = body.length < whole.length;
  const { references, notes } = await readReferences(skill, Buffer.byteLength(body));
  return {
    body,
    truncated,
    contentHash: contentHash(read.bytes),
    byteCount: read.bytes.length,
    bytes: read.bytes,
    references,
    notes: truncated ? [`the body is cut at ${MAX_FILE_BYTES} bytes; read the rest from the file`, ...notes] : notes,
  };
}
