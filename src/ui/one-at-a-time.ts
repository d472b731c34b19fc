/** A queue of things that must not run beside each other. Refuses: knowing what they are. */

/** Runs each work when all before it are over, however they ended; hands on what it came to. */
export function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}
