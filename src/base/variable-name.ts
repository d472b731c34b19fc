/** How a provider is called in names of environment variables. Refuses: reading the environment. */

/** The prefix of a provider's variables (`…_API_KEY`, `…_BASE_URL`): `my-proxy` → `MY_PROXY`. */
export function variablePrefix(provider: string): string {
  return provider.toUpperCase().replace(/[^A-Z0-9]/g, "_");
}
