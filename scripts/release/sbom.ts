/**
 * What a release is made of: a CycloneDX 1.6 list with licences, and the licence texts that must travel with the program.
 * Deterministic. Refuses: a package without a licence, or with one that nobody has looked at yet.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../steps.ts";
import { type Package, productPackages, readLock } from "./lock.ts";

/** Licences that ask for no more than their text being passed on. Another one: decide first, then add it here. */
const FINE = new Set(["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0", "BlueOak-1.0.0", "Unlicense"]);

const BUN_NOTE =
  "The JavaScript runtime inside the program. Bun itself is MIT; it links JavaScriptCore (LGPL-2.0) and other libraries " +
  "statically: https://bun.com/docs/project/license";

export type Component = Package & {
  /** SPDX expression. */
  readonly licence: string;
  readonly about: string;
  /** The package's own licence files, joined. */
  readonly text: string;
};

/** True when every licence that an expression needs is a fine one: one of an OR, all of an AND. */
export function acceptable(expression: string): boolean {
  const plain = expression.replace(/^\((.*)\)$/, "$1");
  if (/[()]/.test(plain)) return false;
  return plain.split(" OR ").some((side) => side.split(" AND ").every((id) => FINE.has(id.trim())));
}

async function licenceText(directory: string): Promise<string> {
  const names = (await readdir(directory)).filter((name) => /^(licen[cs]e|copying|notice)([.-]|$)/i.test(name)).sort();
  const texts = await Promise.all(names.map((name) => Bun.file(join(directory, name)).text()));
  return texts.map((text) => text.replaceAll("\r\n", "\n").trim()).join("\n\n");
}

/** The product's packages with their licences, read from node_modules. Throws on one that is not acceptable. */
export async function readComponents(): Promise<readonly Component[]> {
  const all: Component[] = [];
  for (const one of productPackages(await readLock())) {
    const directory = join(root, one.directory);
    const manifest = (await Bun.file(join(directory, "package.json")).json()) as Record<string, unknown>;
    const licence = typeof manifest.license === "string" ? manifest.license : "";
    if (manifest.version !== one.version)
      throw new Error(`${one.directory} is ${manifest.version}, bun.lock says ${one.version}`);
    if (!acceptable(licence)) throw new Error(`${one.name}@${one.version} has the licence "${licence}": look at it first`);
    const about = typeof manifest.description === "string" ? manifest.description : "";
    all.push({ ...one, licence, about, text: await licenceText(directory) });
  }
  return all;
}

function purl(name: string, version: string): string {
  return `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;
}

function component(one: Component): object {
  const [group, name] = one.name.startsWith("@") ? one.name.split("/") : [undefined, one.name];
  const sum = Buffer.from(one.integrity.replace(/^sha512-/, ""), "base64").toString("hex");
  return {
    type: "library",
    "bom-ref": purl(one.name, one.version),
    ...(group === undefined ? {} : { group }),
    name,
    version: one.version,
    ...(one.about ? { description: one.about } : {}),
    scope: "required",
    hashes: [{ alg: "SHA-512", content: sum }],
    licenses: / (?:OR|AND) /.test(one.licence) ? [{ expression: one.licence }] : [{ license: { id: one.licence } }],
    purl: purl(one.name, one.version),
  };
}

/** A UUID that depends on nothing but `text`. */
function uuidOf(text: string): string {
  const hex = new Bun.CryptoHasher("sha256").update(text).digest("hex");
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  return [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`, variant + hex.slice(17, 20), hex.slice(20, 32)].join("-");
}

export type About = { readonly version: string; readonly commit: string; readonly seconds: number };

/** The bill of materials as JSON text. `direct`: names of the packages thndrs itself imports. */
export function sbom(components: readonly Component[], direct: readonly string[], about: About): string {
  const self = `pkg:generic/thndrs@${about.version}`;
  const runtime = purl("bun", Bun.version);
  const ref = (id: string) => purl(id.slice(0, id.lastIndexOf("@")), id.slice(id.lastIndexOf("@") + 1));
  const top = components.filter((one) => direct.includes(one.name)).map((one) => purl(one.name, one.version));
  const bom = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([about, components.map(({ name, integrity }) => [name, integrity])]))}`,
    version: 1,
    metadata: {
      timestamp: new Date(about.seconds * 1000).toISOString(),
      component: {
        type: "application",
        "bom-ref": self,
        name: "thndrs",
        version: about.version,
        licenses: [{ license: { id: "MIT" } }],
        purl: self,
        properties: [{ name: "thndrs:commit", value: about.commit }],
      },
    },
    components: [
      {
        type: "platform",
        "bom-ref": runtime,
        name: "bun",
        version: Bun.version,
        description: BUN_NOTE,
        scope: "required",
        licenses: [{ license: { id: "MIT" } }],
        purl: runtime,
      },
      ...components.map(component),
    ],
    dependencies: [
      { ref: self, dependsOn: [runtime, ...top] },
      { ref: runtime, dependsOn: [] },
      ...components.map((one) => ({ ref: purl(one.name, one.version), dependsOn: one.needs.map(ref) })),
    ],
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

const RULE = "─".repeat(100);

/** The licence texts of everything inside the program, to be shipped beside it. */
export async function notices(components: readonly Component[]): Promise<string> {
  const bun = await Bun.file(join(root, "node_modules", "bun-types", "docs", "project", "license.mdx")).text();
  const parts = components.map((one) => {
    const text = one.text || `(The package carries no licence text. Its licence is ${one.licence}.)`;
    return `${one.name} ${one.version}: ${one.licence}\n\n${text}`;
  });
  const head = "thndrs contains the following software of others.";
  const runtime = `Bun ${Bun.version}\n\n${bun.replace(/^---\n[\s\S]*?\n---\n/, "").trim()}`;
  return `${[head, runtime, ...parts].join(`\n\n${RULE}\n\n`)}\n`;
}
