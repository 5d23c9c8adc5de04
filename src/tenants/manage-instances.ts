import type { InstanceSettings } from '../config/schema.ts';
import { isObject } from '../config/settings/plain-json.ts';
import { instanceSettings } from '../config/settings/push-settings.ts';
import { secretKeysMeant } from '../config/settings/secret-key-name.ts';
import { readVapidPair, type VapidKeySettings } from '../config/settings/vapid-keys.ts';
import { vapidSubjectFault } from '../config/settings/vapid-subject.ts';
import { type InstanceId, readInstanceId } from '../push/model/instance-id.ts';
import type { StoredInstance, StoredInstances } from '../stores/tenants/instance-store.ts';
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
import { newInstance, newSecretKey } from './new-credentials.ts';
import { OperationRefused } from './operation-refused.ts';
import { instanceKind } from './tenant-kind.ts';
import { withWholeUrls } from './webhook-url.ts';

export interface RequestedInstance {
  readonly name?: string | undefined;
  /** All other settings, as in the configuration. `null` removes one. */
  readonly settings: Settings;
}

export interface NewInstance extends RequestedInstance {
  readonly id?: string | undefined;
  readonly secretKeys?: readonly string[] | undefined;
}

/** Manages the instances, for the admin API and for the command line. */
export class InstanceAdmin extends TenantAdmin<
  StoredInstances,
  StoredInstance,
  InstanceSettings,
  InstanceId
> {
  constructor(options: TenantAdminOptions<StoredInstances, InstanceSettings>) {
    super(instanceKind, options);
  }

  /** Creates an instance and returns its id. Generates an id, a secret key and VAPID keys if none are given. */
  create(given: NewInstance): Promise<InstanceId> {
    const made = newInstance(given.name ?? '');
    const { id = made.id, secretKeys = made.secretKeys } = given;
    return this.enqueue(async () => {
      this.requireSharedStore();
      checkKeys('secretKeys', secretKeys);
      checkVisible(secretKeys.map((secret, index) => [`secretKeys[${index}]`, secret]));
      const instance = checkedAsWhole({
        id,
        name: made.name,
        secretKeys,
        settings: merged(made.settings, withVapidPair(withWholeUrls(given.settings))),
      });
      checkVapidSubject(instance);
      const isConfigured = this.configured().some((other) => other.id === id);
      if (isConfigured || !(await this.store.create(instance, Date.now()))) {
        throw this.alreadyExists(id);
      }
      return readInstanceId(id);
    });
  }

  /** Changes the given settings and keeps the others. */
  update(id: InstanceId, change: RequestedInstance): Promise<void> {
    return this.change(id, async () => {
      const { secretKeys } = await this.stored(id);
      const found = await this.store.update(id, (now) =>
        changed({ id, secretKeys, ...now }, change),
      );
      if (!found) throw this.notFound(id);
    });
  }

  /** Returns what `update` would make of an instance. Nothing is changed. */
  tryUpdate(id: InstanceId, change: RequestedInstance): Promise<KeptTenant<InstanceSettings>> {
    return this.tried(id, async () => changed(await this.stored(id), change));
  }

  /** Adds a new secret key and returns it. The others stay valid. */
  addKey(id: InstanceId): Promise<string> {
    return this.change(id, async () => {
      const secret = newSecretKey();
      checkRoomForKey((await this.stored(id)).secretKeys);
      if (!(await this.store.addKey(id, secret))) throw this.notFound(id);
      return secret;
    });
  }

  /** Removes a secret key, but never the last one. `given` is the whole key, or at least its first 8 characters. */
  removeKey(id: InstanceId, given: string): Promise<void> {
    return this.change(id, async () => {
      const [secret, another] = secretKeysMeant((await this.stored(id)).secretKeys, given);
      if (another !== undefined) {
        const message = `Instance ${id} has several secret keys that start so; give the whole key`;
        throw new OperationRefused('conflict', message);
      }
      const result = secret === undefined ? 'unknown' : await this.store.removeKey(id, secret);
      if (result === 'unknown') {
        throw new OperationRefused('not-found', `Instance ${id} has no such secret key`);
      }
      if (result === 'last') {
        const message = `This is the only secret key of instance ${id}; add one first`;
        throw new OperationRefused('conflict', message);
      }
    });
  }

  /** Deletes an instance, even one that was removed from the configuration. Returns how many devices it had. */
  delete(id: InstanceId): Promise<number> {
    return this.change(id, async () => {
      const devices = await this.store.delete(id);
      if (devices === undefined) throw this.notFound(id);
      return devices;
    });
  }
}

function changed(instance: StoredInstance, { name, settings }: RequestedInstance): StoredInstance {
  const made = merged(
    instance.settings,
    withVapidPair(oneCredential(withWholeUrls(settings, instance.settings))),
  );
  const after = checkedAsWhole(
    { ...instance, name: name ?? instance.name, settings: made },
    instance,
  );
  // Other changes are possible with a subject that an earlier release took.
  if (settings['web'] !== undefined) checkVapidSubject(after);
  return after;
}

function checkVapidSubject({ settings }: StoredInstance): void {
  const rule = vapidSubjectFault(settings['web']);
  const field = 'web.vapid.subject';
  if (rule !== undefined) throw new OperationRefused('invalid', `${field}: ${rule}`, field);
}

/** The ways to give the credential of a gateway: a file on the server, its text, or the account of the machine. */
const credentials = [
  ['apns', ['privateKeyFile', 'privateKey']],
  ['fcm', ['serviceAccountFile', 'serviceAccount', 'metadata']],
] as const;

/** A credential that is given in one way replaces the one that was given in the other. */
function oneCredential(change: Settings): Settings {
  const changed = { ...change };
  for (const [gateway, ways] of credentials) {
    const given = change[gateway];
    if (!isObject(given)) continue;
    const others = ways.filter((way) => !Object.hasOwn(given, way) || given[way] === false);
    if (others.length !== ways.length - 1) continue;
    changed[gateway] = { ...given, ...Object.fromEntries(others.map((way) => [way, null])) };
  }
  return changed;
}

/** A new private key is stored as its pair, whatever its form: every release can read that, and no file is needed later. */
function withVapidPair(change: Settings): Settings {
  const { web } = change;
  const vapid = isObject(web) ? web['vapid'] : undefined;
  if (!isObject(web) || !isObject(vapid)) return change;
  const { publicKey, privateKey, privateKeyFile, ...others } = vapid as VapidKeySettings;
  if (privateKey === undefined && privateKeyFile === undefined) return change;
  const read = readVapidPair({ publicKey, privateKey, privateKeyFile });
  if (read.ok) return { ...change, web: { ...web, vapid: { ...others, ...read.pair } } };
  const field = ['web', 'vapid', read.setting].filter((name) => name !== '').join('.');
  throw new OperationRefused('invalid', `${field}: ${read.why}`, field);
}

function checkedAsWhole(instance: StoredInstance, before?: StoredInstance): StoredInstance {
  checkAsWhole(instanceSettings, wholeOf(instance), before && wholeOf(before));
  return instance;
}

function wholeOf({ id, name, secretKeys, settings }: StoredInstance): object {
  return { ...settings, id, name, secretKeys };
}
