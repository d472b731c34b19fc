import { percentOf } from "./money.ts";

export type Line = { readonly name: string; readonly price: number; readonly quantity: number };

export type Terms = {
  /** Per cent off the subtotal, before tax. */
  readonly discount: number;
  /** Per cent on what is left. */
  readonly tax: number;
};

export function subtotal(lines: readonly Line[]): number {
  return lines.reduce((sum, line) => sum + line.price, 0);
}

export function total(lines: readonly Line[], terms: Terms): number {
  const before = subtotal(lines);
  const discounted = before - percentOf(before, terms.discount);
  return discounted + percentOf(discounted, terms.tax);
}
