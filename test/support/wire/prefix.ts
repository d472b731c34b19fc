/**
 * Prompt caches need every request to begin with the bytes of the one before (loop-and-providers.md, Loop).
 * Cache breakpoints move and are no part of what is cached. Refuses: judging what a request says.
 */

const MARK = /(?<=\}|"),"cache_control":\{"type":"ephemeral"\}(?=\})/g;

/** The request bodies (in order) that do not extend the body before them; empty when all do. Positions count from 1. */
export function prefixBreaks(bodies: readonly string[]): string[] {
  const plain = bodies.map((body) => body.replaceAll(MARK, ""));
  return plain.flatMap((body, index) => {
    const before = plain[index - 1];
    if (before === undefined) return [];
    if (!before.endsWith("]}")) return [`request ${index}: the list of messages is not the last member`];
    const start = `${before.slice(0, -2)},`;
    if (body.startsWith(start)) return [];
    const at = [...start].findIndex((character, position) => body[position] !== character);
    return [
      `request ${index + 1} differs from byte ${at}: …${start.slice(Math.max(0, at - 40), at + 40)}… became …${body.slice(Math.max(0, at - 40), at + 40)}…`,
    ];
  });
}
