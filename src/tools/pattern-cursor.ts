/** A place in a pattern that is being read, and the complaint about what stands there. Refuses: knowing the syntax. */

/** The pattern cannot be used. The message is for the model and names the construct. */
export class PatternProblem extends Error {}

export class Cursor {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** The character here; "" at the end. */
  peek(): string {
    const code = this.text.codePointAt(this.at);
    return code === undefined ? "" : String.fromCodePoint(code);
  }

  next(): string {
    const character = this.peek();
    this.at += character.length;
    return character;
  }

  eat(wanted: string): boolean {
    if (!this.text.startsWith(wanted, this.at)) return false;
    this.at += wanted.length;
    return true;
  }

  /** What a sticky expression matches here, taken. */
  take(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.at;
    const found = expression.exec(this.text);
    if (found === null) return undefined;
    this.at += found[0].length;
    return found;
  }

  /** `from` is where the construct begins that the message is about. */
  fail(message: string, from: number): never {
    const construct = this.text.slice(from, Math.min(Math.max(this.at, from + 1), from + MAX_SHOWN));
    throw new PatternProblem(`regex parse error: ${message}${construct === "" ? "" : `: ${construct.toWellFormed()}`}`);
  }
}

const MAX_SHOWN = 60;
