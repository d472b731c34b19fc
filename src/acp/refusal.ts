/** How a request of the other side is refused, in words it can show. Refuses: details of our own errors. */
import { RequestError } from "@agentclientprotocol/sdk";

/** The request is not one that may be made. */
export function refuse(message: string): RequestError {
  return new RequestError(-32602, message);
}

/** The session has to be logged in for first. */
export const AUTH_REQUIRED = -32000;

/** What was named is not there. */
export function notFound(message: string): RequestError {
  return new RequestError(-32002, message);
}

/** The request was fine and could not be carried out. */
export function requestFailed(message: string, data?: Readonly<Record<string, unknown>>): RequestError {
  return new RequestError(-32603, message, data);
}
