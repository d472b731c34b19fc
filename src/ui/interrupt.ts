/** The last rung of Ctrl+C (L11): asked once more, then out. Refuses: the rungs above it. */

/** How long the second press is waited for. */
const ARMED_MS = 3000;

export class QuitArming {
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get hint(): string | undefined {
    return this.#timer === undefined ? undefined : "Ctrl+C again to quit";
  }

  /** True at the second press. */
  press(): boolean {
    if (this.#timer !== undefined) return true;
    this.#timer = setTimeout(() => this.disarm(), ARMED_MS);
    this.#onChange();
    return false;
  }

  disarm(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#onChange();
  }
}
