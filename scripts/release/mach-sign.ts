/**
 * Ad-hoc code signatures of macOS programs. macOS kills a program whose signature does not fit its bytes, and Bun leaves the
 * runtime's own signature in programs for Intel (oven-sh/bun#39837), so a release checks every one and replaces what does
 * not hold. Works on any machine. Refuses: certificates and notarisation; 32-bit and universal files.
 */

const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
const SUPER_BLOB = 0xfade0cc0;
const CODE_DIRECTORY = 0xfade0c02;
const PAGE = 4096;
const HASH = 32;
/** Ad hoc, made by a linker: codesign then knows that it may be replaced. */
const FLAGS = 0x20002;
const HEADER = 88;

type Bytes = Uint8Array<ArrayBuffer>;

type Layout = {
  /** Offsets of the two load commands that a signature changes. */
  readonly signatureCommand: number;
  readonly linkeditCommand: number;
  readonly textSize: bigint;
  /** Where the signature starts: everything before it is signed. */
  readonly limit: number;
};

function viewOf(bytes: Bytes): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function layoutOf(bytes: Bytes): Layout {
  const view = viewOf(bytes);
  if (view.getUint32(0, true) !== 0xfeedfacf) throw new Error("not a 64-bit Mach-O file");
  let [signatureCommand, linkeditCommand, textSize] = [0, 0, 0n];
  let at = 32;
  for (let left = view.getUint32(16, true); left > 0; left--) {
    const command = view.getUint32(at, true);
    if (command === LC_CODE_SIGNATURE) signatureCommand = at;
    if (command === LC_SEGMENT_64) {
      const name = new TextDecoder().decode(bytes.subarray(at + 8, at + 24)).replace(/\0+$/, "");
      if (name === "__LINKEDIT") linkeditCommand = at;
      if (name === "__TEXT") textSize = view.getBigUint64(at + 48, true);
    }
    at += view.getUint32(at + 4, true);
  }
  if (signatureCommand === 0 || linkeditCommand === 0) throw new Error("a Mach-O file without room for a signature");
  return { signatureCommand, linkeditCommand, textSize, limit: view.getUint32(signatureCommand + 8, true) };
}

function pageHashes(bytes: Bytes, limit: number): Bytes {
  const hashes = new Uint8Array(Math.ceil(limit / PAGE) * HASH);
  for (let page = 0; page * PAGE < limit; page++) {
    const hasher = new Bun.CryptoHasher("sha256").update(bytes.subarray(page * PAGE, Math.min((page + 1) * PAGE, limit)));
    hashes.set(hasher.digest(), page * HASH);
  }
  return hashes;
}

/** True when the file's signature covers all of it up to the signature, and every page is what was signed. */
export function signatureHolds(bytes: Bytes): boolean {
  const { signatureCommand, limit } = layoutOf(bytes);
  const view = viewOf(bytes);
  const size = view.getUint32(signatureCommand + 12, true);
  if (limit + size > bytes.length || size < 20 || view.getUint32(limit) !== SUPER_BLOB) return false;
  const directory = limit + view.getUint32(limit + 16);
  if (directory + HEADER > bytes.length || view.getUint32(directory) !== CODE_DIRECTORY) return false;
  const [hashes, slots, covered] = [16, 28, 32].map((field) => view.getUint32(directory + field));
  if (hashes === undefined || covered !== limit || slots !== Math.ceil(limit / PAGE)) return false;
  if (view.getUint32(directory + 4) > size - (directory - limit)) return false;
  const stored = bytes.subarray(directory + hashes, directory + hashes + slots * HASH);
  return Buffer.compare(stored, pageHashes(bytes, limit)) === 0;
}

function codeDirectory(bytes: Bytes, layout: Layout, identity: Bytes): Bytes {
  const hashes = pageHashes(bytes, layout.limit);
  const made = new Uint8Array(HEADER + identity.length + hashes.length);
  const view = viewOf(made);
  const words = [
    CODE_DIRECTORY,
    made.length,
    0x20400,
    FLAGS,
    HEADER + identity.length,
    HEADER,
    0,
    hashes.length / HASH,
    layout.limit,
  ];
  for (const [index, word] of words.entries()) view.setUint32(index * 4, word);
  // Size and kind (SHA-256) of a hash, platform, size of a page as a power of two.
  made.set([HASH, 2, 0, Math.log2(PAGE)], 36);
  view.setBigUint64(72, layout.textSize);
  // The main program, as opposed to a library.
  view.setBigUint64(80, 1n);
  made.set(identity, HEADER);
  made.set(hashes, HEADER + identity.length);
  return made;
}

/** The same program with a signature of nobody in place of the one it has. */
export function signAdHoc(bytes: Bytes, name: string): Bytes {
  const layout = layoutOf(bytes);
  const identity = new TextEncoder().encode(`${name}\0`);
  const length = 20 + HEADER + identity.length + Math.ceil(layout.limit / PAGE) * HASH;
  const size = Math.ceil(length / 16) * 16;
  const signed = new Uint8Array(layout.limit + size);
  signed.set(bytes.subarray(0, layout.limit));
  const view = viewOf(signed);
  view.setUint32(layout.signatureCommand + 12, size, true);
  const start = view.getBigUint64(layout.linkeditCommand + 40, true);
  const segment = BigInt(signed.length) - start;
  view.setBigUint64(layout.linkeditCommand + 32, ((segment + 0x3fffn) / 0x4000n) * 0x4000n, true);
  view.setBigUint64(layout.linkeditCommand + 48, segment, true);
  // The header is signed, too: only now is it complete.
  for (const [index, word] of [SUPER_BLOB, length, 1, 0, 20].entries()) view.setUint32(layout.limit + index * 4, word);
  signed.set(codeDirectory(signed, layout, identity), layout.limit + 20);
  return signed;
}
