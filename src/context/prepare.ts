/**
 * From a file on disk to the text a model may see (C6, C8, C12): template, scan, cap, with the diagnostics of each.
 * Refuses: the ledger, the total cap, links.
 */
import type { Diagnostic } from "../types/event.ts";
import { isAllowed, readAllowed } from "./allow.ts";
import { capText } from "./caps.ts";
import type { ContextOptions } from "./contract.ts";
import type { Loaded } from "./load.ts";
import { isInside } from "./places.ts";
import { type Finding, type Scan, scanText } from "./scan.ts";
import type { ScanKind } from "./scan-rules.ts";
import { renderTemplate, type Transclude, templateBody } from "./template.ts";
import { type Part, transclude } from "./transclude.ts";

export type OnDisk = Extract<Loaded, { kind: "text" | "large" }>;

export type Prepared =
  /** `full` is the text before the cap: links are looked for in it. */
  | { readonly kind: "text"; readonly full: string; readonly body: string; readonly truncated: boolean }
  | { readonly kind: "path"; readonly note: string }
  | { readonly kind: "blocked"; readonly reason: string };

/** What a template became, and the files whose text went into it. */
type Rendered = { readonly text: string; readonly parts: readonly Part[] };

const KINDS: Readonly<Record<ScanKind, string>> = {
  override_instructions: "tells the model to drop its instructions",
  claimed_system_prompt: "claims to be a system prompt",
  act_without_limits: "tells the model to act without limits",
  hide_from_user: "tells the model to keep something from the user",
  hidden_instructions: "hides instructions from the reader",
  credential_upload: "sends a credential with curl or wget",
  credential_files: "prints a credential file",
};

export class Preparer {
  readonly #options: ContextOptions;
  /** Diagnostics already given: each problem is told once per content. */
  readonly #told = new Set<string>();

  constructor(options: ContextOptions) {
    this.#options = options;
  }

  /** Says a thing once; `about` is what makes it the same thing (a hash, a target). */
  tell(diagnostic: Diagnostic, about: string): void {
    const key = `${diagnostic.code}\0${diagnostic.path ?? ""}\0${diagnostic.line ?? ""}\0${about}`;
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.#options.diagnose(diagnostic);
  }

