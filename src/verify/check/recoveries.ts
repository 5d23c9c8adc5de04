import type { Line, Op } from '../history/line.ts';
import type { Client } from './model.ts';
import type { Recording } from './recording.ts';
import type { Recovery } from './verdict.ts';

/** Lines that change whether everything is right. */
const CHANGES: ReadonlySet<Op> = new Set([
  'open',
  'close',
  'subscribe',
  'subscribed',
  'unsubscribe',
  'joined',
  'left',
]);

/** Clients may notice a fault only this long after it began. Milliseconds. */
const NOTICED_MS = 1000;
/** The end of a server reaches all of its clients. On a busy machine, it may take so long until one has noticed it. */
const END_NOTICED_MS = 10_000;
/** Servers end connections up to 5 s after Redis has lost what it knew of them. Milliseconds. */
const REDIS_LOST_NOTICED_MS = 6000;

const RECOVERIES_MAX = 10_000;

/** A fault after which not everything was right yet. */
interface Waiting {
  readonly t: number;
  /** Before this, not all clients may have noticed it. */
  readonly until: number;
  /** The same as long as no client has noticed it. */
  readonly whileUnnoticed: number;
}

/** Measures how long it took after each fault until every client was connected, subscribed and right again. */
export class Recoveries {
  private readonly recording: Recording;
  private readonly done: Recovery[] = [];
  private readonly waiting: Waiting[] = [];
  private rightSince: number | undefined;
  /** Since when each client is right; `undefined`: it is not. Of those alone that were wrong while a fault waited. */
  private readonly clients = new Map<Client, number | undefined>();

  constructor(recording: Recording) {
    this.recording = recording;
  }

  get all(): readonly Recovery[] {
    const missing = this.waiting.map(({ t }) => ({
      t,
      ...this.clientsAfter(t, Number.POSITIVE_INFINITY),
      seconds: null,
    }));
    return [...this.done, ...missing].toSorted((a, b) => a.t - b.t);
  }

  /** Looks at a line after the recording has taken it. */
  see(line: Line): void {
    if (line.op === 'fault') {
      if (this.done.length + this.waiting.length >= RECOVERIES_MAX) return;
      const { what, t, until = t } = line;
      if (this.waiting.length === 0) {
        this.rightSince = this.recording.isRight ? t : undefined;
        this.clients.clear();
        this.lookAtClients(t);
      }
      const noticed = what === 'redis-lost' ? until + REDIS_LOST_NOTICED_MS : t + NOTICED_MS;
      const whileUnnoticed = what === 'kill' || what === 'power' ? t + END_NOTICED_MS : 0;
      this.waiting.push({ t, until: Math.max(until, noticed), whileUnnoticed });
      return;
    }
    const [first] = this.waiting;
    if (first === undefined) return;
    // Before this line, everything was as it is since `rightSince`.
    if (this.rightSince !== undefined) this.finish(this.rightSince, line.t);
    if (!CHANGES.has(line.op)) return;
    if (!this.recording.isRight) this.rightSince = undefined;
    else this.rightSince ??= line.t;
    this.lookAtClients(line.t);
  }

  private lookAtClients(t: number): void {
    for (const client of this.recording.clients.values()) {
      if (!isRight(client)) this.clients.set(client, undefined);
      else if (this.clients.has(client)) {
        this.clients.set(client, this.clients.get(client) ?? t);
      }
    }
  }

  private finish(since: number, now: number): void {
    for (let at = 0; at < this.waiting.length; at++) {
      const one = this.waiting[at];
      if (one === undefined || now < one.until) continue;
      if (this.clients.size === 0 && now < one.whileUnnoticed) continue;
      const { t } = one;
      this.waiting.splice(at--, 1);
      this.done.push({ t, ...this.clientsAfter(t, since), seconds: Math.max(0, since - t) / 1000 });
    }
  }

  /** When the first of the clients that a fault has reached was right again, and when half of them were. `since`: when those are that are not yet. */
  private clientsAfter(t: number, since: number): Pick<Recovery, 'first' | 'median'> {
    const sinces = [...this.clients.values()].map((each) => each ?? since);
    const times = sinces.filter((each) => each > t).toSorted((a, b) => a - b);
    // If a fault that has ended has reached nobody, all were right from its beginning on.
    const without = since === Number.POSITIVE_INFINITY ? since : t;
    const secondsAt = (at: number) => {
      const seconds = ((times[at] ?? without) - t) / 1000;
      return Number.isFinite(seconds) ? seconds : null;
    };
    return { first: secondsAt(0), median: secondsAt(Math.floor((times.length - 1) / 2)) };
  }
}

/** Whether a client has every subscription that it wants, and no wrong list of members. */
function isRight({ wanted, views }: Client): boolean {
  for (const name of wanted) {
    const view = views.get(name);
    if (view === undefined || !view.channel.live.has(view)) return false;
    if (view.members?.equals(view.channel.present) === false) return false;
  }
  return true;
}
