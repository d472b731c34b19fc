/**
 * Which addresses the web tools may reach (tools.md, read_url): public ones, and what `web.allow_hosts` names. One policy for
 * what a model wrote, for every redirect and for every address a name resolves to. Refuses: connecting.
 */
import { isIP } from "node:net";
import { cutChars } from "../base/text.ts";

type CheckedUrl = { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly message: string };

/** All addresses of a host name; rejects when there are none. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

type V4 = readonly [number, number, number, number];

function parseV4(address: string): V4 {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  return [a, b, c, d];
}

/** What kind of IPv4 address this is, when it is not a public one. */
function specialV4([a, b, c, d]: V4): string | undefined {
  if (a === 0) return "unspecified";
  if (a === 127) return "loopback";
  if (a === 10 || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168)) return "private";
  if (a === 100 && b >= 64 && b < 128) return "private (carrier-grade NAT)";
  if (a === 169 && b === 254) return "link-local";
  if (a >= 224 && a < 240) return "multicast";
  if (a === 255 && b === 255 && c === 255 && d === 255) return "broadcast";
  const documentation =
    (a === 192 && b === 0 && c === 2) || (a === 198 && b === 51 && c === 100) || (a === 203 && b === 0 && c === 113);
  const reserved =
    a >= 240 || (a === 192 && b === 0 && c === 0) || (a === 192 && b === 88 && c === 99) || (a === 198 && (b & 0xfe) === 18);
  return documentation || reserved ? "reserved" : undefined;
}

/** The eight 16-bit groups of a valid IPv6 address. */
function parseV6(address: string): readonly number[] {
  const plain = (address.split("%")[0] ?? "").replace(/(\d+\.\d+\.\d+\.\d+)$/, (text) => {
    const [a, b, c, d] = parseV4(text);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const groups = (text: string): number[] => (text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16)));
  const [head = "", tail] = plain.split("::");
  if (tail === undefined) return groups(head);
  const [before, after] = [groups(head), groups(tail)];
  return [...before, ...Array<number>(Math.max(0, 8 - before.length - after.length)).fill(0), ...after];
}

function specialV6(groups: readonly number[]): string | undefined {
  const [a = 0, b = 0, , , , f = 0, g = 0, h = 0] = groups;
  const embedded: V4 = [g >> 8, g & 0xff, h >> 8, h & 0xff];
  if (groups.slice(0, 5).every((group) => group === 0)) {
    if (f === 0xffff) return "IPv4-mapped";
    if (f === 0 && g === 0 && h <= 1) return h === 0 ? "unspecified" : "loopback";
    return "reserved";
  }
  // NAT64 is how an IPv6-only network reaches public IPv4.
  if (a === 0x64 && b === 0xff9b && groups.slice(2, 6).every((group) => group === 0)) return specialV4(embedded);
  if ((a & 0xfe00) === 0xfc00) return "unique-local";
  if ((a & 0xffc0) === 0xfe80) return "link-local";
  if ((a & 0xff00) === 0xff00) return "multicast";
  // Only 2000::/3 is public; in it: special-purpose and Teredo, documentation, 6to4.
  if ((a & 0xe000) !== 0x2000) return "reserved";
  const special = (a === 0x2001 && (b < 0x200 || b === 0xdb8)) || a === 0x2002 || (a === 0x3fff && b < 0x1000);
  return special ? "reserved" : undefined;
}

/** Why an address is not public (`loopback`, `private`, …); undefined for a public one. */
export function specialAddress(address: string): string | undefined {
  const family = isIP(address);
  if (family === 4) return specialV4(parseV4(address));
  return family === 6 ? specialV6(parseV6(address)) : "invalid";
}

function withoutBrackets(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}

/** The host of a URL as a resolver takes it: no brackets. */
export function hostOf(url: URL): string {
  return withoutBrackets(url.hostname);
}

