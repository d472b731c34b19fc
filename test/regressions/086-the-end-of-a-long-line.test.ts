/** The search without rg missed what matches at the end of a long last line when nothing of it was left to read. */
import { expect, test } from "bun:test";
import { searchBuiltIn } from "../../src/tools/search-builtin.ts";
import { tempDir } from "../support/temp.ts";
import { searchRequest } from "../tools/search-place.ts";

test.each([0, 1, 2, 3, 5, 17, 60, 100])("a long last line without an end, %d KiB past the first one", async (more) => {
  // The parts a file is read in are powers of two: sizes around them leave each number of characters for the last part.
  const sizes = [-1, 0, 1].map((off) => (1024 + more) * 1024 + off);
  const found: number[] = [];
  for (const size of sizes) {
    await using place = await tempDir({ "r.json": `{"a":"${"b".repeat(size - 8)}"}` });
    const outcome = await searchBuiltIn({ ...searchRequest(place.path, "\\}$"), base: "r.json", baseIsFile: true });
    found.push("total" in outcome ? outcome.total : 0);
  }
  expect(found).toEqual([1, 1, 1]);
});
