/** The name a person calls a model by, from the two fields a record holds it in. */

/** `provider/id`; the one that is known where the other is "". */
export function modelName(provider: string, model: string): string {
  return provider === "" || model === "" ? provider || model : `${provider}/${model}`;
}
