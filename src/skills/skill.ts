/**
 * What a skill is, and the bounds it is held to (integrations.md, Skills). Refuses: reading anything.
 */
import type { Diagnostic } from "../types/event.ts";

/** Characters of a name. */
export const MAX_NAME_CHARS = 64;
/** Characters of a description. */
export const MAX_DESCRIPTION_CHARS = 1024;
/** Characters of a front matter: it is read at every start, also where nobody has trusted it. */
export const MAX_HEAD_CHARS = 16_384;
/** Reference files delivered with one skill. */
export const MAX_REFERENCES = 24;
/** Bytes delivered of one skill: its body and its references together. */
export const MAX_SKILL_BYTES = 65_536;
/** Bytes delivered of one file. */
export const MAX_FILE_BYTES = 16_384;
/** Directories below a root (and below a referenced directory) that are looked into. */
export const MAX_DEPTH = 8;
/** A SKILL.md larger than this is not read at all. */
export const MAX_SKILL_FILE_BYTES = 262_144;
/** Skills of one run; more would fill the prompt. */
export const MAX_SKILLS = 200;
/** Directories visited in one discovery: a root that is really a home directory must not hold up a start. */
export const MAX_DIRECTORIES = 2000;

/** The file that makes a directory a skill. */
export const SKILL_FILE = "SKILL.md";

export type SkillSource = "project" | "user" | "configured";

export type TrustState = "trusted" | "changed" | "untrusted";

/** A directory that is searched for skills; earlier ones win. */
export type SkillRoot = {
  /** Absolute. */
  readonly path: string;
  readonly source: SkillSource;
  /** What lies below comes from the repository and waits for the user's trust. */
  readonly needsTrust: boolean;
};

/** The front matter, checked. */
export type SkillHead = {
  readonly name: string;
  /** One line. */
  readonly description: string;
  readonly license?: string;
  readonly compatibility?: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly allowedTools: readonly string[];
  /** As declared: paths relative to the skill's directory. */
  readonly references: readonly string[];
};

export type Skill = SkillHead & {
  /** Absolute path of its SKILL.md, as found below its root. */
  readonly path: string;
  /** The same file, links resolved. */
  readonly realPath: string;
  /** Real path of the directory that the skill owns. */
  readonly directory: string;
  readonly source: SkillSource;
  /** It comes from the repository: nothing of it counts before the user has said so. */
  readonly needsTrust: boolean;
  readonly trust: TrustState;
  /** `xxh64:…` over the bytes of SKILL.md. */
  readonly contentHash: string;
  readonly byteCount: number;
};

/** One name found more than once. */
export type Duplicate = { readonly name: string; readonly selected: string; readonly ignored: readonly string[] };

/** What one discovery found. */
export type SkillSet = {
  /** The nearest of each name, in the order of the roots. */
  readonly skills: readonly Skill[];
  /**
   * What may be used without a person's word: the nearest trusted one of each name. An untrusted skill of a repository does
   * not take the place of the user's own.
   */
  readonly available: readonly Skill[];
  readonly duplicates: readonly Duplicate[];
  readonly problems: readonly Diagnostic[];
};

export const NO_SKILLS: SkillSet = { skills: [], available: [], duplicates: [], problems: [] };

export function skillProblem(severity: "error" | "warning", code: string, path: string, what: string, line?: number): Diagnostic {
  return { severity, code: `skills.${code}`, message: `${path}: ${what}`, path, ...(line !== undefined && { line }) };
}
