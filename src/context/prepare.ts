/**
 * From a file on disk to the text a model may see (C6, C8, C12): template, scan, cap, with the diagnostics of each.
 * Refuses: the ledger, the total cap, links.
 */
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Diagnostic } from "../types/event.ts";
import { isAllowed, readAllowed } from "./allow.ts";
import { capText } from "./caps.ts";
import type { ContextOptions } from "./contract.ts";
import type { Loaded } from "./load.ts";
import { isInside } from "./places.ts";
import { type Finding, type Scan, scanText } from "./scan.ts";
import type { ScanKind } from "./scan-rules.ts";
import { renderTemplate, templateBody } from "./template.ts";

export type OnDisk = Extract<Loaded, { kind: "text" | "large" }>;

export type Prepared =
  /** `full` is the text before the cap: links are looked for in it. */
  | { readonly kind: "text"; readonly full: string; readonly body: string; readonly truncated: boolean }
  | { readonly kind: "path"; readonly note: string }
  | { readonly kind: "blocked"; readonly reason: string };

const MAX_TRANSCLUDED_BYTES = 64 * 1024;

const KINDS: Readonly<Record<ScanKind, string>> = {
  override_instructions: "tells the model to drop its instructions",
  claimed_system_prompt: "claims to be a system prompt",
  act_without_limits: "tells the model to act without limits",
  hide_from_user: "tells the model to keep something from the user",
  hidden_instructions: "hides instructions from the reader",
  credential_upload: "sends a credential with curl or wget",
  credential_files: "prints a credential file",
};

/** A file of the calling file's directory subtree, for `transclude()`; throws a sentence otherwise. Never blocks. */
function transclude(caller: string, path: string): string {
  const directory = dirname(caller);
  const target = resolve(directory, path);
  if (!isInside(directory, target)) throw new Error(`transclude("${path}") leads out of the file's directory`);
  let real: string;
  try {
    real = realpathSync(target);
  } catch {
    throw new Error(`transclude("${path}"): there is no such file`);
  }
  if (!isInside(directory, real)) throw new Error(`transclude("${path}") leads out of the file's directory`);
  if (!statSync(real).isFile()) throw new Error(`transclude("${path}"): it is not a regular file`);
  const fd = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const size = fstatSync(fd).size;
    if (size > MAX_TRANSCLUDED_BYTES) throw new Error(`transclude("${path}"): it is larger than 64 KiB`);
    const bytes = new Uint8Array(size);
    const filled = readSync(fd, bytes, 0, size, 0);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, filled)).replaceAll("\r\n", "\n");
  } catch (error) {
    throw error instanceof TypeError ? new Error(`transclude("${path}"): it is not valid UTF-8`) : error;
  } finally {
    closeSync(fd);
  }
}

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
    const full = scanned?.text ?? rendered ?? file.text;
    return { kind: "text", full, ...this.#cap(file, full, cap) };
  }

  /** Only the question whether the scan would block it; for files that are not about to be sent. */
  async wouldBlock(file: OnDisk): Promise<string | undefined> {
    if (file.kind === "large" || this.#options.settings.scan !== "block") return undefined;
    const finding = scanText(file.text).findings.find((found) => !found.inCode);
    if (!finding || (await this.#lifted(file))) return undefined;
    return this.#block(file, finding);
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
  async #render(file: OnDisk & { kind: "text" }, cwd: string): Promise<string | undefined> {
    const template = templateBody(file.text);
    if (!template) return undefined;
    const { root, facts } = this.#options;
    const read = (path: string) => transclude(file.path, path);
    const rendered = await renderTemplate({ template, facts: facts(), root, cwd, transclude: read });
    if (rendered.ok) return rendered.text;
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
    return `[This template could not be rendered (line ${line}); its source follows.]\n${template.body}`;
  }

  /** Scans what the file says and, for a template, what it became. */
  async #scan(
    file: OnDisk & { kind: "text" },
    rendered: string | undefined,
  ): Promise<{ readonly text: string; readonly blocked?: string }> {
    const raw = scanText(file.text);
    const scan = rendered === undefined ? raw : scanText(rendered);
    this.#tellInvisible(file, raw.invisible.count > 0 ? raw : scan);
    const findings = rendered === undefined ? raw.findings : [...raw.findings, ...scan.findings];
    const severe = findings.find((found) => !found.inCode);
    if (severe && this.#options.settings.scan === "block" && !(await this.#lifted(file))) {
      return { text: "", blocked: this.#block(file, severe) };
    }
    for (const finding of findings) this.#warn(file, finding);
    return { text: scan.text };
  }

  async #lifted(file: OnDisk): Promise<boolean> {
    return isAllowed(await readAllowed(this.#options.configHome), file.path, file.contentHash);
  }

  #block(file: OnDisk, finding: Finding): string {
    const { kind, line } = finding;
    const reason = `line ${line} ${KINDS[kind]} (${kind})`;
    this.tell(
      {
        severity: "warning",
        code: "context_blocked",
        path: file.path,
        line,
        message: `${file.path}:${line}: not loaded: it ${KINDS[kind]} (${kind}). Read it; "thndrs context allow ${file.path}" lifts the block for this content.`,
      },
      file.contentHash,
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
