/**
 * Proof that a path is inside the workspace. The only place that mints a SafePath (architecture.md, Key types).
 */
declare const proved: unique symbol;

/** An absolute real path proved to be inside the workspace root. Only `workspace.resolve` makes one. */
export type SafePath = string & { readonly [proved]: true };

export type Resolved =
  | {
      readonly ok: true;
      readonly path: SafePath;
      /** Relative to the root with `/` separators; `.` for the root. */
      readonly relative: string;
      readonly exists: boolean;
    }
  /** `message` names the rule and is written for the model. */
  | { readonly ok: false; readonly message: string };

export type Workspace = {
  /** Real path of the workspace root (C1). */
  readonly root: string;
  /** Real path of the directory the run started in; inside `root`. Tool paths are relative to `root`, not to this. */
  readonly cwd: string;
  /** Proves one path as a model or user wrote it. */
  resolve(input: string): Promise<Resolved>;
};
