import { expect, test } from "bun:test";
import { subtotal, total } from "../src/invoice.ts";

const lines = [
  { name: "pencil", price: 150, quantity: 4 },
  { name: "notebook", price: 400, quantity: 1 },
];

test("the subtotal counts every piece", () => {
  expect(subtotal(lines)).toBe(1000);
});

test("an empty invoice is free", () => {
  expect(total([], { discount: 10, tax: 19 })).toBe(0);
});
