import { Recent } from '../../runtime/recent.ts';
import type { AttemptOutcome, OutboxKind, OutboxRequest, WebhookAttempt } from '../outbox.ts';

/** Addresses that are remembered of one app or instance. Publishers may name any number. */
const ADDRESSES_MAX = 50;

/** Up to which durations attempts are counted together. Milliseconds. What took longer is counted last. */
export const DURATION_BOUNDS_MS = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000] as const;

const NO_DURATIONS: readonly number[] = Array.from(
  { length: DURATION_BOUNDS_MS.length + 1 },
  () => 0,
);

/** How an address has answered since the start of this server. */
export interface EndpointHealth {
  readonly kind: OutboxKind;
  readonly ownerId: string;
  readonly url: string;
  readonly endpoint: string;
  /** Attempts. */
  readonly delivered: number;
  readonly failed: number;
  readonly lastAtMs: number;
  readonly lastOutcome: AttemptOutcome;
  /** The HTTP status of the last answer; `undefined` if there was no answer. */
  readonly lastStatus: number | undefined;
  /** The first bytes of the last answer, or the reason why there was no answer. */
  readonly lastAnswer: string;
  readonly lastDeliveredAtMs: number | undefined;
  /** Since when no attempt succeeded; `undefined` if the last one did. */
  readonly failingSinceMs: number | undefined;
  /** Attempts by how long they took: one count for each of `DURATION_BOUNDS_MS`, and one for the rest. */
  readonly durations: readonly number[];
}

/** Remembers how each address has answered. An owner with too many forgets the one that was tried least recently. */
export class EndpointHealthBook {
  /** By owner and address. The address that was tried least recently is the first. */
  private readonly owners = new Map<string, Recent<string, EndpointHealth>>();

  learn(
    { kind, ownerId, url, endpoint }: Pick<OutboxRequest, 'kind' | 'ownerId' | 'url' | 'endpoint'>,
    { atMs, outcome, status, answer, durationMs }: WebhookAttempt,
  ): void {
    const owner = `${kind === 'channels' ? 'app' : 'instance'} ${ownerId}`;
    const addresses = this.owners.get(owner) ?? new Recent<string, EndpointHealth>(ADDRESSES_MAX);
    this.owners.set(owner, addresses);
    const before = addresses.get(endpoint);
    const isDelivered = outcome === 'delivered';
    addresses.set(endpoint, {
      kind,
      ownerId,
      url,
      endpoint,
      delivered: (before?.delivered ?? 0) + (isDelivered ? 1 : 0),
      failed: (before?.failed ?? 0) + (isDelivered ? 0 : 1),
      lastAtMs: atMs,
      lastOutcome: outcome,
      lastStatus: status,
      lastAnswer: answer,
      lastDeliveredAtMs: isDelivered ? atMs : before?.lastDeliveredAtMs,
      failingSinceMs: isDelivered ? undefined : (before?.failingSinceMs ?? atMs),
      durations: counted(before?.durations ?? NO_DURATIONS, durationMs),
    });
  }

  *all(): Iterable<EndpointHealth> {
    for (const addresses of this.owners.values()) yield* addresses.values();
  }

  /** Forgets the endpoints of a deleted app or instance. */
  forgetOwner(noun: 'app' | 'instance', id: string): void {
    this.owners.delete(`${noun} ${id}`);
  }

  /** Forgets endpoints that were not tried since a time: endpoints come and go with the configuration. */
  forget(triedBeforeMs: number): void {
    for (const [owner, addresses] of this.owners) {
      for (const [endpoint, { lastAtMs }] of addresses) {
        if (lastAtMs < triedBeforeMs) addresses.delete(endpoint);
      }
      if (addresses.size === 0) this.owners.delete(owner);
    }
  }
}

/** One more attempt that took this long. */
function counted(durations: readonly number[], durationMs: number): readonly number[] {
  const found = DURATION_BOUNDS_MS.findIndex((most) => durationMs <= most);
  const place = found === -1 ? DURATION_BOUNDS_MS.length : found;
  return durations.map((count, index) => (index === place ? count + 1 : count));
}
