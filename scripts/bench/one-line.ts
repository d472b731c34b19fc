/** The least a compiled Bun program can do: the yardstick for `thndrs --version`. */
console.log("0");
