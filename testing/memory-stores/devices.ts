import type { AudienceSource, NumberRange } from '../../src/push/audience-source.ts';
import type {
  DeviceInterest,
  DeviceKey,
  DeviceStore,
  InterestRange,
  InterestRefusal,
  InterestSet,
  MetadataChange,
  NewInterest,
  NewInterests,
  NewRegistration,
  NewUser,
  Registered,
  RegisterRefusal,
  SetUserResult,
  TokenChange,
  UserChange,
} from '../../src/push/device-store.ts';
import type { DeviceResult } from '../../src/push/model/delivery.ts';
import type {
  Device,
  DeviceId,
  DeviceMetadata,
  DeviceToken,
  NewDevice,
  Recipient,
} from '../../src/push/model/device.ts';
import type { DevicePause, NewDevicePause } from '../../src/push/model/device-pause.ts';
import type { PreferenceChanges, Preferences } from '../../src/push/model/preferences.ts';
import { type DeviceKind, FURTHER_TOKENS_MAX } from '../../src/push/model/token-kind.ts';
import type {
  DevicePreferences,
  PreferenceStore,
  TokenOfInstance,
  UserOfInstance,
  UserPreferences,
} from '../../src/push/preference-store.ts';
import { StoreLost } from '../../src/push/store-faults.ts';
import type { InstanceCounts } from '../../src/stores/push/devices/instance-counts.ts';

export interface KeptDevice {
  readonly number: number;
  readonly instance: number;
  registered: NewDevice;
  readonly registeredAtMs: number;
  readonly interests: Set<string>;
  token: DeviceToken;
  metadata: DeviceMetadata;
  userId: string | undefined;
  seenAtMs: number;
  /** When a gateway accepted its token for the first time; `undefined`: never. */
  acceptedAtMs: number | undefined;
  pause: DevicePause | undefined;
  preferences: Preferences;
  acceptLanguage: string | undefined;
}

/** What is stored of a device with a dead token. */
interface Tombstone {
  readonly device: KeptDevice;
  readonly atMs: number;
  readonly reason: string;
  readonly words: string;
}

/** Devices in memory: for tests, and as the simplest implementation of the contract. */
export class MemoryDevices implements DeviceStore {
  /** The devices of each instance, in device order. */
  private readonly instances = new Map<number, Set<KeptDevice>>();
  private readonly devices = new Map<DeviceId, KeptDevice>();
  private readonly numbered = new Map<number, KeptDevice>();
  private readonly tombstones = new Map<DeviceId, Tombstone>();
  /** Called when a device has another token. */
  onNewToken: (device: number, nowMs: number) => void = () => undefined;
  private instancesMade = 0;
  private devicesMade = 0;

  newInstance(): number {
    this.instancesMade += 1;
    this.instances.set(this.instancesMade, new Set());
    return this.instancesMade;
  }

  has(instance: number): boolean {
    return this.instances.has(instance);
  }

  /** Records that a gateway has accepted this token. The device may have another one by now. */
  accept(number: number, token: string, nowMs: number): void {
    const device = this.numbered.get(number);
    if (device?.token.token === token) device.acceptedAtMs ??= nowMs;
  }

  byNumber(instance: number, number: number): KeptDevice | undefined {
    const device = this.numbered.get(number);
    return device?.instance === instance ? device : undefined;
  }

  acceptById(id: DeviceId, token: string, nowMs: number): void {
    const device = this.devices.get(id);
    if (device !== undefined) this.accept(device.number, token, nowMs);
  }

  /** Keeps a pause, if the device still has the token and no longer pause. */
  pause(number: number, { token, ...pause }: NewDevicePause): void {
    const device = this.numbered.get(number);
    if (device?.token.token !== token) return;
    if (pause.untilMs > (device.pause?.untilMs ?? 0)) device.pause = pause;
  }

  endPause(number: number): void {
    const device = this.numbered.get(number);
    if (device !== undefined) device.pause = undefined;
  }

  /** Deletes a device that still has this token and was not seen since, and stores the reason. */
  prune(dead: Extract<DeviceResult, { readonly what: 'pruned' }>, nowMs: number): void {
    const { reason, words } = dead;
    const device = this.numbered.get(dead.device);
    if (device?.token.token !== dead.token || device.seenAtMs > dead.seenAtMs) return;
    this.remove(device);
    this.tombstones.set(device.registered.id, { device, atMs: nowMs, reason, words });
  }

  pruned(instance: number, id: DeviceId): Tombstone | undefined {
    const found = this.tombstones.get(id);
    return found?.device.instance === instance ? found : undefined;
  }

  /** Loses an instance with its devices. */
  lose(instance: number): void {
    for (const device of this.of(instance)) this.remove(device);
    this.instances.delete(instance);
  }

