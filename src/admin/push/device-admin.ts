import { type ExplainOptions, explain } from '../../push/explain/explain.ts';
import { type Explanation, outcomeOf, type TimelineEvent } from '../../push/explain/timeline.ts';
import type { Cap, CapUse } from '../../push/model/cap.ts';
import { type DeviceId, platforms } from '../../push/model/device.ts';
import { readDeviceId } from '../../push/model/device-id.ts';
import type { PushInstance } from '../../push/model/instance.ts';
import type { InstanceId } from '../../push/model/instance-id.ts';
import type { PublishId, PublishState } from '../../push/model/publish.ts';
import { readPublishId } from '../../push/model/publish-id.ts';
import type { PushTaps } from '../../push/watching/push-tap.ts';
import type { Log } from '../../runtime/ports.ts';
import type { Database } from '../../stores/database/database.ts';
import { StoredCaps } from '../../stores/push/devices/device-caps.ts';
import { type KnownDevice, readKnownDevice } from '../../stores/push/devices/device-details.ts';
import { type DeviceFilter, DeviceList } from '../../stores/push/devices/device-list.ts';
import { StoredDevices } from '../../stores/push/devices/device-store.ts';
import { StoredStories } from '../../stores/push/publishes/device-story.ts';
import { StoredPublishes } from '../../stores/push/publishes/publish-store.ts';
import { findPublishesOf } from '../../stores/push/publishes/publishes-of-devices.ts';
import {
  listUnreached,
  type UnreachedQuery,
} from '../../stores/push/publishes/unreached-devices.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import { noSuchPublish } from './publish-admin.ts';

export interface DeviceAdminOptions {
  readonly database: Database;
  /** The number of a served instance. */
  readonly instanceOf: (id: InstanceId) => PushInstance | undefined;
  /** The gateways that servers have paused for an instance. */
  readonly pauses: (id: InstanceId) => Promise<ExplainOptions['pauses']>;
  /** Shows removed devices in live streams. */
  readonly taps: PushTaps;
  readonly log: Log;
}

interface DeviceQuery {
  readonly filter: DeviceFilter;
  /** The position to continue from; 0 for the first page. */
  readonly after: number;
}

/** A device, and how it is known to the store. */
export type FoundDevice = KnownDevice & { readonly id: DeviceId };

/** The cap of an instance, and what a device was shown of it; `use` is `undefined` if that is nothing. */
export interface UsedCap {
  readonly cap: Cap;
  readonly use: CapUse | undefined;
}

/** The result of a publish at one device. */
export interface LastPublish {
  readonly publish: PublishId;
  readonly device: DeviceId;
  readonly createdAtMs: number;
  readonly state: PublishState;
  readonly outcome: TimelineEvent;
}

/** Interests that are shown with a device. */
const INTERESTS_SHOWN = 1_000;

/** Lists, shows and removes the devices of instances, and explains what they received. Throws `OperationRefused`. */
export class DeviceAdmin {
  private readonly options: DeviceAdminOptions;
  private readonly devices: DeviceList;
  private readonly registered: StoredDevices;
  private readonly caps: StoredCaps;
  private readonly stories: StoredStories;
  private readonly publishes: StoredPublishes;

  constructor(options: DeviceAdminOptions) {
    const { database } = options;
    this.options = options;
    this.devices = new DeviceList(database);
    this.registered = new StoredDevices(database);
    this.caps = new StoredCaps(database);
    this.stories = new StoredStories(database);
    this.publishes = new StoredPublishes(database);
  }

  async list(id: InstanceId, { filter, after, limit }: DeviceQuery & { readonly limit: number }) {
    return await this.devices.list({ instance: this.numberOf(id), filter, after, limit });
  }

  async remove(
    id: InstanceId,
    { filter, after, dryRun }: DeviceQuery & { readonly dryRun: boolean },
  ) {
    const instance = this.numberOf(id);
    const done = await this.devices.remove({ instance, filter, after, isDryRun: dryRun });
    if (!dryRun && done.devices > 0) this.removed(id, { devices: done.devices });
    return done;
  }

  /** Removes one device. */
  async removeOne(id: InstanceId, deviceText: string): Promise<DeviceId> {
    const { id: device, registered } = await this.find(id, deviceText);
    if (registered !== undefined) {
      await this.registered.delete({ instance: this.numberOf(id), id: device });
      this.removed(id, { devices: 1, device });
    }
    return device;
  }

  async find(id: InstanceId, deviceText: string): Promise<FoundDevice> {
    const instance = this.numberOf(id);
    const device = deviceIdIn(deviceText);
    const found = await readKnownDevice(this.options.database, { instance, id: device });
    if (found === undefined) throw noDevice();
    return { ...found, id: device };
  }

