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

/** Clients may notice a fault only after this time. Milliseconds. */
const NOTICED_MS = 1000;

const RECOVERIES_MAX = 10_000;

/** Measures how long it took after each fault until every client was connected, subscribed and right again. */
export class Recoveries {
  private readonly recording: Recording;
  private readonly done: Recovery[] = [];
  private readonly waiting: { readonly t: number; readonly until: number }[] = [];
  private rightSince: number | undefined;
  /** Since when each client is right; `undefined`: it is not. Of those alone that were wrong while a fault waited. */
  private readonly clients = new Map<Client, number | undefined>();

  constructor(recording: Recording) {
    this.recording = recording;
  }

  get all(): readonly Recovery[] {
    const missing = this.waiting.map(({ t }) => ({
      t,
      first: null,
      median: null,
      seconds: null,
    }));
    return [...this.done, ...missing].toSorted((a, b) => a.t - b.t);
  }

  /** Looks at a line after the recording has taken it. */
  see(line: Line): void {
    if (line.op === 'fault') {
      if (this.done.length + this.waiting.length >= RECOVERIES_MAX) return;
      const { t, until = t } = line;
      if (this.waiting.length === 0) {
        this.rightSince = this.recording.isRight ? t : undefined;
        this.clients.clear();
        this.lookAtClients(t);
      }
      this.waiting.push({ t, until: Math.max(until, t + NOTICED_MS) });
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
      const { t, until } = this.waiting[at] ?? { t: 0, until: Number.POSITIVE_INFINITY };
      if (now < until) continue;
      this.waiting.splice(at--, 1);
      const sinces = [...this.clients.values()].map((each) => each ?? since);
      const times = sinces.filter((each) => each > t).toSorted((a, b) => a - b);
      const secondsOf = (each = t) => Math.max(0, each - t) / 1000;
      this.done.push({
        t,
        first: secondsOf(times[0]),
        median: secondsOf(times[Math.floor((times.length - 1) / 2)]),
        seconds: secondsOf(since),
      });
    }
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
