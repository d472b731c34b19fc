/**
 * `@modelcontextprotocol/server-everything` over Streamable HTTP on a free port of 127.0.0.1; prints the port. By itself it
 * listens on every interface. Refuses: anything else.
 */

import { Server as HttpServer } from "node:http";
import { type AddressInfo, Server } from "node:net";

for (const kind of [Server, HttpServer] as const) {
  const listen = kind.prototype.listen as (...args: unknown[]) => HttpServer;
  kind.prototype.listen = function (this: HttpServer, _port: unknown, ...rest: unknown[]) {
    const callback = rest.find((item) => typeof item === "function");
    this.once("listening", () => console.log((this.address() as AddressInfo).port));
    return listen.call(this, 0, "127.0.0.1", ...(callback ? [callback] : []));
  } as typeof kind.prototype.listen;
}
process.argv[2] = "streamableHttp";
await import("@modelcontextprotocol/server-everything/dist/index.js" as string);
