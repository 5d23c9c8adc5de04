import type { Clock } from '../../../runtime/ports.ts';
import { Recent } from '../../../runtime/recent.ts';

/** The limit of departures of one partition. */
const REPORTED_MAX = 1000;

/** A server that cannot reach Redis for longer ends its clients' connections. Milliseconds. */
const REPORTED_MS = 120_000;

/** The kinds of departures, by those of arrivals. */
const DEPARTURES: Readonly<Record<string, string>> = { a: 'r', o: 'v', u: 'd' };

/**
 * Departures of a partition that this node has reported recently. If Redis loses its data, the node says so: a server that was cut off
 * before that holds users whom others have reported as gone, and knows of departures that others have reported.
 *
 * They are named by kind and subject, as in the script `CLAIM`.
 */
export class ReportedDepartures {
  private readonly clock: Clock;
  /** When each was reported, at the earliest. */
  private readonly reported = new Recent<string, number>(REPORTED_MAX);

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Webhook events that this node reports, and when it asked for them. */
  add(ids: readonly string[], askedAtMs: number): void {
    for (const id of ids) {
      // The number; kind, topic and user are the rest.
      const [kind = '', ...subject] = id.slice(id.indexOf('\n') + 1).split('\n');
      const name = subject.join('\n');
      if (/^[rvd]$/.test(kind)) this.reported.set(kind + name, askedAtMs);
      const departure = DEPARTURES[kind];
      if (departure !== undefined) this.reported.delete(departure + name);
    }
    this.forgetOld();
  }

  /** Each with its age in milliseconds. */
  all(): readonly (readonly [name: string, ageMs: number])[] {
    this.forgetOld();
    const nowMs = this.clock.now();
    return [...this.reported].map(([name, atMs]) => [name, Math.round(nowMs - atMs)]);
  }

  private forgetOld(): void {
    const sinceMs = this.clock.now() - REPORTED_MS;
    for (;;) {
      const oldest = this.reported.oldest();
      if (oldest === undefined || (this.reported.get(oldest) ?? 0) > sinceMs) return;
      this.reported.delete(oldest);
    }
  }
}
