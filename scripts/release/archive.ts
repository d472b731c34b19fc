/**
 * Archives that come out byte for byte the same from the same content, on any machine: no owners, no host's clock, no order
 * of a directory. tar.gz (ustar) and zip. Refuses: symbolic links, directories as entries, names a ustar header cannot hold.
 */
import { crc32 } from "node:zlib";

export type Entry = { readonly path: string; readonly bytes: Uint8Array<ArrayBuffer>; readonly executable?: boolean };

const BLOCK = 512;

/** libdeflate's level 6: its 9 needs five times as long for 0.4 percent. */
const LEVEL = 6;

function header(entry: Entry, seconds: number): Uint8Array {
  const block = new Uint8Array(BLOCK);
  const put = (offset: number, text: string) => block.set(new TextEncoder().encode(text), offset);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  if (new TextEncoder().encode(entry.path).length > 100) throw new Error(`${entry.path}: too long for a ustar name`);
  put(0, entry.path);
  put(100, `${octal(entry.executable ? 0o755 : 0o644, 7)}\0`);
  put(108, `${octal(0, 7)}\0`);
  put(116, `${octal(0, 7)}\0`);
  put(124, `${octal(entry.bytes.length, 11)}\0`);
  put(136, `${octal(seconds, 11)}\0`);
  // The sum counts its own field as blanks.
  put(148, "        ");
  put(156, "0");
  put(257, "ustar\0");
  put(263, "00");
  put(
    148,
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    )}\0 `,
  );
  return block;
}

/** `seconds`: the time of every entry, since 1970. */
export function tarGz(entries: readonly Entry[], seconds: number): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    parts.push(header(entry, seconds), entry.bytes);
    const rest = entry.bytes.length % BLOCK;
    if (rest > 0) parts.push(new Uint8Array(BLOCK - rest));
  }
  parts.push(new Uint8Array(BLOCK * 2));
  const tar = Buffer.concat(parts);
  return Bun.gzipSync(new Uint8Array(tar.buffer, tar.byteOffset, tar.length), { library: "libdeflate", level: LEVEL });
}

/** Zip knows local time in steps of two seconds from 1980; UTC is written as if it were local. */
function dosTime(seconds: number): { readonly date: number; readonly time: number } {
  const at = new Date(Math.max(seconds, 315_532_800) * 1000);
  return {
    date: ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(),
    time: (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1),
  };
}

export function zip(entries: readonly Entry[], seconds: number): Uint8Array {
  const { date, time } = dosTime(seconds);
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.path);
    const packed = Bun.deflateSync(entry.bytes, { library: "libdeflate", level: LEVEL });
    // What both headers say: version, flags (names are UTF-8), method deflate, time, sum, sizes, lengths of name and extras.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt16LE(time, 6);
    common.writeUInt16LE(date, 8);
    common.writeUInt32LE(crc32(entry.bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(entry.bytes.length, 18);
    common.writeUInt16LE(name.length, 22);
    parts.push(Buffer.from("PK\x03\x04"), common, name, Buffer.from(packed));
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE((entry.executable ? 0o100755 : 0o100644) * 0x10000, 6);
    tail.writeUInt32LE(offset, 10);
    // Made by: 3 = Unix, so that the mode above counts.
    directory.push(Buffer.from("PK\x01\x02"), Buffer.from([20, 3]), common, tail, name);
    offset += 30 + name.length + packed.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(index.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, index, Buffer.from("PK\x05\x06"), end]);
}
