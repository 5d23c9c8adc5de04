import type { Config } from '../../config/schema.ts';
import { openStoredInstances } from '../../tenants/stored-instances.ts';

/** An instance, and what its backends prove themselves with. */
export interface InstanceKey {
  readonly id: string;
  readonly secretKey: string;
}

/** The instances that a server with this configuration serves; the store is opened only when it comes to that. */
export async function* instanceKeys(config: Config): AsyncGenerator<InstanceKey> {
  const configured = config.push.instances ?? [];
  yield* configured.flatMap(keyOf);
  await using store = await openStoredInstances(config.store.url);
  const stored = await store.list();
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
