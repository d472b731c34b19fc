/** Whether a host is this machine. Refuses: resolving names. */

/** `hostname` as `URL` gives it: localhost, 127.0.0.0/8 (four decimal numbers) or [::1]. */
export function isLoopback(hostname: string): boolean {
  if (hostname === "localhost" || hostname === "[::1]") return true;
  if (!hostname.startsWith("127.")) return false;
  const parts = hostname.split(".");
  return parts.length === 4 && !parts.some((part) => part === "" || Number.isNaN(Number(part)));
}
