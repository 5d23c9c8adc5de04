import type { Config } from '../config/schema.ts';
import type { StoredInstances } from '../stores/tenants/instance-store.ts';
import { newInstance } from './instance-credentials.ts';

/** A push side without any instance is of no use: the first start makes one. Its id, or `undefined`. */
export async function createFirstInstance(
  store: StoredInstances,
  config: Config,
): Promise<string | undefined> {
  if (config.push.instances !== undefined || (await store.list()).length > 0) return undefined;
  const instance = newInstance('default');
  // Several servers may start at the same moment on one store.
  return (await store.createFirst(instance, Date.now())) ? instance.id : undefined;
}
