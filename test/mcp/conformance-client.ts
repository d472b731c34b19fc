/**
 * The public conformance suite's client: `bun conformance-client.ts URL`, the scenario in MCP_CONFORMANCE_SCENARIO. Drives the
 * product's own code, nothing else: src/mcp/servers.ts for ordinary scenarios, src/mcp/login.ts for the auth ones.
 */

import { createProcessOwner } from "../../src/base/process.ts";
import { logIn } from "../../src/mcp/login.ts";
import type { LoginStore } from "../../src/mcp/login-store.ts";
import { httpPlan, openFleet } from "./fleet.ts";

const url = process.argv.at(-1) ?? "";
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}") as Record<string, string>;

/** Where a client that has no document of its own says it has one. */
const CIMD_URL = "https://conformance-test.local/client-metadata.json";

async function ordinary(): Promise<void> {
  await using fleet = await openFleet([httpPlan("suite", url, { timeoutMs: 20_000 })], {
    elicit: async () => ({ action: "accept", content: {} }),
  });
  await fleet.ready();
  for (const entry of fleet.servers.entries()) {
    const required = entry.spec.parameters.required;
    const numbers = Array.isArray(required) ? Object.fromEntries(required.map((name, index) => [String(name), index + 2])) : {};
    const result = await fleet.call(entry.spec.name, numbers);
    console.log(entry.spec.name, result.status, result.text);
  }
  for (const diagnostic of fleet.diagnostics) console.log(diagnostic.message);
  if (fleet.diagnostics.some((diagnostic) => diagnostic.severity === "warning")) process.exitCode = 1;
}

function memoryStore(): LoginStore {
  const kept = new Map<string, string>();
  return {
    lookup: async (name) => kept.get(name),
    store: async (name, value) => {
      kept.set(name, value);
      return { kind: "keychain" };
    },
    remove: async (name) => kept.delete(name),
  };
}

/** Agrees as a person in a browser would: the suite's server sends the code at once. */
async function agree(page: URL): Promise<URLSearchParams> {
  const answer = await fetch(page, { redirect: "manual" });
  return new URL(answer.headers.get("location") ?? "", page).searchParams;
}

async function authorized(): Promise<void> {
  const session = await logIn({
    plan: httpPlan("suite", url, { timeoutMs: 20_000 }),
    version: "0.0.0",
    root: import.meta.dir,
    processes: createProcessOwner(),
    inherit: {},
    signal: AbortSignal.timeout(25_000),
    store: memoryStore(),
    redirectUrl: "http://127.0.0.1:3000/callback",
    ask: agree,
    ...(scenario === "auth/basic-cimd" && { clientMetadataUrl: CIMD_URL }),
    ...(scenario === "auth/pre-registration" && {
      client: { client_id: context.client_id ?? "", client_secret: context.client_secret ?? "" },
    }),
  });
  const { tools } = await session.use((connection) => connection.listTools(AbortSignal.timeout(10_000)));
  const [tool] = tools;
  if (tool) {
    const result = await session.use((connection) => connection.callTool(tool.name, {}, AbortSignal.timeout(10_000)));
    console.log(tool.name, JSON.stringify(result));
  }
  await session.close();
}

await (scenario.startsWith("auth/") ? authorized() : ordinary());