  /** An instance's devices, in device order. */
  of(instance: number): readonly KeptDevice[] {
    return [...this.held(instance)];
  }

  counts(instance: number): InstanceCounts {
    const devices = this.held(instance);
    let [accepted, interests] = [0, 0];
    for (const device of devices) {
      if (device.acceptedAtMs !== undefined) accepted++;
      interests += device.interests.size;
    }
    return { devices: devices.size, accepted, interests };
  }

  async register(registration: NewRegistration): Promise<Registered | RegisterRefusal> {
    const { instance, device, nowMs, devicesMax = 0, user, interests } = registration;
    this.requireInstance(instance);
    if (devicesMax > 0) {
      const isNew =
        this.first(instance, ({ identity }) => identity === device.identity) === undefined;
      if (isNew && this.held(instance).size >= devicesMax) return 'full';
    }
    const known = this.first(instance, ({ token }) => token === device.token);
    const before = known?.userId;
    if (user && before !== undefined && before !== user.userId) return 'other-user';
    const surplus = user && before === undefined ? this.surplusOf(instance, device, user) : [];
    if (surplus === 'full') return 'user-full';
    if (interests !== undefined) {
      const more = interests.names.length - (known?.interests.size ?? 0);
      if (!this.hasRoom(instance, more, interests.instanceMax ?? 0)) return 'interests-full';
    }
    for (const one of surplus) if (one !== known) this.remove(one);
    const kept = known ?? this.add(registration);
    if (known !== undefined) {
      const { id, platform, bundleId } = known.registered;
      known.registered = { ...device, id, platform };
      known.metadata = device.metadata;
      known.seenAtMs = nowMs;
      known.acceptLanguage = device.acceptLanguage ?? known.acceptLanguage;
      if (bundleId !== device.bundleId) known.acceptedAtMs = undefined;
    }
    if (user !== undefined) kept.userId = user.userId;
    if (interests !== undefined) {
      kept.interests.clear();
      for (const name of interests.names) kept.interests.add(name);
    }
    return {
      id: kept.registered.id,
      interests: [...kept.interests].sort(inByteOrder),
      isNew: known === undefined,
    };
  }

  private add({ instance, device, nowMs }: NewRegistration): KeptDevice {
    this.removeHolders(instance, device.identity);
    const { kind, parent } = device;
    if (kind !== undefined && parent !== undefined) {
      const others = this.of(instance).filter(({ registered }) => registered.parent === parent);
      for (const one of surplusOfKind(others.sort(byInactivity), kind)) this.remove(one);
    }
    this.devicesMade += 1;
    const kept: KeptDevice = {
      number: this.devicesMade,
      instance,
      registered: device,
      registeredAtMs: nowMs,
      interests: new Set(),
      token: device,
      metadata: device.metadata,
      userId: undefined,
      seenAtMs: nowMs,
      acceptedAtMs: undefined,
      pause: undefined,
      preferences: {},
      acceptLanguage: device.acceptLanguage,
    };
    const before = this.devices.get(device.id);
    if (before !== undefined) this.remove(before);
    this.devices.set(device.id, kept);
    this.numbered.set(kept.number, kept);
    this.held(instance).add(kept);
    return kept;
  }

  /** The devices that must leave for another one of a user. */
  private surplusOf(
    instance: number,
    { platform, kind }: NewDevice,
    { userId, max, replaceOldest }: NewUser,
  ): readonly KeptDevice[] | 'full' {
    const others = this.of(instance)
      .filter((other) => other.userId === userId && other.registered.platform === platform)
      .sort(byInactivity);
    if (kind !== undefined) return surplusOfKind(others, kind);
    const ordinary = others.filter(({ registered }) => registered.kind === undefined);
    const surplus = ordinary.slice(0, Math.max(0, ordinary.length + 1 - max));
    return surplus.length > 0 && !replaceOldest ? 'full' : surplus;
  }

  async get(key: DeviceKey): Promise<Device | undefined> {
    const device = this.find(key);
    if (device === undefined) return undefined;
    const { registered, userId, metadata } = device;
    return { id: key.id, platform: registered.platform, userId, metadata };
  }

  async delete(key: DeviceKey): Promise<number> {
    const device = this.find(key);
    if (device === undefined) return 0;
    const { identity } = device.token;
    const children = this.of(key.instance).filter(
      (other) => other !== device && other.registered.parent === identity,
    );
    for (const one of [device, ...children]) this.remove(one);
    return 1 + children.length;
  }

  async setMetadata(change: MetadataChange): Promise<boolean> {
    const device = this.find(change);
    if (device === undefined) return false;
    device.metadata = change.metadata;
    device.seenAtMs = change.nowMs;
    device.acceptLanguage = change.acceptLanguage ?? device.acceptLanguage;
    return true;
  }

