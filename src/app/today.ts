/** The date a run tells its model. */

/** YYYY-MM-DD, UTC. */
export function today(): string {
  return new Date().toISOString().slice(0, 10);
}
