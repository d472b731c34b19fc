/**
 * `--max-turns` and `--max-cost`: asked before each request. A request whose usage nobody reported is estimated, so a
 * silent server cannot spend without end. Refuses: prices nobody knows.
 */
import type { Stop } from "../agent/response.ts";
import type { ModelInfo } from "../provider/provider.ts";
import type { RunEvent } from "../types/event.ts";
import { estimateTokens } from "./ledger.ts";

export type LimitOptions = {
  readonly maxTurns: number | undefined;
  readonly maxCostUsd: number | undefined;
  readonly price: ModelInfo["price"];
  /** UTF-8 bytes of the request just made: system prompt, tools and messages. */
  readonly requestBytes: () => number;
};

export interface Limits {
  /** `requests` counts the turn's requests made so far; an answer ends the turn. */
  check(requests: number): Stop | undefined;
  /** A request that no `request_started` tells of (a summary) is about to leave. */
  begin(): void;
  /** Nothing came of it: what nobody reported it to have cost is not estimated. */
  drop(): void;
  event(event: RunEvent): void;
}

/** The limits of a run. */
export function createLimits(options: LimitOptions): Limits {
  const { maxTurns, maxCostUsd } = options;
  let spent = 0;
  let estimated = false;
  let open = false;
  let answerBytes = 0;
  const settle = (): void => {
    // Asked each time: the model may have changed between turns.
    const { price } = options;
    if (!open || !price) return;
    open = false;
    estimated = true;
    spent += (estimateTokens(options.requestBytes()) * price.input + estimateTokens(answerBytes) * price.output) / 1e6;
  };
  const begin = (): void => {
    settle();
    open = true;
    answerBytes = 0;
  };
  return {
    begin,
    drop() {
      open = false;
    },
    check(requests) {
      if (maxTurns !== undefined && requests >= maxTurns) {
        return { class: "max_turns", message: `the limit of ${maxTurns} model requests (--max-turns) was reached` };
      }
      if (maxCostUsd === undefined) return undefined;
      settle();
      if (spent < maxCostUsd) return undefined;
      const about = estimated ? "about " : "";
      return {
        class: "max_cost",
        message: `the limit of $${maxCostUsd} (--max-cost) was reached: ${about}$${spent.toFixed(4)} spent`,
      };
    },
    event(event) {
      if (maxCostUsd === undefined) return;
      if (event.type === "request_started") begin();
      else if (event.type === "usage" && event.usage.costUsd !== undefined) {
        spent += event.usage.costUsd;
        open = false;
      } else if (event.type === "retrying") {
        // The next attempt is another one to pay for.
        open = true;
        answerBytes = 0;
      } else if (event.type === "text_delta" || event.type === "reasoning_delta") answerBytes += Buffer.byteLength(event.text);
    },
  };
}
