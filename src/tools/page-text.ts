/**
 * What kinds of pages can be read, and their bytes as text: the character set from a byte order mark, the header or the page
 * itself. Refuses: HTML (page-markdown.ts), binary data.
 */
import { isUtf8 } from "node:buffer";
import { markedEncoding } from "./byte-order-mark.ts";

type PageKind = "html" | "text";

const TEXT_TYPES: ReadonlySet<string> = new Set([
  "application/json",
  "application/ld+json",
  "application/x-ndjson",
  "application/ndjson",
  "application/jsonl",
  "application/xml",
  "application/yaml",
  "application/x-yaml",
  "application/toml",
  "application/markdown",
  "application/javascript",
  "application/x-javascript",
  "application/ecmascript",
  "application/typescript",
  "application/sql",
  "application/graphql",
  "application/x-sh",
  "application/x-httpd-php",
  "application/x-tex",
]);

/** Undefined for a type that is not read. "" (not said) is decided by the content. */
export function kindOf(type: string): PageKind | "unknown" | undefined {
  if (type === "") return "unknown";
  if (type === "text/html" || type === "application/xhtml+xml") return "html";
  if (type.startsWith("text/") || TEXT_TYPES.has(type) || /\+(?:json|xml|yaml)$/.test(type)) return "text";
  return undefined;
}

/** Why a body of this type is not read; undefined when it is. */
export function refuseType(type: string): string | undefined {
  if (kindOf(type) !== undefined) return undefined;
  return `The page is of type ${type.replace(/[^\w.+/-]/g, "?").slice(0, 100)}; only HTML and text (JSON, XML, feeds, YAML, Markdown …) are read.`;
}

/** Decided by how it begins, behind white space and comments. */
export function sniffKind(text: string): PageKind {
  let rest = text.slice(0, 4096).trimStart();
  while (rest.startsWith("<!--")) {
    const end = rest.indexOf("-->", 4);
    if (end < 0) return "text";
    rest = rest.slice(end + 3).trimStart();
  }
  return /^<(?:!doctype\s+html|html|head|body|title)\b/i.test(rest) ? "html" : "text";
}

/** What the page says of itself: `<meta charset>`, `<meta … content="…charset=…">`, `<?xml … encoding="…"?>`. */
function declaredCharset(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 4096)).toString("latin1");
  const xml = /^\s*<\?xml\b[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]{1,40})/i.exec(head)?.[1];
  return xml ?? /<meta\b[^>]{0,500}?\bcharset\s*=\s*(?:["']\s*)?([\w.:-]{1,40})/i.exec(head)?.[1];
}

function decoderFor(label: string | undefined): TextDecoder | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label as Bun.Encoding);
  } catch {
    return undefined;
  }
}

/** Decodes a body. Without a word on the character set it is UTF-8 where the bytes are valid UTF-8, else Windows-1252. */
export function decodePage(bytes: Buffer, charset: string | undefined): string {
  const declared = [markedEncoding(bytes), charset, declaredCharset(bytes)];
  for (const label of declared) {
    const decoder = decoderFor(label);
    if (decoder) return decoder.decode(bytes);
  }
  return new TextDecoder(isUtf8(bytes) ? "utf-8" : "windows-1252").decode(bytes);
}

/** True for text that is none: a NUL, as git has it. */
export function isBinary(text: string): boolean {
  return text.slice(0, 8192).includes("\0");
}
