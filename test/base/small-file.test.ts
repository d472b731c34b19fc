import { expect, test } from "bun:test";
import { readSmallFile } from "../../src/base/small-file.ts";
import { tempDir } from "../support/temp.ts";

test("the text of a small file, the first 4 KiB of a larger one, and the system's own error", async () => {
  await using dir = await tempDir({ small: "grüß dich\n", large: "x".repeat(10_000), empty: "" });
  expect([readSmallFile(dir.at("small")), readSmallFile(dir.at("empty"))]).toEqual(["grüß dich\n", ""]);
  expect(readSmallFile(dir.at("large"))).toBe("x".repeat(4096));
  expect(() => readSmallFile(dir.at("none"))).toThrow("ENOENT");
  if (process.platform === "linux") expect(readSmallFile("/proc/self/stat")).toStartWith(`${process.pid} (`);
});
