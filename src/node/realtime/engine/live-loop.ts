import type { Hub } from '../../../channels/hub.ts';
import type { Ask, AskMessage, SendAskMessage } from '../../../channels/live/ask.ts';
import { AskReports, type PartOfReport } from '../../../channels/live/ask-reports.ts';
import { AskedConnections, type Probe } from '../../../channels/live/asked-connections.ts';
import { LiveAsks } from '../../../channels/live/live-asks.ts';
import { readAskMessage } from '../../../channels/live/read-ask.ts';
import type { MemberSessions } from '../../../channels/subscribing/member-sessions.ts';
import type { UserSessions } from '../../../channels/users/user-sessions.ts';
import type { LoopBus } from '../../../engines/redis/loop-bus.ts';
import type { Timers } from '../../../runtime/ports.ts';
import type { LoopLinks } from '../../link/loop-links.ts';
import type { LiveAskMessage } from '../../link/messages.ts';

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
  private readonly reports = new AskReports((origin, report) => this.send(origin, report));

  constructor(options: LiveLoopOptions) {
    const { sessions, members, probe, links, bus, timers } = options;
    this.options = options;
    this.origin = bus?.self ?? String(links.index);
    this.asked = new AskedConnections({
      sessions,
      members,
      probe,
      timers,
      loop: this.origin,
      send: (loop, message) => this.send(loop, message),
    });
    if (bus !== undefined) bus.onReport = (text) => this.take(readAskMessage(text));
  }

  /** Makes the object that asks. Called once, when the hub exists. */
  openAsks(hub: Hub): LiveAsks {
    const { timers } = this.options;
    const send: SendAskMessage = (loop, message) => this.send(loop, message);
    this.asks = new LiveAsks({ hub, origin: this.origin, send, timers });
    return this.asks;
  }

  /** Handles a message of another loop of this process. */
  receive({ message, partTo }: LiveAskMessage): void {
    if (partTo !== undefined && message.what === 'asked') this.reports.add(partTo, message);
    else this.take(message);
  }

  /** Handles a message of another loop. */
  private take(message: AskMessage): void {
    if (message.what === 'more') this.asked.askMore(message);
    else this.asks?.take(message);
  }

  private send(loop: string, message: AskMessage): void {
    const { links, bus } = this.options;
    if (message.what === 'asked' && message.loops !== undefined) this.sendPart(loop, message);
    else if (loop === this.origin) this.take(message);
    else if (bus !== undefined) bus.report(loop, JSON.stringify(message));
    else links.send(Number(loop), { type: 'live-ask', message });
  }

  /** The parts of all loops meet on the same loop. */
  private sendPart(origin: string, message: PartOfReport): void {
    const { links } = this.options;
    const place = message.attempt % links.count;
    if (place === links.index) this.reports.add(origin, message);
    else links.send(place, { type: 'live-ask', message, partTo: origin });
  }
}
