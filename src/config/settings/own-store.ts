import type { Config } from '../schema.ts';

/** Whether the servers of a cluster have a store each, which only one of them reads. */
export function hasOwnStore({ engine, store }: Config): boolean {
  return engine.type === 'redis' && store.url.startsWith('sqlite:');
}
