import type { Config } from '../config/schema.ts';
import type { AppStore } from '../stores/tenants/app-store.ts';
import type { StoredInstances } from '../stores/tenants/instance-store.ts';
import { newAppId, newAppKey, newInstance } from './new-credentials.ts';

/*
 * The first start creates an app and an instance, because a server without them is useless. The store creates each
 * only if there is none, because several servers may start at the same moment.
 */

/** Creates the first app and returns its id; `undefined` if the store or the configuration has apps. */
export async function createFirstApp(store: AppStore, config: Config): Promise<string | undefined> {
  if (config.channels.apps !== undefined || (await store.list()).length > 0) return undefined;
  const app = {
    id: newAppId(),
    name: 'default',
    enabled: true,
    keys: [newAppKey()],
    settings: {},
  };
  return (await store.createFirst(app, Date.now())) ? app.id : undefined;
}

/** Creates the first instance, for the users of the first app, and returns its id; `undefined` if the store or the configuration has instances. */
export async function createFirstInstance(
  store: StoredInstances,
  config: Config,
  appId: string | undefined,
): Promise<string | undefined> {
  if (config.push.instances !== undefined || (await store.list()).length > 0) return undefined;
  const instance = newInstance('default');
  const settings = appId === undefined ? instance.settings : { ...instance.settings, app: appId };
  return (await store.createFirst({ ...instance, settings }, Date.now())) ? instance.id : undefined;
}
