/**
 * Asks the model for the summary of a compaction. Its waits and what it cost are told like those of any request; its text is no answer
 * and goes to nobody but the caller. Refuses: deciding what is summarised (compactor.ts), wording the request (summary.ts).
 */
import type { Provider, ProviderRequest } from "../provider/provider.ts";
import type { Emit } from "../types/event.ts";
import type { Message } from "../types/message.ts";
import type { Budget } from "./budget.ts";
import { collectResponse, type Response, type Stop } from "./response.ts";
import { summaryRequest } from "./summary.ts";

/** What may be spent on summaries: told of each request, and of one that came to nothing. */
export type Spending = {
  begin(): void;
  drop(): void;
  /** Answers when it is used up. */
  limit(): Stop | undefined;
};

export type SummaryOrder = {
  readonly provider: Provider;
  readonly request: () => Omit<ProviderRequest, "messages">;
  readonly budget: Budget;
  readonly emit: Emit;
  readonly spending?: Spending;
  readonly turnId: string;
  readonly covered: readonly Message[];
  readonly guidance: string;
  readonly signal: AbortSignal;
};

/** `times`: how often it came to nothing. */
export type Written =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly times?: number };

/** Requests, each smaller, when the provider says that one does not fit either. */
const MAX_ASKS = 3;

const AGAIN = "Your last reply held no text. Write the summary itself, as text.";

const SYSTEM = "You summarise a working session. Answer with the summary alone.";

/** The summary as the model wrote it; the request always fits, also when the provider counts differently. */
export async function writeSummary(order: SummaryOrder): Promise<Written> {
  const { budget, provider, emit, spending, turnId, signal } = order;
  let room = (budget.available - budget.tokens(Buffer.byteLength(SYSTEM))) * budget.bytesPerToken() * 0.85;
  const { model, sessionId } = order.request();
  const unseen = waitsAndCosts(emit);
  let silent = false;
  for (let tries = 1; ; ) {
    const spent = spending?.limit();
    if (spent) return notMade(spent);
    const text = summaryRequest(order.covered, order.guidance, room);
    const messages: readonly Message[] = [{ role: "user", text: silent ? `${text}\n\n${AGAIN}` : text }];
    spending?.begin();
    const request: ProviderRequest = { model, sessionId, system: SYSTEM, tools: [], messages };
    const response = await collectResponse(provider, request, turnId, unseen, signal, () => spending?.limit());
    // Recorded here, and only here: what counts usage must not meet it twice.
    if (response.usage) emit({ type: "usage", turnId, usage: response.usage });
    else if (response.end.type === "failure") spending?.drop();
    // What nobody reported is estimated from the conversation: now, before the summary takes its place.
    spending?.limit();
    if (response.end.type === "failure") {
      if (response.end.class !== "context_overflow" || tries >= MAX_ASKS) return notMade(response.end);
      tries += 1;
      room = Math.min(room, Buffer.byteLength(text)) / 2;
      continue;
    }
    if (response.end.reason === "refusal") return { ok: false, message: "the model refused to write a summary" };
    if (response.text.trim() !== "") return { ok: true, text: response.text };
    if (silent) return notMade({ message: nothingSaid(response) }, 2);
    silent = true;
  }
}

function nothingSaid({ reasoning, end }: Response): string {
  const what = reasoning === "" ? "the model gave no text, twice" : "the model gave only reasoning, twice";
  const cut = end.type === "stop" && end.reason === "length";
  const advice = "choose another model (--model, /model)";
  return `${what}; ${advice}${cut ? ', or let this one write more ([models."PROVIDER/ID"] max_output)' : ", or start a new session"}`;
}

function notMade({ message }: { readonly message: string }, times = 1): Written {
  return { ok: false, message: `the summary could not be made: ${message}`, times };
}

/** Waits, and what failed attempts cost. */
function waitsAndCosts(emit: Emit): Emit {
  return (event) => {
    if (event.type === "usage") emit(event);
    else if (event.type === "retrying") emit({ ...event, summary: true });
  };
}
