/**
 * Finds matching lines in the chunks of one file, in bounded memory for any line length. Lines end at `\n` or `\r\n`, as
 * for rg and read_file_range. Refuses: opening files.
 */
import { cutCharsFromEnd, groupDigits, incompleteUtf8Tail } from "../base/text.ts";
import { markedEncoding, UTF8_MARK } from "./byte-order-mark.ts";
import { excerptText, type MatchLine } from "./matches.ts";
import type { LineMatcher, Place } from "./pattern.ts";

type LineSearchOptions = {
  readonly matcher: LineMatcher;
  /** False for text without a match: such chunks need no splitting. */
  readonly holds?: ((text: string) => boolean) | undefined;
  readonly contextLines: number;
  readonly maxMatches: number;
  /** Search on after a NUL byte (a file named by path), to say that it matches. */
  readonly keepBinary: boolean;
};

type Found = { readonly lines: readonly MatchLine[]; readonly matches: number; readonly binary: boolean };

const LF = 10;
/** A longer line is matched piece by piece. */
const MAX_LINE_LENGTH = 1_048_576;
/** Kept of what is let go, to be shown: more than an excerpt. */
const SHOWN_LENGTH = 1024;

/** A line whose pieces were let go: whether it has matched, how long they were, the beginning and the end of them. */
type Overlong = { matched: boolean; dropped: number; readonly head: string; tail: string };

/** Yields whenever others should have their turn; what is not resumed then is left as it is. */
type Work<T> = Generator<void, T>;

/** What rg reads at a time: a NUL hides all that came in the same read, and nothing of earlier ones. */
const RG_BUFFER_BYTES = 65_536;

/** One search through one file. */
export class LineSearch {
  readonly #options: LineSearchOptions;
  readonly #lines: MatchLine[] = [];
  /** Context lines that no match has followed yet. */
  readonly #before: MatchLine[] = [];
  #decoder: TextDecoder | undefined;
  /** Bytes of a character whose end has not come yet. */
  #carry: Buffer = Buffer.alloc(0);
  /** Text of a line whose end has not come yet. */
  #rest = "";
  #lineNumber = 1;
  #matches = 0;
  /** Context lines still owed to the last match. */
  #after = 0;
  #binary = false;
  /** rg's buffer, and what is in it of a line whose end has not come. */
  #room = RG_BUFFER_BYTES;
  #held = 0;
  #done = false;
  /** Set inside an overlong line. */
  #overlong: Overlong | undefined;

  constructor(options: LineSearchOptions) {
    this.#options = options;
  }

  /** How many bytes to push next, to find in a file that turns out to be binary what rg finds. */
  get wanted(): number {
    return this.#room - this.#held;
  }

