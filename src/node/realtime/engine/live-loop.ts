import type { Hub } from '../../../channels/hub.ts';
import type { Ask, AskReport } from '../../../channels/live/ask.ts';
import { AskedConnections, type Probe } from '../../../channels/live/asked-connections.ts';
import { LiveAsks } from '../../../channels/live/live-asks.ts';
import { readAskReport } from '../../../channels/live/read-ask.ts';
import type { MemberSessions } from '../../../channels/subscribing/member-sessions.ts';
import type { UserSessions } from '../../../channels/users/user-sessions.ts';
import type { LoopBus } from '../../../engines/redis/loop-bus.ts';
import type { Timers } from '../../../runtime/ports.ts';
import type { LoopLinks } from '../../link/loop-links.ts';

export interface LiveLoopOptions {
  readonly sessions: UserSessions;
  readonly members: MemberSessions;
  readonly probe: Probe;
  /** Sends to the other loops of this process. */
  readonly links: LoopLinks;
  /** Sends to loops of other servers, if there are any. */
  readonly bus: LoopBus | undefined;
  /** A monotonic clock. */
  readonly timers: Timers;
}

/** One loop's part in live pushes: it asks its own connections, and counts the answers to its own asks. */
export class LiveLoop {
  readonly asked: AskedConnections;
  private readonly options: LiveLoopOptions;
  private readonly origin: Ask['origin'];
  private asks: LiveAsks | undefined;

  constructor(options: LiveLoopOptions) {
    const { sessions, members, probe, links, bus, timers } = options;
    this.options = options;
    this.origin = bus?.self ?? String(links.index);
    this.asked = new AskedConnections({
      sessions,
      members,
      probe,
      timers,
      report: (origin, report) => this.report(origin, report),
    });
    if (bus !== undefined) bus.onReport = (text) => this.take(readAskReport(text));
  }

  /** Makes the object that asks. Called once, when the hub exists. */
  openAsks(hub: Hub): LiveAsks {
    this.asks = new LiveAsks({ hub, origin: this.origin, timers: this.options.timers });
    return this.asks;
  }

  /** Handles a report of another loop. */
  take(report: AskReport): void {
    this.asks?.take(report);
  }

  private report(origin: string, report: AskReport): void {
    const { links, bus } = this.options;
    if (origin === this.origin) this.take(report);
    else if (bus !== undefined) bus.report(origin, JSON.stringify(report));
    else links.send(Number(origin), { type: 'live-report', report });
  }
}