  /** The interests of a registered device. */
  async interests(id: InstanceId, device: DeviceId) {
    const key = { instance: this.numberOf(id), id: device };
    const found = await this.registered.interests({ ...key, after: '', limit: INTERESTS_SHOWN });
    return found ?? { interests: [], more: false };
  }

  /** What a device was shown of the cap; `undefined`: the instance has none. */
  async usedCap(
    id: InstanceId,
    { number }: Pick<FoundDevice, 'number'>,
  ): Promise<UsedCap | undefined> {
    const { cap } = this.instanceOf(id);
    const nowMs = Date.now();
    return cap && { cap, use: await this.caps.useOf(number, { ...cap, nowMs }) };
  }

  /** The results of the newest publishes that were for any of these devices. */
  async lastPublishes(
    id: InstanceId,
    devices: readonly Pick<FoundDevice, 'id' | 'number'>[],
    { before, limit }: { readonly before?: number | undefined; readonly limit: number },
  ) {
    const instance = this.numberOf(id);
    if (devices.length === 0) return { publishes: [], looked: 0, next: undefined };
    const ids = new Map(devices.map((one) => [one.number, one.id]));
    const { found, looked, next } = await findPublishesOf(this.options.database, {
      instance,
      devices: [...ids.keys()],
      before,
      limit,
    });
    const publishes = await Promise.all(
      found.map(async ({ id: publish, device, createdAtMs }): Promise<LastPublish[]> => {
        const deviceId = ids.get(device);
        const found = deviceId && (await this.storyOf(id, { publish, device: deviceId }));
        // Either may have been deleted since.
        if (found?.story === undefined) return [];
        const { status, explanation } = found.story;
        const outcome = outcomeOf(explanation);
        if (outcome === undefined) return [];
        const { deviceId: of } = explanation;
        return [{ publish, device: of, createdAtMs, state: status.state, outcome }];
      }),
    );
    return { publishes: publishes.flat(), looked, next };
  }

  /** Explains why a device did or did not get a publish. */
  async explain(id: InstanceId, given: { readonly publish: string; readonly device: string }) {
    this.numberOf(id);
    const publish = publishIdIn(given.publish);
    const found = await this.storyOf(id, { publish, device: deviceIdIn(given.device) });
    if (found === undefined) throw noSuchPublish(given);
    if (found.story === undefined) throw noDevice();
    return found.story;
  }

  /** Devices that a publish has not reached. */
  async unreached(
    id: InstanceId,
    { publish, ...query }: Omit<UnreachedQuery, 'instance' | 'publish'> & { publish: string },
  ) {
    const instance = this.numberOf(id);
    const wanted = { ...query, instance, publish: publishIdIn(publish) };
    const found = await listUnreached(this.options.database, wanted);
    if (found === undefined) throw noSuchPublish({ publish });
    return found;
  }

  /** `undefined`: no such publish; without `story`: no such device. */
  private async storyOf(
    id: InstanceId,
    { publish, device }: { readonly publish: PublishId; readonly device: DeviceId },
  ) {
    const manners = this.instanceOf(id);
    const instance = manners.number;
    const nowMs = Date.now();
    const [status, story, pauses] = await Promise.all([
      this.publishes.status({ instance, id: publish, nowMs }),
      this.stories.story({ instance, publish, device }),
      this.options.pauses(id),
    ]);
    if (status === undefined) return undefined;
    if (story === undefined) return { story: undefined };
    const explanation: Explanation = explain(story, status, {
      deviceId: device,
      nowMs,
      pauses,
      manners,
    });
    return { story: { status, explanation } };
  }

  private removed(
    id: InstanceId,
    of: { readonly devices: number; readonly device?: DeviceId },
  ): void {
    const { taps, log } = this.options;
    const { devices } = of;
    log.info('Devices removed', { instance: id, devices, by: 'admin-api' });
    taps.watched?.get(this.numberOf(id))?.record({ kind: 'removed', ...of });
  }

  private numberOf(id: InstanceId): number {
    return this.instanceOf(id).number;
  }

  private instanceOf(id: InstanceId): PushInstance {
    const instance = this.options.instanceOf(id);
    if (instance !== undefined) return instance;
    throw new OperationRefused('not-found', `There is no instance ${id}`);
  }
}

/** Reads a device id, whose prefix names the platform. */
function deviceIdIn(text: string): DeviceId {
  for (const platform of platforms) {
    const id = readDeviceId(text, platform);
    if (id !== undefined) return id;
  }
  throw new OperationRefused(
    'not-found',
    'That is no device id. Device ids begin with apns-, fcm- or web-; getDeviceId of the SDKs returns them',
  );
}

function publishIdIn(text: string): PublishId {
  const id = readPublishId(text);
  if (id === undefined) throw noSuchPublish({ publish: text });
  return id;
}

function noDevice(): OperationRefused {
  return new OperationRefused(
    'not-found',
    'The instance has no such device: it never registered here, the app deleted it or registered again with another id, or it was removed more than 30 days ago',
  );
}
