import { channelNewsOf, type ServerMessage } from '../../src/doctor/client/client-messages.ts';
import type { Recorder } from '../../src/verify/crowd/recorder.ts';

/** Writes down what one client sends and receives, over all of its connections. */
export class NotedClient {
  /** How many connections it has had. */
  connections = 0;
  private readonly recorder: Recorder;
  private readonly number: number;
  private isOpen = false;
  /** Channels that it has left, and not entered again for certain: what comes of them is of before. */
  private readonly stale = new Set<string>();

  /** `number` is that of no other client of the history. */
  constructor(recorder: Recorder, number: number) {
    this.recorder = recorder;
    this.number = number;
  }

  opened(socket: string): void {
    this.isOpen = true;
    this.stale.clear();
    this.connections++;
    this.recorder.add('open', { ...this.at, socket });
  }

  /** The connection has ended, which may be noted again. */
  closed(code: number): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.recorder.add('close', { ...this.at, code });
  }

  /** `after`: the place of a client that resumes. */
  subscribes(ch: string, user: string | undefined, after?: string): void {
    this.recorder.add('subscribe', {
      ...this.at,
      ch,
      ...(user === undefined ? {} : { user }),
      ...(after === undefined ? {} : { after }),
    });
  }

  unsubscribes(ch: string): void {
    this.stale.add(ch);
    this.recorder.add('unsubscribe', { ...this.at, ch });
  }

  /** A message has come. `e`: the event in it, unless the client has not got it. */
  hears(message: ServerMessage, e: string | undefined): void {
    const { channel: ch, id } = message;
    if (ch === undefined || !this.isOpen) return;
    const { recorder, stale } = this;
    const at = { ...this.at, ch };
    const news = channelNewsOf(message);
    if (stale.has(ch) && news?.kind !== 'subscribed') return;
    switch (news?.kind) {
      case 'subscribed': {
        const { members, resume } = news;
        stale.delete(ch);
        recorder.add('subscribed', {
          ...at,
          ...(members === undefined ? {} : { members }),
          ...(resume === undefined ? {} : { resume }),
        });
        return;
      }
      case 'joined':
      case 'left':
        return recorder.add(news.kind, { ...at, user: news.user });
      case 'counted':
        return recorder.add('counted', { ...at, count: news.count });
      default:
        if (e !== undefined) {
          recorder.add('event', { ...at, e, ...(id === undefined ? {} : { id }) });
        }
    }
  }

  private get at() {
    return { c: this.number, n: this.connections };
  }
}
