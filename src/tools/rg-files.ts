/** Puts the records of `rg --json` together to files with lines. Refuses: running rg, limits, order. */
import { isObject } from "../base/json.ts";
import { excerpt, type FileMatches, type MatchLine } from "./matches.ts";
import { createRecordReader, type RawRecord } from "./rg-records.ts";

export type RgFile = { readonly path: string; readonly want: Want; lines: MatchLine[]; matches: number };

/** Of a file's records: nothing, the number of its matches, or the lines too. */
type Want = "nothing" | "count" | "lines";

type Text = { readonly text?: string; readonly bytes?: string };
type Record =
  | { readonly type: "begin"; readonly data: { readonly path: Text } }
  | {
      readonly type: "match" | "context";
      readonly data: {
        readonly lines: Text;
        readonly line_number: number | null;
        readonly submatches: readonly { readonly start: number; readonly end: number }[];
      };
    }
  | { readonly type: "end"; readonly data: { readonly binary_offset: number | null } }
  | { readonly type: "summary" };

type FileReader = {
  /** Feeds a chunk; true when `isEnough` said so after some record: nothing is read from then on. */
  push(chunk: Uint8Array, isEnough: (current: RgFile | undefined) => boolean): boolean;
  /** Hands over the file in progress. */
  flush(): void;
  stopped(): boolean;
  /** rg prints a summary only when it searched: without one, exit 2 is a refusal of the arguments (S02, S04). */
  sawSummary(): boolean;
  /** Memory that the lines taken in need. */
  heldBytes(): number;
  /** Bytes that cannot come from ripgrep: no record, or one that is out of place. A banner is a few, a stranger called rg many. */
  strayBytes(): number;
};

/** A file is handed to `take` when its last record has come, and only when a line of it matched. */
export function createFileReader(options: {
  /** Put before each path, after its leading `./` is gone. */
  readonly prefix: string;
  readonly wants: (path: string) => Want;
  readonly take: (file: FileMatches) => void;
}): FileReader {
  let current: RgFile | undefined;
  let sawSummary = false;
  let stopped = false;
  let heldBytes = 0;
  /** The same without the current file's. */
  let heldBefore = 0;
  let strayBytes = 0;
  let enough: (current: RgFile | undefined) => boolean = () => false;

  const finish = (binary: boolean): void => {
    if (binary) heldBytes = heldBefore;
    if (current !== undefined && current.want !== "nothing" && current.matches > 0) {
      const { path, lines, matches } = current;
      options.take({ path, lines: binary ? [] : lines, matches, binary });
    }
    current = undefined;
  };
  /** A file's records stand between its begin and its end, and nothing follows the summary. */
  const isInPlace = ({ type }: Record): boolean =>
    !sawSummary && (type === "summary" || (type === "begin") === (current === undefined));
  const addLine = (line: MatchLine): void => {
    if (current?.want !== "lines") return;
    current.lines.push(line);
    if (line.isMatch) current.matches += 1;
    heldBytes += line.text.length + LINE_OVERHEAD;
  };
  const takeWhole = (bytes: Buffer): void => {
    const isLine = bytes[TYPE_AT] === MATCH || bytes[TYPE_AT] === CONTEXT;
    if (isLine && current !== undefined && current.want !== "lines") {
      // Parsing ten thousand records nobody will see would cost more than the search.
      if (current.want === "count" && bytes[TYPE_AT] === MATCH) current.matches += 1;
      return;
    }
    const record = parse(bytes);
    if (record === undefined || !isInPlace(record)) strayBytes += bytes.length + 1;
    if (record === undefined) return;
    if (record.type === "begin") {
      const path = options.prefix + decode(record.data.path).toString("utf8").replace(/^\.\//, "");
      // The one before could not be read to its end: its lines are gone.
      if (current !== undefined) heldBytes = heldBefore;
      heldBefore = heldBytes;
      current = { path, want: options.wants(path), lines: [], matches: 0 };
    } else if (record.type === "end") finish(record.data.binary_offset !== null);
    else if (record.type === "summary") sawSummary = true;
    else addLine(lineOf(record.type === "match", record.data));
  };
  const takeLong = (record: Extract<RawRecord, { kind: "long" }>): void => {
    const isMatch = record.head.toString("latin1", 0, 20).startsWith('{"type":"match"');
    if (current?.want === "count" && isMatch) current.matches += 1;
    const far = { lineOffset: record.absoluteOffset, start: record.start ?? 0, end: record.end ?? 0 };
    addLine({ number: record.lineNumber, isMatch, text: "[line too long to show]", far });
  };
  const reader = createRecordReader((record) => {
    if (stopped) return;
    if (record.kind === "whole") takeWhole(record.bytes);
    else takeLong(record);
    stopped = enough(current);
  });
  return {
    push(chunk, isEnough) {
      enough = isEnough;
      reader.push(chunk);
      return stopped;
    },
    flush: () => finish(false),
    stopped: () => stopped,
    sawSummary: () => sawSummary,
    heldBytes: () => heldBytes,
    strayBytes: () => strayBytes,
  };
}

/** Where the type's first letter is in `{"type":"match",…`; the summary begins differently. */
const TYPE_AT = 9;
const MATCH = 109;
const CONTEXT = 99;

const BRACE = 123;
/** What a line held costs beside its text, about. */
const LINE_OVERHEAD = 100;

function parse(bytes: Buffer): Record | undefined {
  if (bytes[0] !== BRACE) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return isRecord(value) ? value : undefined;
  } catch {
    // The last record of a stopped run is cut.
    return undefined;
  }
}

/**
 * As much of the shape as is used without looking again: rg --json is stable since rg 0.10, but what is called rg on somebody's PATH
 * may be a script with a banner. A schema per record would cost more than the search.
 */
function isRecord(value: unknown): value is Record {
  if (!isObject(value)) return false;
  const { type, data } = value;
  if (type === "summary") return true;
  if (!isObject(data)) return false;
  if (type === "begin") return isObject(data.path);
  if (type === "match" || type === "context") return isObject(data.lines) && Array.isArray(data.submatches);
  return type === "end";
}

function decode(text: Text): Buffer {
  return text.text !== undefined ? Buffer.from(text.text) : Buffer.from(text.bytes ?? "", "base64");
}

function lineOf(isMatch: boolean, data: Extract<Record, { type: "match" | "context" }>["data"]): MatchLine {
  const number = data.line_number ?? 0;
  const short = data.lines.text;
  if (short !== undefined && short.length <= SURELY_SHORT) return { number, isMatch, text: short.replace(LINE_END, "") };
  const bytes = decode(data.lines);
  const end = bytes.length - (bytes.at(-1) === 10 ? (bytes.at(-2) === 13 ? 2 : 1) : 0);
  const [first] = data.submatches;
  return { number, isMatch, text: excerpt(bytes.subarray(0, end), first?.start, first?.end) };
}

const SURELY_SHORT = 500;
const LINE_END = /\r?\n$/;
