/**
 * The model of an open conversation, which may be another one from the next turn on (`/model`). Everything that was joined
 * to the first one goes on through this. Refuses: choosing; switching while a turn runs.
 */
import { type Budget, createBudget } from "../agent/budget.ts";
import { UserError } from "../base/user-error.ts";
import type { Provider, ProviderRequest } from "../provider/provider.ts";
import type { Emit } from "../types/event.ts";
import type { ModelSettings } from "../types/settings.ts";
import type { ChosenModel } from "./model.ts";

export interface ActiveModel {
  readonly chosen: ChosenModel;
  /** Speaks to whatever model is chosen when a request leaves. */
  readonly provider: Provider;
  readonly budget: Budget;
  /** What `/reasoning` chose, over what the configuration says. */
  reasoningEffort: ProviderRequest["reasoningEffort"];
  /** From the next turn on. @throws UserError while one runs: its requests go to one model */
  use(next: ChosenModel): void;
}

/**
 * @param configured the `[models]` settings, for the output limit a user set
 * @param isRunning whether a turn is under way
 */
export function createActiveModel(
  first: ChosenModel,
  threshold: number,
  configured: Readonly<Record<string, ModelSettings>>,
  isRunning: () => boolean,
  emit: Emit,
): ActiveModel {
  let chosen = first;
  let budget = createBudget(first.window, threshold);
  let warned = false;
  const warn = (tools: number): void => {
    if (warned || chosen.toolLimit === undefined || tools <= chosen.toolLimit) return;
    warned = true;
    const message = `${tools} tools are offered, and ${chosen.provider.name} takes ${chosen.toolLimit} in a request: leave some out with --deny-tool (mcp__SERVER__*), or list those you need under [mcp.servers.NAME] tools`;
    emit({ type: "diagnostic", diagnostic: { severity: "warning", code: "tools.many", message } });
  };
  const active: ActiveModel = {
    reasoningEffort: undefined,
    get chosen() {
      return chosen;
    },
    provider: {
      get name() {
        return chosen.provider.name;
      },
      get wire() {
        return chosen.provider.wire;
      },
      connect: () => chosen.provider.connect?.(),
      stream(request, signal) {
        warn(request.tools.length);
        const { maxOutputTokens: _, ...rest } = request;
        const limit = chosen === first ? request.maxOutputTokens : configured[chosen.name]?.maxOutput;
        const effort = active.reasoningEffort ?? request.reasoningEffort;
        const current = {
          ...rest,
          model: chosen.modelId,
          ...(limit !== undefined && { maxOutputTokens: limit }),
          ...(effort !== undefined && { reasoningEffort: effort }),
        };
        return chosen.provider.stream(current, signal);
      },
    },
    budget: {
      get available() {
        return budget.available;
      },
      get known() {
        return budget.known;
      },
      get target() {
        return budget.target;
      },
      get threshold() {
        return budget.threshold;
      },
      tokens: (bytes) => budget.tokens(bytes),
      bytesPerToken: () => budget.bytesPerToken(),
      bytes: (messages) => budget.bytes(messages),
      fixed: (request) => budget.fixed(request),
      measure: (fixedBytes, messages) => budget.measure(fixedBytes, messages),
      overflowed: (bytes) => budget.overflowed(bytes),
      learn: (bytes, usage) => budget.learn(bytes, usage),
    },
    use(next) {
      if (isRunning()) throw new UserError("a turn is running: choose the model when it has ended");
      chosen = next;
      budget = createBudget(next.window, threshold);
    },
  };
  return active;
}