/** True where an IPv4 address is written in another form than four decimal numbers (decimal, hexadecimal, octal, short). */
function isDisguised(written: string, url: URL): boolean {
  if (isIP(url.hostname) !== 4) return false;
  const plain = new RegExp(`^(?:[a-z]+:)?//${url.hostname.replaceAll(".", "\\.")}(?=[:/?#]|$)`, "i");
  return !plain.test(written);
}

/** Checks what a URL says by itself: scheme, user information, odd forms. `base`: where a redirect was found. */
export function parseWebUrl(written: string, base?: URL): CheckedUrl {
  const text = written.trim();
  let url: URL;
  try {
    url = base ? new URL(text, base) : new URL(text);
  } catch {
    return { ok: false, message: `${quote(text)} is not a URL. Write it whole, such as https://example.com/page.` };
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return { ok: false, message: `${quote(text)}: only http and https URLs can be read, not ${url.protocol}//.` };
  }
  if (url.username !== "" || url.password !== "") {
    return { ok: false, message: "URLs with a user name or password are not read: leave out what stands before the @." };
  }
  if (isDisguised(text, url) && url.hostname !== base?.hostname) {
    return { ok: false, message: `${quote(text)}: an IPv4 address is written as four decimal numbers (${url.hostname}).` };
  }
  return { ok: true, url };
}

/** A URL in a message: short, nothing invisible. */
export function quote(text: string): string {
  const plain = text.toWellFormed().replace(/[\p{Cc}\p{Cf}]/gu, "?");
  return plain.length > 200 ? `${cutChars(plain, 200)}…` : plain;
}

type Allowed = { readonly host: string; readonly port: string | undefined };

function parseAllowed(entry: string): Allowed | undefined {
  const match = /^(\[[^\]]+\]|[^:]+|[0-9a-f:]+)(?::(\d+))?$/i.exec(entry.trim());
  const written = match?.[1];
  if (written === undefined) return undefined;
  const bare = isIP(entry.trim()) === 6 ? { host: `[${entry.trim()}]`, port: undefined } : { host: written, port: match?.[2] };
  try {
    return { host: new URL(`http://${bare.host}`).hostname, port: bare.port };
  } catch {
    return undefined;
  }
}

export type AddressPolicy = {
  /** The addresses a connection to this URL may use: all of them checked. */
  resolve(
    url: URL,
  ): Promise<{ readonly ok: true; readonly addresses: readonly string[] } | { readonly ok: false; readonly message: string }>;
};

/** `allowHosts`: `host` or `host:port`, exactly as URLs say them. */
export function createAddressPolicy(allowHosts: readonly string[], resolveHost: ResolveHost): AddressPolicy {
  const allowed = allowHosts.flatMap((entry) => parseAllowed(entry) ?? []);
  const isAllowed = (url: URL): boolean => {
    const port = url.port || (url.protocol === "https:" ? "443" : "80");
    return allowed.some((entry) => entry.host === url.hostname && (entry.port === undefined || entry.port === port));
  };
  return {
    async resolve(url) {
      const host = hostOf(url);
      const literal = isIP(host) !== 0;
      let addresses: readonly string[];
      try {
        addresses = literal ? [host] : await resolveHost(host);
      } catch {
        addresses = [];
      }
      if (addresses.length === 0) return { ok: false, message: `${quote(host)}: there is no host of that name.` };
      if (isAllowed(url)) return { ok: true, addresses };
      // One inside address among public ones is enough: a name that points both ways is a trick.
      const kind = addresses.map(specialAddress).find((special) => special !== undefined);
      if (kind === undefined) return { ok: true, addresses };
      return { ok: false, message: `${quote(host)} ${literal ? "is" : "leads to"} ${article(kind)} address. ${RULE}` };
    },
  };
}

function article(kind: string): string {
  return `${/^[aeiou]/i.test(kind) ? "an" : "a"} ${kind}`;
}

const RULE = "The web tools reach public addresses only, also after redirects; the user can allow a host with web.allow_hosts.";
