/**
 * The security scan (C12): removes what cannot be seen, finds what tries to override the harness. Linear in the text.
 * Refuses: deciding what a finding means for a run (load order, allow-list, setting) — select.ts does.
 */
import { removeInvisible } from "./invisible.ts";
import { findRegions, type Region } from "./regions.ts";
import {
  CREDENTIAL_FILE,
  CREDENTIAL_NAME,
  commentPhrases,
  LINE_PATTERNS,
  type PhraseRule,
  phrases,
  printing,
  type ScanKind,
  UPLOAD,
  VARIABLE,
} from "./scan-rules.ts";
import { foldForMatching, isNegatedSentence, matchPhrase, splitWords, type Word } from "./words.ts";

export type Finding = {
  readonly kind: ScanKind;
  /** 1-based. */
  readonly line: number;
  /** True where the match lies wholly inside one code span or fence: a warning, never a block. */
  readonly inCode: boolean;
};

export type Scan = {
  /** The text without invisible characters. */
  readonly text: string;
  readonly invisible: { readonly count: number; readonly line: number };
  /** In order of their place; at most MAX_FINDINGS blocks and as many warnings. */
  readonly findings: readonly Finding[];
};

const MAX_FINDINGS = 100;
/** How far after a printing verb the file may stand. */
const REACH = 300;
/** A command line longer than this is looked at up to here. */
const MAX_COMMAND = 4000;

type Match = { readonly kind: ScanKind; readonly start: number; readonly end: number };

/** Rules by first word; only those whose every step has a word in the text: of most texts that leaves none. */
function rulesFor(rules: readonly PhraseRule[], words: readonly Word[]): Map<string, PhraseRule[]> {
  const present = new Set(words.map((word) => word.text));
  const index = new Map<string, PhraseRule[]>();
  for (const rule of rules) {
    if (!rule.steps.every((step) => step.any.values().some((word) => present.has(word)))) continue;
    for (const word of rule.steps[0]?.any ?? []) {
      const there = index.get(word);
      if (there) there.push(rule);
      else index.set(word, [rule]);
    }
  }
  return index;
}

function phraseMatches(words: readonly Word[], rules: Map<string, PhraseRule[]>, matches: Match[]): void {
  for (const [at, word] of words.entries()) {
    for (const rule of rules.get(word.text) ?? []) {
      const end = matchPhrase(words, at, rule.steps);
      if (end === -1 || !rule.holds(words, at, end)) continue;
      matches.push({ kind: rule.kind, start: word.start, end: words[end]?.end ?? word.end });
    }
  }
}

/** "print … .env": a printing verb and a credential file in one sentence. */
function credentialMatches(text: string, words: readonly Word[], matches: Match[]): void {
  for (const [at, word] of words.entries()) {
    if (!printing().has(word.text) || isNegatedSentence(words, at)) continue;
    let last = at;
    while (last - at < 10 && words[last + 1]?.breaks === false) last++;
    // The dot of `.env` begins no word and ends no sentence: look a little past the last word.
    const stretch = text.slice(word.end, Math.min((words[last]?.end ?? word.end) + 8, word.end + REACH));
    const found = CREDENTIAL_FILE.exec(stretch);
    if (found && !/\n\s*\n/.test(stretch.slice(0, found.index))) {
      matches.push({ kind: "credential_files", start: word.start, end: word.end + found.index + found[0].length });
    }
  }
}

/** curl or wget with a credential variable on the same line; a backslash carries a line on. Each line is read once. */
function uploadMatches(text: string, matches: Match[]): void {
  let done = 0;
  for (const found of text.matchAll(UPLOAD)) {
    if (found.index < done) continue;
    done = found.index + logicalLine(text.slice(found.index, found.index + MAX_COMMAND)).length;
    const line = text.slice(found.index, done);
    for (const variable of line.matchAll(VARIABLE)) {
      if (!CREDENTIAL_NAME.test(variable[1] ?? "")) continue;
      // The command it belongs to is the last one before it: quoting one curl does not quote the next.
      const before = line.slice(0, variable.index);
      const start = found.index + Math.max(0, before.lastIndexOf("curl"), before.lastIndexOf("wget"));
      matches.push({ kind: "credential_upload", start, end: found.index + variable.index + variable[0].length });
    }
  }
}

function logicalLine(text: string): string {
  let end = text.indexOf("\n");
  while (end > 0 && text[end - 1] === "\\") end = text.indexOf("\n", end + 1);
  return end === -1 ? text : text.slice(0, end);
}

/** Elements styled away whose content a model would still read. */
const HIDDEN_ELEMENT =
  /<([a-z]{1,12})\b(?=[^>]{0,300}(?:display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0(?![.\d]*[1-9])|opacity\s{0,3}:\s{0,3}0(?![.\d]*[1-9])|\shidden(?:[\s=>]|$)))[^>]{0,300}>/g;

