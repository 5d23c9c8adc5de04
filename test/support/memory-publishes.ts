import type { DeviceStore, PublishStore } from '../../src/push/ports.ts';
import { StoreLost } from '../../src/push/ports.ts';
import type {
  Acceptance,
  NewPublish,
  PlatformCounts,
  PublishId,
  PublishState,
  PublishStatus,
  Report,
} from '../../src/push/publish.ts';
import type { MemoryDevices } from './memory-push-stores.ts';

interface KeptPublish {
  readonly publish: NewPublish;
  readonly reports: Set<string>;
  cancelled: boolean;
}

const NOTHING: PlatformCounts = {
  planned: 0,
  accepted: 0,
  retrying: 0,
  failed: 0,
  pruned: 0,
  expired: 0,
  cancelled: 0,
};

/** Publishes in memory, for tests of what needs some, and as the simplest thing that keeps the contract. */
export class MemoryPublishes implements PublishStore {
  private readonly devices: Pick<DeviceStore, 'get'> & Pick<MemoryDevices, 'of'>;
  private readonly publishes = new Map<PublishId, KeptPublish>();
  private readonly keys = new Map<string, NewPublish>();
  private lost = false;

  constructor(devices: MemoryDevices) {
    this.devices = devices;
  }

  lose(): void {
    this.publishes.clear();
    this.keys.clear();
    this.lost = true;
  }

  async accept(publish: NewPublish): Promise<Acceptance> {
    const { instance, devicesMax, idempotency, createdAtMs } = publish;
    const devices = this.devices.of(instance).length;
    if (devicesMax > 0 && devices > devicesMax) return { result: 'over-plan', devices };
    if (idempotency !== undefined) {
      const name = `${instance} ${idempotency.key}`;
      const first = this.keys.get(name);
      if (first?.idempotency !== undefined && first.idempotency.expiresAtMs > createdAtMs) {
        return first.idempotency.fingerprint === idempotency.fingerprint
          ? { result: 'accepted', id: first.id }
          : { result: 'key-taken' };
      }
      this.keys.set(name, publish);
    }
    this.publishes.set(publish.id, { publish, reports: new Set(), cancelled: false });
    return { result: 'accepted', id: publish.id };
  }

  async status(instance: number, id: PublishId, nowMs: number): Promise<PublishStatus | undefined> {
    const kept = this.find(instance, id);
    if (kept === undefined) return undefined;
    const { publish, reports } = kept;
    const count = (event: Report['event']) =>
      [...reports].filter((report) => report.startsWith(event)).length;
    return {
      id,
      state: stateOf(kept, nowMs),
      createdAtMs: publish.createdAtMs,
      sendAtMs: publish.sendAtMs,
      platforms: { apns: NOTHING, fcm: NOTHING, web: NOTHING },
      delivered: count('delivery'),
      opened: count('open'),
      reasons: [],
    };
  }

  async cancel(instance: number, id: PublishId, nowMs: number): Promise<PublishStatus | undefined> {
    const kept = this.find(instance, id);
    if (kept !== undefined) kept.cancelled = true;
    return await this.status(instance, id, nowMs);
  }

  async report(instance: number, { publishId, deviceId, event }: Report): Promise<boolean> {
    const kept = this.find(instance, publishId);
    const device = this.devices.of(instance).find(({ registered }) => registered.id === deviceId);
    if (kept === undefined || device === undefined) return false;
    const report = `${event} ${deviceId}`;
    if (kept.reports.has(report)) return false;
    kept.reports.add(report);
    return true;
  }

  private find(instance: number, id: PublishId): KeptPublish | undefined {
    const kept = this.publishes.get(id);
    if (kept?.publish.instance === instance) return kept;
    if (this.lost) throw new StoreLost('everything is lost');
    return undefined;
  }
}

function stateOf({ publish, cancelled }: KeptPublish, nowMs: number): PublishState {
  if (cancelled) return 'cancelled';
  return publish.sendAtMs !== undefined && publish.sendAtMs > nowMs ? 'scheduled' : 'planning';
}
