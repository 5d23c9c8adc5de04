import type { Config } from '../../config/schema.ts';
import { StoredInstances } from '../../stores/tenants/instance-store.ts';
import { openStore } from '../open-store.ts';

/** An instance, and a secret key of its backend. */
export interface InstanceKey {
  readonly id: string;
  readonly secretKey: string;
}

/** The instances that a server with this configuration serves. Opens the store only after those of the configuration. */
export async function* instanceKeys(config: Config): AsyncGenerator<InstanceKey> {
  const configured = config.push.instances ?? [];
  yield* configured.flatMap(keyOf);
  await using database = await openStore(config);
  const stored = await new StoredInstances(database).list();
  yield* stored.filter(({ id }) => !configured.some((one) => one.id === id)).flatMap(keyOf);
}

/** Any of its keys will do. */
function keyOf({
  id,
  secretKeys: [secretKey],
}: {
  readonly id: string;
  readonly secretKeys: readonly string[];
}): readonly InstanceKey[] {
  return secretKey === undefined ? [] : [{ id, secretKey }];
}