  /** True while more is wanted. The chunk may be reused afterwards. */
  *push(chunk: Buffer): Work<boolean> {
    const first = this.#decoder === undefined;
    // rg reads files with a UTF-16 mark as text.
    const decoder = this.#decoder ?? new TextDecoder(markedEncoding(chunk) ?? "utf-8");
    this.#decoder = decoder;
    if (decoder.encoding === "utf-8" && chunk.includes(0)) {
      this.#binary = true;
      if (!this.#options.keepBinary) return false;
    }
    const last = chunk.lastIndexOf(LF);
    this.#held = last < 0 ? this.#held + chunk.length : chunk.length - 1 - last;
    while (this.#held >= this.#room) this.#room *= 2;
    yield* this.#takeBlock(this.#rest + this.#decode(decoder, chunk, first));
    if (this.#rest.length > MAX_LINE_LENGTH && !this.#done) yield* this.#shorten();
    return !this.#done;
  }

  /** Takes what has no end of line, at the end of the file. */
  *finish(): Work<void> {
    if (!this.#done && (!this.#binary || this.#options.keepBinary)) {
      const end = this.#decoder?.encoding === "utf-8" ? this.#carry.toString("utf8") : (this.#decoder?.decode() ?? "");
      const last = this.#rest + end;
      // An overlong line may have been let go of to its last character: that it ends here is still to be told.
      if (last !== "" || this.#overlong !== undefined) yield* this.#takeLines([last]);
    }
  }

  /** Also for a file that was left early. */
  found(): Found {
    return { lines: this.#lines, matches: this.#matches, binary: this.#binary };
  }

  /** Buffer decodes UTF-8 several times faster than a streaming TextDecoder, which only UTF-16 needs. */
  #decode(decoder: TextDecoder, chunk: Buffer, first: boolean): string {
    if (decoder.encoding !== "utf-8") return decoder.decode(chunk, { stream: true });
    const bytes = this.#carry.length > 0 ? Buffer.concat([this.#carry, chunk]) : chunk;
    const end = bytes.length - incompleteUtf8Tail(bytes);
    this.#carry = Buffer.from(bytes.subarray(end));
    const hasMark = first && markedEncoding(bytes) === "utf-8";
    return bytes.toString("utf8", hasMark ? UTF8_MARK.length : 0, end);
  }

  *#takeBlock(block: string): Work<void> {
    const { holds, contextLines } = this.#options;
    const pieces = block.split("\n");
    this.#rest = pieces.pop() ?? "";
    const canSkip = holds !== undefined && contextLines === 0 && !holds(block);
    if (canSkip && this.#overlong === undefined) {
      this.#lineNumber += pieces.length;
      return;
    }
    yield* this.#takeLines(pieces);
  }

  *#takeLines(lines: readonly string[]): Work<void> {
    const { matcher } = this.#options;
    for (const line of lines) {
      if (this.#done) return;
      const text = line.endsWith("\r") ? line.slice(0, -1) : line;
      if (this.#overlong?.matched !== true) {
        const answer = matcher.find(text, this.#overlong === undefined ? undefined : { isFirst: false, isLast: true });
        this.#settle(text, answer === "unfinished" ? yield* this.#goOn() : answer);
      }
      this.#overlong = undefined;
      this.#lineNumber += 1;
    }
  }

  *#goOn(): Work<Place | undefined> {
    for (;;) {
      yield;
      const answer = this.#options.matcher.resume();
      if (answer !== "unfinished") return answer;
    }
  }

  #settle(text: string, place: Place | undefined): void {
    const length = `${groupDigits((this.#overlong?.dropped ?? 0) + text.length)} characters`;
    if (place !== undefined) this.#takeMatch(text, place, length);
    else if (this.#options.contextLines > 0) this.#takeContext(this.#overlong?.head ?? text, length);
  }

  #takeMatch(text: string, place: Place, length: string): void {
    const before = this.#overlong?.tail ?? "";
    const shown = excerptText(before + text, before.length + place.start, before.length + place.end, length);
    this.#lines.push(...this.#before.splice(0), { number: this.#lineNumber, isMatch: true, text: shown });
    this.#matches += 1;
    this.#after = this.#options.contextLines;
    if (this.#matches >= this.#options.maxMatches) this.#done = true;
  }

  #takeContext(text: string, length: string): void {
    const shown = excerptText(text, 0, 0, length);
    const line: MatchLine = { number: this.#lineNumber, isMatch: false, text: shown };
    if (this.#after > 0) {
      this.#lines.push(line);
      this.#after -= 1;
      return;
    }
    this.#before.push(line);
    if (this.#before.length > this.#options.contextLines) this.#before.shift();
  }

  /** Matches what there is of an overlong line and lets go of it; a CR may yet be of the line's end. */
  *#shorten(): Work<void> {
    const text = this.#rest.endsWith("\r") ? this.#rest.slice(0, -1) : this.#rest;
    const isFirst = this.#overlong === undefined;
    const overlong = this.#overlong ?? { matched: false, dropped: 0, head: text.slice(0, SHOWN_LENGTH), tail: "" };
    this.#overlong = overlong;
    if (!overlong.matched) {
      const answer = this.#options.matcher.find(text, { isFirst, isLast: false });
      const place = answer === "unfinished" ? yield* this.#goOn() : answer;
      overlong.matched = place !== undefined;
      if (place !== undefined) this.#takeMatch(text, place, "over 1 MiB");
    }
    overlong.dropped += text.length;
    overlong.tail = cutCharsFromEnd(text, SHOWN_LENGTH);
    this.#rest = this.#rest.slice(text.length);
  }
}
