/**
 * The compiler step of build.ts, as a process of its own: a process that has looked for a package before the install keeps
 * believing that it is not there. One JSON argument: `Compilation`. Refuses: being called by people.
 */

export type Compilation = {
  readonly entry: string;
  readonly outfile: string;
  readonly define?: Record<string, string>;
  readonly target?: Bun.Build.CompileTarget;
  /** The target's runtime, where it is at hand already. Bun's own download of it checks no hash. */
  readonly runtime?: string;
  /** Start-up profiles, most common way of starting first. */
  readonly order?: readonly string[];
};

/** A text import becomes a string of its module. Left alone it becomes an embedded file, read by `require` at start (0.5 ms). */
const textAsString: Bun.BunPlugin = {
  name: "text as string",
  setup(build) {
    build.onLoad({ filter: /\.md$/ }, async ({ path }) => ({
      contents: `export default ${JSON.stringify(await Bun.file(path).text())};`,
      loader: "js",
    }));
  },
};

/** Whether there are colours is decided by ui/output.ts; asking `process.stdout` on the way in loads streams (5 ms of the REPL's start). */
const coloursUnasked: Bun.BunPlugin = {
  name: "picocolors without a look at the process",
  setup(build) {
    build.onLoad({ filter: /[\\/]picocolors\.js$/ }, async ({ path }) => {
      const source = await Bun.file(path).text();
      const contents = source.replace("let p = process || {},", "let p = {},");
      if (contents === source) throw new Error(`${path} is not what it was: see scripts/compile.ts`);
      return { contents, loader: "js" };
    });
  },
};

/**
 * The one set of options, shared with the benchmark's floor programs so that all are built alike.
 * Splitting keeps a lazily imported module out of memory until its `import()` runs.
 */
async function compile(wanted: Compilation): Promise<void> {
  await Bun.build({
    entrypoints: [wanted.entry],
    target: "bun",
    format: "esm",
    splitting: true,
    minify: true,
    bytecode: true,
    sourcemap: "linked",
    define: wanted.define ?? {},
    plugins: [textAsString, coloursUnasked],
    throw: true,
    compile: {
      outfile: wanted.outfile,
      ...(wanted.target ? { target: wanted.target } : {}),
      ...(wanted.runtime ? { executablePath: wanted.runtime } : {}),
      // Short runs never earn back what compiling costs; long ones ask for it (app/warm-up.ts).
      jitPolicy: 100,
      // The caller's directory must have no say in what runs (B01, B02).
      autoloadBunfig: false,
      autoloadDotenv: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
      bytecodeOrder: wanted.order !== undefined && wanted.order.length > 0 && [...wanted.order],
    },
  });
}

if (import.meta.main) await compile(JSON.parse(process.argv[2] ?? "") as Compilation);
