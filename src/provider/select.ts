/**
 * Which model a run talks to: the given one, else the only provider with a credential and its default.
 * Refuses: asking the network (local servers count only when they are named), asking the person.
 */
import type { ProviderSettings } from "../types/settings.ts";

type Choice =
  | { readonly ok: true; readonly provider: ProviderSettings; readonly model: string }
  /** `replay/FILE` */
  | { readonly ok: true; readonly replay: string }
  /** `message` is for a person (exit 2); `lookedFor` are the environment variables that would have helped. */
  | {
      readonly ok: false;
      readonly reason: "unknown_provider" | "no_model" | "nothing_found" | "ambiguous";
      readonly message: string;
      readonly lookedFor: readonly string[];
    };

type ChoiceInput = {
  /** As typed or configured: `provider/id`, `provider`, `replay/FILE`. */
  readonly model?: string | undefined;
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  readonly hasCredential: (provider: ProviderSettings) => boolean;
};

/** Never throws: what is missing is a choice that was not made, with words for a person. */
export function chooseModel({ model, providers, hasCredential }: ChoiceInput): Choice {
  const asked = model?.trim() ?? "";
  if (asked !== "") return named(asked, providers);
  const keyed = Object.values(providers).filter((provider) => provider.apiKeyEnv !== undefined);
  const able = keyed.filter((provider) => hasCredential(provider));
  const lookedFor = keyed.map((provider) => provider.apiKeyEnv ?? "");
  const [only, ...others] = able;
  if (only === undefined) {
    const message = `no model is set and no API key was found.\nLooked for: --model, THNDRS_MODEL, model in the configuration, ${lookedFor.join(", ")}.\nGet going: set one of these keys (or run thndrs setup), name a local server (--model ollama/MODEL), or play a recording (--replay FILE).`;
    return { ok: false, reason: "nothing_found", message, lookedFor };
  }
  if (others.length > 0) {
    const names = able.map((provider) => `${provider.name}/${provider.defaultModel ?? "MODEL"}`);
    const message = `no model is set and there are credentials for several providers.\nChoose one: ${names.map((name) => `--model ${name}`).join(", ")}.`;
    return { ok: false, reason: "ambiguous", message, lookedFor };
  }
  return withDefault(only);
}

function named(asked: string, providers: Readonly<Record<string, ProviderSettings>>): Choice {
  const slash = asked.indexOf("/");
  const name = slash < 0 ? asked : asked.slice(0, slash);
  const id = slash < 0 ? "" : asked.slice(slash + 1);
  if (name === "replay" && id !== "") return { ok: true, replay: id };
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (provider === undefined) {
    const message = `there is no provider ${JSON.stringify(name)} (in model ${JSON.stringify(asked)}). A model is PROVIDER/ID; known providers: ${Object.keys(providers).join(", ")}.`;
    return { ok: false, reason: "unknown_provider", message, lookedFor: [] };
  }
  return id === "" ? withDefault(provider) : { ok: true, provider, model: id };
}

function withDefault(provider: ProviderSettings): Choice {
  if (provider.defaultModel !== undefined) return { ok: true, provider, model: provider.defaultModel };
  const message = `provider ${provider.name} has no default model. Name one: --model ${provider.name}/MODEL (thndrs models lists what it serves).`;
  return { ok: false, reason: "no_model", message, lookedFor: [] };
}
