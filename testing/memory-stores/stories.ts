import { GAVE_WAY } from '../../src/push/backlog-store.ts';
import type { DeviceEvent, DeviceStory, UsersReached } from '../../src/push/model/delivery.ts';
import type { DeviceId } from '../../src/push/model/device.ts';
import type { ShownPause } from '../../src/push/model/device-pause.ts';
import { readLocalTime } from '../../src/push/model/local-time.ts';
import { StoreLost } from '../../src/push/store-faults.ts';
import type { StoryKey, StoryStore } from '../../src/push/story-store.ts';
import type { KeptDevice, MemoryDevices } from './devices.ts';
import { liveUsersReached } from './live.ts';
import { waitingFor } from './paused-devices.ts';
import type { Fate, KeptPage, KeptPublish, MemoryPublishes } from './publishes.ts';

/** What happened to the devices and users of publishes, in memory. */
export class MemoryStories implements StoryStore {
  private readonly publishes: MemoryPublishes;
  private readonly devices: MemoryDevices;

  constructor(publishes: MemoryPublishes, devices: MemoryDevices) {
    this.publishes = publishes;
    this.devices = devices;
  }

  async story({ instance, publish, device: deviceId }: StoryKey): Promise<DeviceStory | undefined> {
    const kept = this.publishes.find(instance, publish);
    const present = this.devices.of(instance).find(({ registered }) => registered.id === deviceId);
    const tombstone = this.devices.pruned(instance, deviceId);
    const device = present ?? tombstone?.device;
    if (kept === undefined || device === undefined) {
      if (!this.devices.has(instance)) throw new StoreLost('the instance is lost');
      return undefined;
    }
    const { platform } = device.registered;
    const page = kept.pages.find(({ devices }) => devices.includes(device.number));
    const fate = page?.fates.get(device.number);
    const hasGivenWay = kept.over?.gaveWay === true && page?.state === 'cancelled';
    const hasResult = fate !== undefined || hasGivenWay;
    const isAhead = !kept.plan.ended && kept.plan.upTo < device.number;
    return {
      platform,
      kind: kept.publish.target.kind,
      page: hasResult ? 'delivered' : (page?.state ?? (isAhead ? 'ahead' : 'none')),
      registeredAtMs: device.registeredAtMs,
      removed: present === undefined ? removalOf(tombstone) : undefined,
      matches: present !== undefined && isNamed(kept, present),
      due: hasResult || page?.state !== 'waiting' ? undefined : dueOf(kept, page, device.number),
      preferences: undefined,
      live: kept.live?.users.find(({ userId }) => userId === device.userId),
      hasPayload: kept.publish.platforms.includes(platform),
      tokenKind: present?.registered.kind,
      apns: kept.publish.apns,
      pause: device.pause && { ...device.pause, ...this.waitingFor(device.number) },
      nextAttemptAtMs: fate?.state === 'retrying' ? fate.dueAtMs : undefined,
      events: [...attempts(kept, fate, hasGivenWay), ...reportsOf(kept, deviceId)].sort(
        (a, b) => a.atMs - b.atMs,
      ),
    };
  }

  private waitingFor(device: number): Pick<ShownPause, 'waiting' | 'cause'> {
    const waiting = waitingFor(this.publishes, device);
    const cause = waiting.find(({ fate }) => fate.words !== '')?.fate.words ?? '';
    return { waiting: waiting.length, cause };
  }

  async usersReached(publish: number): Promise<UsersReached> {
    const kept = this.publishes.byNumber(publish);
    const users = [...(kept?.users ?? [])].sort();
    const those = (reached: boolean) =>
      users.filter(([, isReached]) => isReached === reached).map(([user]) => user);
    const live = kept && liveUsersReached(kept);
    return { delivered: those(true), failed: those(false), ...(live && { live }) };
  }
}

function dueOf({ publish }: KeptPublish, { dues }: KeptPage, device: number): DeviceStory['due'] {
  const due = dues.find(({ devices }) => devices.includes(device));
  const { sendAtLocal, perSecond } = JSON.parse(publish.body);
  return (
    due && {
      atMs: due.atMs,
      local: sendAtLocal && readLocalTime(sendAtLocal),
      perSecond: (due.pacedMs ?? 0) > 0 ? perSecond : undefined,
    }
  );
}

function removalOf(tombstone: ReturnType<MemoryDevices['pruned']>): DeviceStory['removed'] {
  if (tombstone === undefined) return undefined;
  const { atMs, reason, words } = tombstone;
  return { atMs, reason, words };
}

function isNamed({ publish }: KeptPublish, { interests, userId }: KeptDevice): boolean {
  const { kind, names } = publish.target;
  if (kind === 'users') return userId !== undefined && names.includes(userId);
  return names.some((name) => interests.has(name));
}

function attempts(
  { over }: KeptPublish,
  fate: Fate | undefined,
  hasGivenWay: boolean,
): readonly DeviceEvent[] {
  if (fate === undefined) return hasGivenWay ? [gaveWay(over, 0)] : [];
  const { atMs, state, reason, words, attempts: made } = fate;
  const what = state === 'retrying' ? 'retry' : state;
  const event: DeviceEvent = { atMs, what, reason, words, attempts: made };
  if (state !== 'cancelled' || over === undefined) return [event];
  if (over.gaveWay === true) {
    const left = gaveWay(over, made);
    return [
      { ...event, what: 'retry' },
      { ...left, atMs: Math.max(atMs, left.atMs) },
    ];
  }
  return [
    { ...event, what: 'retry' },
    { ...event, atMs: Math.max(atMs, over.atMs) },
  ];
}

function gaveWay(over: KeptPublish['over'], attempts: number): DeviceEvent {
  return { atMs: over?.atMs ?? 0, what: 'expired', reason: GAVE_WAY, words: '', attempts };
}

function reportsOf({ reports }: KeptPublish, device: DeviceId): readonly DeviceEvent[] {
  return [...reports]
    .filter(([report]) => report.endsWith(` ${device}`))
    .map(([report, atMs]) => ({
      atMs,
      what: report.startsWith('delivery') ? ('delivered' as const) : ('opened' as const),
      reason: '',
      words: '',
      attempts: 0,
    }));
}
