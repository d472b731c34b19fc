/** Reads the excerpt of an overlong matching line from its file (S06). Refuses: following links, more than a few KiB. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { isOpenAt } from "../base/held-directory.ts";
import { groupDigits } from "../base/text.ts";
import { markedEncoding } from "./byte-order-mark.ts";
import { excerptText, type FarMatch, type FileMatches, type MatchLine } from "./matches.ts";

const BEFORE = 2048;
const WINDOW = 6144;

/** The same files with the text of their overlong lines filled in. */
export async function readFarLines(root: string, files: readonly FileMatches[]): Promise<FileMatches[]> {
  const result: FileMatches[] = [];
  for (const file of files) {
    const lines: MatchLine[] = [];
    for (const line of file.lines) {
      const text = line.far === undefined ? undefined : await readExcerpt(join(root, file.path), line.far);
      lines.push(text === undefined ? line : { number: line.number, isMatch: line.isMatch, text });
    }
    result.push({ ...file, lines });
  }
  return result;
}

async function readExcerpt(path: string, far: FarMatch): Promise<string | undefined> {
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!isOpenAt(handle.fd, path)) return undefined;
      const begin = Math.max(0, far.start - BEFORE);
      const window = Buffer.alloc(WINDOW + 2);
      // rg decodes UTF-16 by its mark, and its offsets then count decoded bytes.
      const mark = await handle.read(window, 0, 2, 0);
      if (markedEncoding(window.subarray(0, mark.bytesRead)) !== undefined) return undefined;
      const { bytesRead } = await handle.read(window, 0, WINDOW, far.lineOffset + begin);
      return sayExcerpt(window.subarray(0, bytesRead), far, begin);
    } finally {
      await handle.close();
    }
  } catch {
    // Gone or changed since: the placeholder stays.
    return undefined;
  }
}

function sayExcerpt(window: Buffer, far: FarMatch, begin: number): string {
  const newline = window.indexOf(10, far.start - begin);
  const line = newline < 0 ? window : window.subarray(0, newline);
  let skip = 0;
  while (begin > 0 && skip < 3 && ((line[skip] ?? 0) & 0xc0) === 0x80) skip += 1;
  const text = line.toString("utf8", skip);
  const from = line.toString("utf8", skip, far.start - begin).length;
  const to = from + line.toString("utf8", far.start - begin, Math.min(line.length, far.end - begin)).length;
  return excerptText(text, from, to, `over 128 KiB, match at byte ${groupDigits(far.start)}`);
}
