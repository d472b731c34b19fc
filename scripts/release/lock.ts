/**
 * bun.lock as data: the packages below the product's dependencies, and where each one's files are. Resolution as Node does
 * it: the innermost copy wins. Refuses: development dependencies, asking a registry.
 */
import { join } from "node:path";
import { root } from "../steps.ts";

type Facts = {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalPeers?: readonly string[];
};

type Row = readonly [id: string, registry: string, facts: Facts, integrity: string];

export type Lock = {
  readonly workspaces: { readonly "": { readonly dependencies?: Readonly<Record<string, string>> } };
  readonly packages: Readonly<Record<string, Row>>;
};

export type Package = {
  readonly name: string;
  readonly version: string;
  /** `sha512-…` of the archive in the registry. */
  readonly integrity: string;
  /** Directory below the project's root. */
  readonly directory: string;
  /** `name@version` of what it needs. */
  readonly needs: readonly string[];
};

export async function readLock(): Promise<Lock> {
  return Bun.JSONC.parse(await Bun.file(join(root, "bun.lock")).text()) as Lock;
}

/** `@a/b/@c/d/e` → [`@a/b`, `@c/d`, `e`] */
function segments(key: string): string[] {
  return key.match(/@[^/]+\/[^/]+|[^/]+/g) ?? [];
}

/** Key of `name` as the package with key `from` finds it; undefined when it is not installed. */
function resolve(lock: Lock, from: readonly string[], name: string): string | undefined {
  for (let depth = from.length; depth >= 0; depth--) {
    const key = [...from.slice(0, depth), name].join("/");
    if (lock.packages[key]) return key;
  }
  return undefined;
}

function wanted(facts: Facts): readonly string[] {
  const peers = Object.keys(facts.peerDependencies ?? {}).filter((name) => !facts.optionalPeers?.includes(name));
  return [...Object.keys(facts.dependencies ?? {}), ...Object.keys(facts.optionalDependencies ?? {}), ...peers];
}

/** Every package the product is made of, by name and version. Throws when the lock misses one. */
export function productPackages(lock: Lock): readonly Package[] {
  const found = new Map<string, Package>();
  const open = Object.keys(lock.workspaces[""].dependencies ?? {}).map((name) => ({ from: [] as readonly string[], name }));
  for (let next = open.pop(); next; next = open.pop()) {
    const key = resolve(lock, next.from, next.name);
    const row = key === undefined ? undefined : lock.packages[key];
    if (key === undefined || !row) throw new Error(`bun.lock has no ${next.name} for ${next.from.join("/") || "the project"}`);
    if (found.has(key)) continue;
    const path = segments(key);
    const [id, , facts, integrity] = row;
    const names = wanted(facts).filter((name) => resolve(lock, path, name) !== undefined || facts.dependencies?.[name]);
    found.set(key, {
      name: id.slice(0, id.lastIndexOf("@")),
      version: id.slice(id.lastIndexOf("@") + 1),
      integrity,
      directory: join("node_modules", path.join("/node_modules/")),
      needs: names.map((name) => lock.packages[resolve(lock, path, name) ?? ""]?.[0] ?? name).sort(),
    });
    for (const name of names) open.push({ from: path, name });
  }
  const order = (one: Package) => `${one.name}@${one.version}`;
  const unique = new Map([...found.values()].map((one) => [order(one), one]));
  return [...unique.values()].sort((a, b) => (order(a) < order(b) ? -1 : 1));
}
