/** What the environment tells of the terminal. Refuses: asking it. */

type Environment = Readonly<Record<string, string | undefined>>;

/** No cursor movement at all: lines only. */
export function isPlainTerminal(env: Environment): boolean {
  return env.TERM === undefined || env.TERM === "" || env.TERM === "dumb";
}

/**
 * How long after a change of size the terminal may have another one than it told: tmux tells the second of two after a quarter of a
 * second, and others are about to while their window is drawn larger.
 */
export function calmMs(env: Environment): number {
  return env.TMUX || /^(?:tmux|screen)/.test(env.TERM ?? "") ? 300 : 60;
}

const CLUSTERING = /^(?:xterm-kitty|xterm-ghostty|wezterm)/;

/**
 * Whether a vowel sign that stands beside its letter (Devanagari, Bengali, Tamil) has a cell of its own, as `wcwidth` counts: so do
 * xterm, tmux, screen, VTE and whoever asks the C library. Those that count by clusters say who they are.
 */
export function spacesMarks(env: Environment): boolean {
  if (env.TMUX) return true;
  if (env.KITTY_WINDOW_ID || env.WT_SESSION || env.WEZTERM_PANE || env.GHOSTTY_RESOURCES_DIR) return false;
  return !/^(?:iTerm\.app|Apple_Terminal|WezTerm|ghostty)$/.test(env.TERM_PROGRAM ?? "") && !CLUSTERING.test(env.TERM ?? "");
}

const REFLOWING = /^(?:tmux|xterm-kitty|xterm-ghostty|alacritty|foot|wezterm|contour)/;

/**
 * Whether the terminal wraps long lines anew when its width changes. Where nothing is known it is taken for one that does not:
 * the mistake leaves a row too many, the other one takes a settled row away.
 */
export function reflowsLines(env: Environment): boolean {
  if (env.TMUX || env.VTE_VERSION || env.KITTY_WINDOW_ID || env.WT_SESSION || env.KONSOLE_VERSION) return true;
  if (env.ALACRITTY_WINDOW_ID || env.WEZTERM_PANE || env.GHOSTTY_RESOURCES_DIR) return true;
  const program = env.TERM_PROGRAM ?? "";
  return /^(?:iTerm\.app|Apple_Terminal|vscode|WezTerm|ghostty|tmux|rio)$/.test(program) || REFLOWING.test(env.TERM ?? "");
}
