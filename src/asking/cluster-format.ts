/**
 * The version of the messages between servers. Servers ignore messages of another version. Increase it with each
 * change of the format.
 */
export const CLUSTER_FORMAT = 2;

/** Sent to all servers at the beginning of a stop, so that no server reports this one as missing. */
export function stoppingNotice(node: string): string {
  return JSON.stringify({ type: 'stopping', form: CLUSTER_FORMAT, node });
}