  async setToken(change: TokenChange): Promise<boolean> {
    const device = this.find(change);
    if (device === undefined) return false;
    const { instance, token, identity, nowMs } = change;
    device.seenAtMs = nowMs;
    const isSame = device.token.identity === identity;
    device.token = { token, identity };
    if (isSame) return true;
    this.removeHolders(instance, identity, device);
    device.acceptedAtMs = undefined;
    device.pause = undefined;
    this.onNewToken(device.number, nowMs);
    return true;
  }

  async setUser(change: UserChange): Promise<SetUserResult> {
    const device = this.find(change);
    if (device === undefined) return 'no-device';
    const { instance, userId, nowMs } = change;
    if (device.userId !== undefined && device.userId !== userId) return 'other-user';
    if (device.userId === undefined) {
      const surplus = this.surplusOf(instance, device.registered, change);
      if (surplus === 'full') return 'full';
      for (const device of surplus) this.remove(device);
    }
    device.userId = userId;
    device.seenAtMs = nowMs;
    return 'set';
  }

  async interests(
    range: InterestRange,
  ): Promise<{ readonly interests: readonly string[]; readonly more: boolean } | undefined> {
    const device = this.find(range);
    if (device === undefined) return undefined;
    const { after, limit } = range;
    const left = [...device.interests].filter((name) => inByteOrder(name, after) > 0);
    const interests = left.sort(inByteOrder).slice(0, limit);
    return { interests, more: left.length > limit };
  }

  async interestsToChange(wanted: InterestSet): Promise<number | undefined> {
    const device = this.find(wanted);
    return device?.interests.symmetricDifference(new Set(wanted.interests)).size;
  }

  async hasInterest(one: DeviceInterest): Promise<boolean | undefined> {
    return this.find(one)?.interests.has(one.interest);
  }

  async setInterests(wanted: NewInterests): Promise<'set' | InterestRefusal> {
    const { instance, interests, instanceMax = 0 } = wanted;
    const device = this.find(wanted);
    if (device === undefined) return 'no-device';
    const more = new Set(interests).size - device.interests.size;
    if (!this.hasRoom(instance, more, instanceMax)) return 'instance-full';
    device.interests.clear();
    for (const interest of interests) device.interests.add(interest);
    return 'set';
  }

  async addInterest(added: NewInterest): Promise<'added' | 'full' | InterestRefusal> {
    const { instance, interest, max, instanceMax = 0 } = added;
    const device = this.find(added);
    if (device === undefined) return 'no-device';
    if (device.interests.has(interest)) return 'added';
    if (device.interests.size >= max) return 'full';
    if (!this.hasRoom(instance, 1, instanceMax)) return 'instance-full';
    device.interests.add(interest);
    return 'added';
  }

  private hasRoom(instance: number, more: number, max: number): boolean {
    return more <= 0 || max === 0 || this.counts(instance).interests + more <= max;
  }

  async removeInterest(one: DeviceInterest): Promise<boolean> {
    const device = this.find(one);
    device?.interests.delete(one.interest);
    return device !== undefined;
  }

  async deleteUser(instance: number, userId: string): Promise<number> {
    this.requireInstance(instance);
    const devices = this.of(instance).filter((device) => device.userId === userId);
    for (const device of devices) this.remove(device);
    this.users.delete(userKey({ instance, userId }));
    return devices.length;
  }

  /** Notifications of devices since a time. */
  readonly caps = new Map<number, { sinceMs: number; used: number }>();
  /** The preferences of users by instance and id. */
  readonly users = new Map<string, Preferences>();

  find({ instance, id }: DeviceKey): KeptDevice | undefined {
    const device = this.devices.get(id);
    if (device?.instance === instance) return device;
    this.requireInstance(instance);
    return undefined;
  }

  requireInstance(instance: number): void {
    if (!this.instances.has(instance)) throw new StoreLost('the instance is lost');
  }

  private removeHolders(instance: number, identity: string, except?: KeptDevice): void {
    for (const device of this.held(instance)) {
      if (device !== except && device.token.identity === identity) this.remove(device);
    }
  }

  private held(instance: number): Set<KeptDevice> {
    return this.instances.get(instance) ?? new Set();
  }

  first(instance: number, isMeant: (token: DeviceToken) => boolean): KeptDevice | undefined {
    for (const device of this.held(instance)) if (isMeant(device.token)) return device;
    return undefined;
  }

  private remove(device: KeptDevice): void {
    this.devices.delete(device.registered.id);
    this.numbered.delete(device.number);
    this.held(device.instance).delete(device);
  }
}

