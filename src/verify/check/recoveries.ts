import type { Line } from '../history/line.ts';
import { type Client, isLive } from './model.ts';
import { CHANGES, type Recording } from './recording.ts';
import type { Recovery } from './verdict.ts';

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
  private waiting: Waiting[] = [];
  /** When the first of these faults is over. */
  private nextOver = Number.POSITIVE_INFINITY;
  private rightSince: number | undefined;
  /** When each client last changed while a fault waited: those that changed last come last. */
  private readonly changed = new Map<number, number>();

  constructor(recording: Recording) {
    this.recording = recording;
  }

  get all(): readonly Recovery[] {
    const isRightNow = (c: number) => {
      const client = this.recording.clients.get(c);
      return client === undefined || isRight(client);
    };
    const times = Array.from(this.changed, ([c, t]) =>
      isRightNow(c) ? t : Number.POSITIVE_INFINITY,
    );
    const missing = this.waiting.map(({ t }) => ({
      t,
      ...clientsAfter(t, times, Number.POSITIVE_INFINITY),
      seconds: null,
    }));
    return [...this.done, ...missing].toSorted((a, b) => a.t - b.t);
  }

  /** Looks at a line after the recording has taken it. */
  see(line: Line): void {
    const { t } = line;
    const { isRight } = this.recording;
    if (line.op === 'fault') {
      if (this.done.length + this.waiting.length >= RECOVERIES_MAX) return;
      if (this.waiting.length === 0) {
        this.rightSince = isRight ? t : undefined;
        this.changed.clear();
      }
      const { what, until = t } = line;
      const noticed = what === 'redis-lost' ? until + REDIS_LOST_NOTICED_MS : t + NOTICED_MS;
      const over = Math.max(until, noticed);
      const whileUnnoticed = what === 'kill' || what === 'power' ? t + END_NOTICED_MS : 0;
      this.waiting.push({ t, until: over, whileUnnoticed });
      this.nextOver = Math.min(this.nextOver, over);
      return;
    }
    if (this.waiting.length === 0) return;
    // Before this line, everything was as it is since `rightSince`.
    if (this.rightSince !== undefined && t >= this.nextOver) this.finish(this.rightSince, t);
    if (!CHANGES.has(line.op) && line.op !== 'joined' && line.op !== 'left') return;
    this.rightSince = isRight ? (this.rightSince ?? t) : undefined;
    if (!('c' in line)) return;
    this.changed.delete(line.c);
    this.changed.set(line.c, t);
  }

  /** Ends the wait for faults that are over, while all are right: each client since it last changed. */
  private finish(since: number, now: number): void {
    const isOver = ({ until, whileUnnoticed }: Waiting) =>
      now >= until && (this.changed.size > 0 || now >= whileUnnoticed);
    const times = [...this.changed.values()];
    for (const { t } of this.waiting.filter(isOver)) {
      const seconds = Math.max(0, since - t) / 1000;
      this.done.push({ t, ...clientsAfter(t, times, t), seconds });
    }
    this.waiting = this.waiting.filter((one) => !isOver(one));
    this.nextOver = this.waiting.reduce(
      (least, { until }) => Math.min(least, until),
      Number.POSITIVE_INFINITY,
    );
  }
}

/**
 * When the first of the clients that a fault has reached was right again, and when half of them were. `without`: what counts if
 * it has reached nobody.
 */
function clientsAfter(
  t: number,
  times: readonly number[],
  without: number,
): Pick<Recovery, 'first' | 'median'> {
  const reached = times.filter((time) => time > t).toSorted((a, b) => a - b);
  const secondsAt = (at: number) => {
    const seconds = ((reached[at] ?? without) - t) / 1000;
    return Number.isFinite(seconds) ? seconds : null;
  };
  return { first: secondsAt(0), median: secondsAt(Math.floor((reached.length - 1) / 2)) };
}

/** Whether a client has every subscription that it wants, and no wrong list of members. */
function isRight({ views }: Client): boolean {
  return [...views.values()].every(
    (view) =>
      !view.isWanted ||
      (isLive(view) &&
        (view.members === undefined ||
          view.members.fingerprint === view.channel.present.fingerprint)),
  );
}
