import type { ConnectionChange } from '../../client/index.ts';

/** One line for the user about a connection that dropped; undefined for all attempts to reconnect but the first. */
export function connectionLine(change: ConnectionChange): string | undefined {
  if (change.state === 'lost') return `-- connection lost (${change.code})`;
  if (change.state === 'reconnecting') return change.attempt === 1 ? `-- reconnecting: ${change.reason}` : undefined;
  const { replayed, resent } = change;
  return `-- resumed: the server repeats ${replayed} frames, and ${resent} requests were sent again`;
}
