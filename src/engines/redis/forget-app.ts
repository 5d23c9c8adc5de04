import type { Usage } from '../../channels/usage/usage.ts';
import type { Partition } from './partition.ts';
import type { ClusterQuotas } from './quotas/cluster-quotas.ts';

interface Parts {
  readonly usage: Pick<Usage, 'today'>;
  readonly quotas: ClusterQuotas;
  readonly partitions: readonly Partition[];
}

/** Forgets what is remembered of a deleted app, on all servers. Where Redis does not answer, it is forgotten later. */
export function forgetApp(id: string, { usage, quotas, partitions }: Parts): void {
  quotas.forgetApp(id);
  for (const partition of partitions) {
    partition.forgetApp(id, usage.today()).catch(() => undefined);
  }
}
