/**
 * Permission questions of an external agent: one at a time, recorded before they are shown, answered by a person, by the
 * setting where nobody can be asked (X02), and with `cancelled` once the turn is. Refuses: asking by itself.
 */
import type { PermissionOption, RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { cutChars } from "../base/text.ts";
import type { Emit } from "../types/event.ts";
import { bounded } from "./wait.ts";

export type Decision = "allow" | "reject";

export type Question = {
  readonly title: string;
  /** `read`, `edit`, `execute` …; `other` when the agent did not say. */
  readonly kind: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly options: readonly { readonly id: string; readonly name: string; readonly kind: string }[];
};

/** Undefined: the question was cancelled. */
export type Decide = (question: Question, signal: AbortSignal) => Promise<Decision | undefined>;

/** The prompt a question belongs to, with its end; undefined between prompts: such a question is cancelled. */
export type ActiveTurn = { readonly turnId: string; readonly signal: AbortSignal; readonly emit: Emit };

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

/** The option that fits a decision: once before always. */
function optionFor(options: readonly PermissionOption[], decision: Decision): PermissionOption | undefined {
  const kinds = decision === "allow" ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"];
  return kinds.map((kind) => options.find((option) => option.kind === kind)).find((option) => option !== undefined);
}

function questionOf(request: RequestPermissionRequest): Question {
  const { toolCall, options } = request;
  const raw = toolCall.rawInput;
  const paths = (toolCall.locations ?? []).map((location) => location.path);
  return {
    title: cutChars(toolCall.title ?? toolCall.name ?? "the agent asks for permission", 500),
    kind: toolCall.kind ?? "other",
    input: {
      ...(paths[0] !== undefined && { path: paths[0] }),
      ...(typeof raw === "object" && raw !== null && !Array.isArray(raw) ? (raw as Record<string, unknown>) : {}),
    },
    options: options.map((option) => ({ id: option.optionId, name: option.name, kind: option.kind })),
  };
}

/** Handles `session/request_permission`. */
export function createPermissionDesk(
  turn: () => ActiveTurn | undefined,
  decide: Decide,
): (request: RequestPermissionRequest) => Promise<RequestPermissionResponse> {
  let queue: Promise<unknown> = Promise.resolve();
  const handle = async (request: RequestPermissionRequest, active: ActiveTurn): Promise<RequestPermissionResponse> => {
    const { turnId, signal, emit } = active;
    // It waited behind another one, and its prompt is over.
    if (signal.aborted) return CANCELLED;
    const toolCallId = request.toolCall.toolCallId;
    const question = questionOf(request);
    emit({ type: "acp_permission_request", turnId, toolCallId, title: question.title, options: question.options });
    const decision = await bounded(decide(question, signal), { signal });
    const option = decision === "allow" || decision === "reject" ? optionFor(request.options, decision) : undefined;
    if (!option) {
      emit({ type: "acp_permission_outcome", turnId, toolCallId, outcome: "cancelled" });
      return CANCELLED;
    }
    emit({ type: "acp_permission_outcome", turnId, toolCallId, outcome: "selected", optionId: option.optionId });
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  };
  return (request) => {
    const active = turn();
    if (!active) return Promise.resolve(CANCELLED);
    const answer = queue.then(() => handle(request, active));
    queue = answer.catch(() => undefined);
    return answer;
  };
}
