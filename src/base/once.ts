/** Constant data that is made when it is first asked for: what a short run never asks for, it never pays for. Refuses: state. */

/** `make` is called at most once; it must be pure. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
