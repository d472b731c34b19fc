/** Texts that a match cannot do without: looking for them first is faster than matching. Refuses: matching. */
import type { Node } from "./pattern-syntax.ts";

/** Whether a text holds what every match in it must hold. Linear: searches for plain text only. */
export type Holds = (text: string) => boolean;

type Needle = { readonly text: string /** In any case. */; readonly folded: boolean };

const MAX_NEEDLES = 8;
/** A longer one would make the search for it no faster. */
const MAX_LENGTH = 32;

/** Undefined when the pattern asks for no text. */
export function needlesOf(node: Node): Holds | undefined {
  const needles = required(node);
  if (needles === undefined) return undefined;
  const tests = needles.map(searchFor);
  const [only] = tests;
  return only !== undefined && tests.length === 1 ? only : (text) => tests.some((test) => test(text));
}

function searchFor({ text, folded }: Needle): Holds {
  if (!folded) return (line) => line.includes(text);
  // Without repetitions an expression takes no more steps than its length at each place.
  const expression = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
  return (line) => expression.test(line);
}

/** Needles of which every match holds at least one. */
function required(node: Node): readonly Needle[] | undefined {
  switch (node.kind) {
    case "set":
      return node.set.only === undefined ? undefined : [{ text: node.set.only, folded: node.set.folded === true }];
    case "edge":
      return undefined;
    case "repeat":
      return node.min > 0 ? required(node.part) : undefined;
    case "choice": {
      const each = node.parts.map(required);
      const all = each.flatMap((needles) => needles ?? []);
      return each.includes(undefined) || all.length > MAX_NEEDLES ? undefined : all;
    }
    case "sequence":
      return rarest(node);
  }
}

function rarest(node: Node): readonly Needle[] | undefined {
  let best: readonly Needle[] | undefined;
  let text = "";
  let folded = false;
  const offer = (needles: readonly Needle[] | undefined): void => {
    if (needles !== undefined && shortest(needles) > shortest(best)) best = needles;
  };
  const endRun = (): void => {
    offer([{ text, folded }]);
    text = "";
    folded = false;
  };
  const read = (part: Node): void => {
    if (part.kind === "sequence") {
      for (const each of part.parts) read(each);
      return;
    }
    const set = part.kind === "set" ? part.set : undefined;
    if (set?.only === undefined) {
      endRun();
      offer(required(part));
      return;
    }
    if (text.length >= MAX_LENGTH) endRun();
    text += set.only;
    folded ||= set.folded === true;
  };
  read(node);
  endRun();
  return best;
}

/** The longer a text, the fewer lines hold it. */
function shortest(needles: readonly Needle[] | undefined): number {
  return needles === undefined ? 0 : Math.min(...needles.map((needle) => needle.text.length));
}