function hiddenMatches(text: string, matches: Match[]): void {
  if (!/display|visibility|font-size|opacity|\shidden/.test(text)) return;
  for (const found of text.matchAll(HIDDEN_ELEMENT)) {
    const from = found.index + found[0].length;
    const inside = text.slice(from, from + 2000).split(`</${found[1]}`)[0] ?? "";
    if (inside.split(/\s+/).filter((word) => /\p{L}{2}/u.test(word)).length < 3) continue;
    matches.push({ kind: "hidden_instructions", start: found.index, end: from + inside.length });
  }
}

function lineMatches(text: string, matches: Match[]): void {
  for (const { kind, pattern } of LINE_PATTERNS) {
    for (const found of text.matchAll(pattern())) matches.push({ kind, start: found.index, end: found.index + found[0].length });
  }
}

/** Everything in a comment is hidden: whatever matches there, and orders that only a model would read. */
function inComments(words: readonly Word[], regions: readonly Region[], matches: readonly Match[]): Match[] {
  const comments = regions.filter((region) => region.kind === "comment");
  if (comments.length === 0) return [...matches];
  const rules = rulesFor(commentPhrases(), words);
  const found: Match[] = [];
  phraseMatches(words, rules, found);
  const hidden = found.filter((match) => regionOf(comments, match) !== undefined);
  const renamed = matches.map((match) =>
    regionOf(comments, match) ? { ...match, kind: "hidden_instructions" as const } : match,
  );
  return [...renamed, ...hidden];
}

/** The region that holds the whole match. Regions are in order: binary search. */
function regionOf(regions: readonly Region[], match: Match): Region | undefined {
  let low = 0;
  let high = regions.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const region = regions[middle];
    if (!region) return undefined;
    if (region.end <= match.start) low = middle + 1;
    else if (region.start > match.start) high = middle - 1;
    else return match.end <= region.end ? region : undefined;
  }
  return undefined;
}

function locate(text: string, matches: readonly Match[], code: readonly Region[]): Finding[] {
  const findings: Finding[] = [];
  const seen = new Set<string>();
  let line = 1;
  let counted = 0;
  let warnings = 0;
  let blocks = 0;
  for (const match of [...matches].sort((a, b) => a.start - b.start)) {
    for (let at = text.indexOf("\n", counted); at !== -1 && at < match.start; at = text.indexOf("\n", counted)) {
      line++;
      counted = at + 1;
    }
    // A pattern that begins at a line's start may have taken the line end before it along.
    const inCode = regionOf(code, match) !== undefined;
    const key = `${line}:${match.kind}:${inCode}`;
    if (seen.has(key)) continue;
    seen.add(key);
    // Each sort has a limit of its own: a hundred warnings must not push a block out of the list.
    const same = inCode ? warnings++ : blocks++;
    if (same < MAX_FINDINGS) findings.push({ kind: match.kind, line, inCode });
  }
  return findings;
}

/**
 * The folded text and the regions in it. Regions are those of the text as it stands: folding must make no mark of code, nor
 * join two, so the stretches between them are folded one by one.
 */
function foldWithRegions(source: string): { readonly text: string; readonly regions: readonly Region[] } {
  const found = findRegions(source);
  const parts: string[] = [];
  const regions: Region[] = [];
  let length = 0;
  let at = 0;
  const take = (to: number): number => {
    const part = foldForMatching(source.slice(at, to));
    parts.push(part);
    at = to;
    length += part.length;
    return length;
  };
  for (const { kind, start, end } of found) regions.push({ kind, start: take(start), end: take(end) });
  take(source.length);
  return { text: parts.join(""), regions };
}

/** What stands behind the mark that opens a fence is drawn nowhere: it is no quotation. */
function quoted(text: string, region: Region): Region {
  if (region.kind !== "fence") return region;
  const line = text.indexOf("\n", region.start);
  return { ...region, start: line === -1 ? region.end : Math.min(line, region.end) };
}

type Matched = { readonly words: readonly Word[]; readonly matches: readonly Match[] };

function matchesIn(text: string): Matched {
  const words = splitWords(text);
  const matches: Match[] = [];
  phraseMatches(words, rulesFor(phrases(), words), matches);
  credentialMatches(text, words, matches);
  uploadMatches(text, matches);
  hiddenMatches(text, matches);
  lineMatches(text, matches);
  return { words, matches };
}

/** Scans one text (LF line ends). */
export function scanText(source: string): Scan {
  const cleaned = removeInvisible(source);
  const invisible = { count: cleaned.removed, line: cleaned.line };
  const text = foldForMatching(cleaned.text);
  const first = matchesIn(text);
  // Most texts end here: nobody needs to know where their code stands.
  if (first.matches.length === 0 && !text.includes("<!--")) return { text: cleaned.text, invisible, findings: [] };
  const folded = foldWithRegions(cleaned.text);
  const { words, matches } = folded.text === text ? first : matchesIn(folded.text);
  const all = inComments(words, folded.regions, matches);
  const code = folded.regions.filter((region) => region.kind !== "comment").map((region) => quoted(folded.text, region));
  return { text: cleaned.text, invisible, findings: locate(folded.text, all, code) };
}