  /** Whether the file tools can read this path. */
  readable(path: string): boolean {
    return isInside(this.#options.root, path);
  }

  /** `cwd` is the working directory now; `cap` in characters; `plain` files are no templates. */
  async prepare(file: OnDisk, cap: number, cwd: string, plain = false): Promise<Prepared> {
    if (file.kind === "large") return { kind: "path", note: this.#largeNote(file) };
    const rendered = plain ? undefined : await this.#render(file, cwd);
    const scanned = this.#options.settings.scan === "off" ? undefined : await this.#scan(file, rendered);
    if (scanned?.blocked !== undefined) return { kind: "blocked", reason: scanned.blocked };
    const full = scanned?.text ?? rendered?.text ?? file.text;
    return { kind: "text", full, ...this.#cap(file, full, cap) };
  }

  /** Only the question whether the scan would block it; for files that are not about to be sent. */
  async wouldBlock(file: OnDisk): Promise<string | undefined> {
    if (file.kind === "large" || this.#options.settings.scan !== "block") return undefined;
    const finding = scanText(file.text).findings.find((found) => !found.inCode);
    const held = finding && (await this.#notAllowed(file, []));
    return finding && held ? this.#block(file, finding, held) : undefined;
  }

  #cap(file: OnDisk, full: string, cap: number): { readonly body: string; readonly truncated: boolean } {
    const capped = capText(full, cap, file.path, this.readable(file.path));
    return { body: capped.text, truncated: capped.truncated };
  }

  #largeNote(file: OnDisk): string {
    const size = `${file.byteCount.toLocaleString("en-US")} bytes`;
    return this.readable(file.path)
      ? `Not included: ${size}. Read what you need of it with read_file_range.`
      : `Not included: ${size}, and outside the workspace, where the file tools cannot read.`;
  }

  /** The rendered text of a file that opted in; its marked source where rendering fails; undefined for any other file. */
  async #render(file: OnDisk & { kind: "text" }, cwd: string): Promise<Rendered | undefined> {
    const template = templateBody(file.text);
    if (!template) return undefined;
    const { root, facts } = this.#options;
    const parts = new Map<string, Part>();
    const read: Transclude = (path, caller = file.path) => {
      const part = transclude(caller, path);
      parts.set(`${part.path}\0${part.hash}`, { path: part.path, hash: part.hash });
      return part;
    };
    const rendered = await renderTemplate({ template, facts: facts(), root, cwd, transclude: read });
    if (rendered.ok) return { text: rendered.text, parts: [...parts.values()] };
    const { line, message } = rendered;
    this.tell(
      {
        severity: "warning",
        code: "context_template",
        path: file.path,
        line,
        message: `${file.path}:${line}: the template was not rendered: ${message}`,
      },
      file.contentHash,
    );
    const marked = `[This template could not be rendered (line ${line}); its source follows.]\n${template.body}`;
    return { text: marked, parts: [] };
  }

  /** Scans what the file says and, for a template, what it became. */
  async #scan(
    file: OnDisk & { kind: "text" },
    rendered: Rendered | undefined,
  ): Promise<{ readonly text: string; readonly blocked?: string }> {
    const raw = scanText(file.text);
    const scan = rendered === undefined ? raw : scanText(rendered.text);
    this.#tellInvisible(file, raw.invisible.count > 0 ? raw : scan);
    const findings = rendered === undefined ? raw.findings : [...raw.findings, ...scan.findings];
    const severe = findings.find((found) => !found.inCode);
    const blocks = severe !== undefined && this.#options.settings.scan === "block";
    const held = blocks ? await this.#notAllowed(file, rendered?.parts ?? []) : undefined;
    if (severe && held) return { text: "", blocked: this.#block(file, severe, held) };
    for (const finding of findings) this.#warn(file, finding);
    return { text: scan.text };
  }

  /** C12: the allow-list lifts a block for the content that was read: that of the file, and of every file it transcludes. */
  async #notAllowed(file: OnDisk, parts: readonly Part[]): Promise<Part | undefined> {
    const list = await readAllowed(this.#options.configHome);
    const whole = [{ path: file.path, hash: file.contentHash }, ...parts];
    return whole.find(({ path, hash }) => !isAllowed(list, path, hash));
  }

  /** `held`: what of it is not allowed. */
  #block(file: OnDisk, finding: Finding, held: Part): string {
    const { kind, line } = finding;
    const reason = `line ${line} ${KINDS[kind]} (${kind})`;
    const part = held.path === file.path ? "" : ` with the text of ${held.path}`;
    this.tell(
      {
        severity: "warning",
        code: "context_blocked",
        path: file.path,
        line,
        message: `${file.path}:${line}: not loaded: it ${KINDS[kind]} (${kind})${part}. Read it; "thndrs context allow ${held.path}" lifts the block for this content.`,
      },
      `${file.contentHash}\0${held.path}\0${held.hash}`,
    );
    return reason;
  }

  #warn(file: OnDisk, finding: Finding): void {
    const where = finding.inCode ? " in quoted code" : "";
    this.tell(
      {
        severity: "warning",
        code: "context_suspicious",
        path: file.path,
        line: finding.line,
        message: `${file.path}:${finding.line}: it ${KINDS[finding.kind]}${where} (${finding.kind})`,
      },
      `${file.contentHash}${finding.kind}`,
    );
  }

  #tellInvisible(file: OnDisk, { invisible }: Scan): void {
    if (invisible.count === 0) return;
    const { count, line } = invisible;
    this.tell(
      {
        severity: "warning",
        code: "context_invisible",
        path: file.path,
        line,
        message: `${file.path}:${line}: removed ${count} invisible character${count === 1 ? "" : "s"}`,
      },
      file.contentHash,
    );
  }
}
