import type { App, AppKey } from '../channels/app.ts';
import { appSettings } from '../config/settings/channels-settings.ts';
import type { AppStore, StoredApp } from '../stores/tenants/app-store.ts';
import { checkAsWhole } from './checked.ts';
import {
  checkKeys,
  checkRoomForKey,
  checkVisible,
  type KeptTenant,
  TenantAdmin,
  type TenantAdminOptions,
} from './manage-tenants.ts';
import { merged, type Settings } from './merged.ts';
import { newAppId, newAppKey } from './new-credentials.ts';
import { OperationRefused } from './operation-refused.ts';
import { refuseUnusablePayloads } from './push-rule-payloads.ts';
import { appKind } from './tenant-kind.ts';
import { withWholeUrls } from './webhook-url.ts';

export interface AppChange {
  readonly name?: string | undefined;
  readonly enabled?: boolean | undefined;
  /** All other settings, as in the configuration. */
  readonly settings: Settings;
}

export interface NewApp extends AppChange {
  readonly id?: string | undefined;
  readonly keys?: readonly AppKey[] | undefined;
}

/** Manages the apps, for the admin API and for the command line. */
export class AppAdmin extends TenantAdmin<AppStore, StoredApp, App> {
  constructor(options: TenantAdminOptions<AppStore, App>) {
    super(appKind, options);
  }

  /** Creates an app and returns its id. Generates an id and a key if none are given. */
  create(given: NewApp): Promise<string> {
    const { id = newAppId(), name = '', enabled = true, keys = [newAppKey()] } = given;
    return this.enqueue(async () => {
      this.requireSharedStore();
      const settings = withWholeUrls(given.settings);
      refuseUnusablePayloads(settings);
      const names = keys.map(({ key }) => key);
      checkKeys('keys', names);
      checkVisible(
        keys.flatMap(({ key, secret }, index) => [
          [`keys[${index}].key`, key],
          [`keys[${index}].secret`, secret],
        ]),
      );
      const configured = this.configured();
      if (configured.some((app) => app.id === id)) throw this.alreadyExists(id);
      if (configured.some((app) => app.keys.some(({ key }) => names.includes(key)))) {
        throw keyTaken();
      }
      checkAsWhole(appSettings, wholeOf({ id, name, enabled, settings }));
      const result = await this.store.create({ id, name, enabled, keys, settings }, Date.now());
      if (result === 'id-taken') throw this.alreadyExists(id);
      if (result === 'key-taken') throw keyTaken();
      return id;
    });
  }

  /** Changes the given settings and keeps the others. `limits` are merged. */
  update(id: string, change: AppChange): Promise<void> {
    return this.change(id, async () => {
      const found = await this.store.update(id, (app) => changed(app, change));
      if (!found) throw this.notFound(id);
    });
  }

  /** Returns what `update` would make of an app. Nothing is changed. */
  tryUpdate(id: string, change: AppChange): Promise<KeptTenant<App>> {
    return this.tried(id, async () => {
      const app = await this.stored(id);
      return { ...app, ...changed(app, change) };
    });
  }

  setEnabled(id: string, enabled: boolean): Promise<void> {
    return this.change(id, async () => {
      if (!(await this.store.setEnabled(id, enabled))) throw this.notFound(id);
    });
  }

  /** Adds a new key and returns it. The others stay valid. */
  addKey(id: string): Promise<AppKey> {
    return this.change(id, async () => {
      const pair = newAppKey();
      checkRoomForKey((await this.stored(id)).keys);
      if (!(await this.store.addKey(id, pair))) throw this.notFound(id);
      return pair;
    });
  }

  /** Removes a key, but never the last one. */
  removeKey(id: string, key: string): Promise<void> {
    return this.change(id, async () => {
      await this.stored(id);
      const result = await this.store.removeKey(id, key);
      if (result === 'unknown')
        throw new OperationRefused('not-found', `App ${id} has no key ${key}`);
      if (result === 'last') {
        throw new OperationRefused(
          'conflict',
          `${key} is the only key of app ${id}; add one first`,
        );
      }
    });
  }

  delete(id: string): Promise<void> {
    return this.change(id, async () => {
      if (!(await this.store.delete(id))) throw this.notFound(id);
    });
  }
}

function changed(
  app: Omit<StoredApp, 'keys'>,
  { name, enabled, settings }: AppChange,
): Pick<StoredApp, 'name' | 'enabled' | 'settings'> {
  refuseUnusablePayloads(settings);
  const after = {
    name: name ?? app.name,
    enabled: enabled ?? app.enabled,
    settings: merged(app.settings, withWholeUrls(settings, app.settings)),
  };
  checkAsWhole(appSettings, wholeOf({ ...after, id: app.id }), wholeOf(app));
  return after;
}

/** Keys are stored apart, and no setting depends on them. */
const ANY_KEYS: readonly AppKey[] = [{ key: 'any', secret: 'any' }];

function wholeOf({ id, name, enabled, settings }: Omit<StoredApp, 'keys'>): object {
  return { ...settings, id, name, enabled, keys: ANY_KEYS };
}

function keyTaken(): OperationRefused {
  return new OperationRefused('conflict', 'keys: another app already has this key', 'keys');
}