/** The audience of publishes to devices in memory. */
export class MemoryAudience implements AudienceSource {
  private readonly devices: MemoryDevices;

  constructor(devices: MemoryDevices) {
    this.devices = devices;
  }

  async numbers({ instance, kind, name, after, limit }: NumberRange): Promise<readonly number[]> {
    return this.devices
      .of(instance)
      .filter(({ interests, userId }) =>
        kind === 'interests' ? interests.has(name) : userId === name,
      )
      .map(({ number }) => number)
      .filter((number) => number > after)
      .slice(0, limit);
  }

  /** `undefined`: nothing is known. */
  private preferencesOf(
    instance: number,
    device: Pick<KeptDevice, 'preferences' | 'acceptLanguage' | 'userId'>,
  ): Preferences | undefined {
    const { userId } = device;
    const own = ownPreferences(device);
    const users = userId === undefined ? {} : this.devices.users.get(userKey({ instance, userId }));
    const both: Preferences = {
      language: own.language ?? users?.language,
      timeZone: own.timeZone ?? users?.timeZone,
      quietHours: own.quietHours ?? users?.quietHours,
    };
    return Object.values(both).every((one) => one === undefined) ? undefined : both;
  }

  async recipients(instance: number, numbers: readonly number[]): Promise<readonly Recipient[]> {
    return numbers
      .toSorted((a, b) => a - b)
      .flatMap((number) => this.devices.byNumber(instance, number) ?? [])
      .map(({ number, registered, token, userId, seenAtMs, acceptedAtMs, pause, ...rest }) => ({
        number,
        id: registered.id,
        platform: registered.platform,
        token: token.token,
        bundleId: registered.bundleId,
        kind: registered.kind,
        userId,
        seenAtMs,
        isTrusted: acceptedAtMs !== undefined,
        pause,
        preferences: this.preferencesOf(instance, { userId, ...rest }),
      }));
  }
}

/** Preferences of devices and users in memory. */
export class MemoryPreferences implements PreferenceStore {
  private readonly devices: MemoryDevices;

  constructor(devices: MemoryDevices) {
    this.devices = devices;
  }

  async ofDevice(key: DeviceKey): Promise<Preferences | undefined> {
    const device = this.devices.find(key);
    return device && ownPreferences(device);
  }

  async setOfDevice({ changes, ...key }: DevicePreferences): Promise<boolean> {
    const device = this.devices.find(key);
    if (device === undefined) return false;
    device.preferences = changed(device.preferences, changes);
    return true;
  }

  async deviceWithToken({ instance, identity }: TokenOfInstance): Promise<DeviceId | undefined> {
    this.devices.requireInstance(instance);
    return this.devices.first(instance, (token) => token.identity === identity)?.registered.id;
  }

  async ofUser(user: UserOfInstance): Promise<Preferences> {
    this.devices.requireInstance(user.instance);
    return this.devices.users.get(userKey(user)) ?? {};
  }

  async setOfUser({ changes, ...user }: UserPreferences): Promise<void> {
    const before = await this.ofUser(user);
    this.devices.users.set(userKey(user), changed(before, changes));
  }

  async forgetUser(user: UserOfInstance): Promise<void> {
    this.devices.requireInstance(user.instance);
    this.devices.users.delete(userKey(user));
  }
}

function userKey({ instance, userId }: UserOfInstance): string {
  return `${instance} ${userId}`;
}

function ownPreferences({
  preferences,
  acceptLanguage,
}: Pick<KeptDevice, 'preferences' | 'acceptLanguage'>): Preferences {
  return { ...preferences, language: preferences.language ?? acceptLanguage };
}

function changed(before: Preferences, changes: PreferenceChanges): Preferences {
  const value = <Value>(old: Value, change: Value | null | undefined) =>
    change === null ? undefined : (change ?? old);
  return {
    language: value(before.language, changes.language),
    timeZone: value(before.timeZone, changes.timeZone),
    quietHours: value(before.quietHours, changes.quietHours),
  };
}

function inByteOrder(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function byInactivity(a: KeptDevice, b: KeptDevice): number {
  return a.seenAtMs - b.seenAtMs || a.number - b.number;
}

/** The further tokens that must leave for another one: those of its kind first. */
function surplusOfKind(others: readonly KeptDevice[], kind: DeviceKind): readonly KeptDevice[] {
  const further = others.filter(({ registered }) => registered.kind !== undefined);
  const isSame = ({ registered }: KeptDevice) => registered.kind === kind;
  return [...further.filter(isSame), ...further.filter((one) => !isSame(one))].slice(
    0,
    Math.max(0, further.length + 1 - FURTHER_TOKENS_MAX),
  );
}
