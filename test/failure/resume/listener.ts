import PusherJs, { type Options } from 'pusher-js';
import { resume } from '../../../sdk/resume/index.js';
import { optionsFor } from '../../../testing/clients/official-client.ts';
import type { AppBackend } from '../../../testing/servers/app-backend.ts';
import { APP } from '../../../testing/servers/fanfare.ts';
import type { Excluded, SentEvent } from './publisher.ts';

interface ListenerOptions {
  readonly port: number;
  readonly backend: Pick<AppBackend, 'library'>;
  readonly user: string;
  readonly channels: readonly string[];
  readonly transports: Options['enabledTransports'];
}

/** In the list of what a channel received: more was missed than the server keeps. */
const GAP = -1;

/** pusher-js with the plugin: what it receives in each channel, and all sockets that it has had. */
export class Listener implements Disposable {
  readonly pusher: PusherJs;
  readonly socketIds = new Set<string>();
  gaps = 0;
  /** By channel, the numbers of the events and the gaps. */
  private readonly received = new Map<string, number[]>();
  private readonly unconfirmed: Set<string>;

  constructor({ port, backend, user, channels, transports }: ListenerOptions) {
    const options = optionsFor({ port }, { enabledTransports: transports });
    this.pusher = new PusherJs(APP.key, {
      ...options,
      // A connection may be dead without an end. By default that is found after two and a half minutes.
      activityTimeout: 2_000,
      pongTimeout: 2_000,
      channelAuthorization: {
        endpoint: '',
        transport: 'ajax',
        // Asked directly: thousands of requests would take longer than all the rest.
        customHandler: ({ socketId, channelName }, done) =>
          done(
            null,
            channelName.startsWith('presence-')
              ? backend.library.authorizeChannel(socketId, channelName, { user_id: user })
              : backend.library.authorizeChannel(socketId, channelName),
          ),
      },
    });
    withoutPauses(this.pusher);
    resume(this.pusher, { onGap: (channel) => this.notes(channel, GAP) });
    this.pusher.connection.bind('connected', () => {
      this.socketIds.add(this.pusher.connection.socket_id);
    });
    this.unconfirmed = new Set(channels);
    for (const name of channels) {
      this.received.set(name, []);
      this.pusher
        .subscribe(name)
        .bind('pusher:subscription_succeeded', () => this.unconfirmed.delete(name))
        // A zero alone is handed to handlers of encrypted channels as nothing.
        .bind('e', (text: string) => this.notes(name, Number(text.slice(1))));
    }
  }

  /** Whether each channel was confirmed once. */
  get isIn(): boolean {
    return this.unconfirmed.size === 0;
  }

  /** Its socket, whose next events exclude it. */
  socket(): Excluded {
    const { connection } = this.pusher;
    const socketId = connection.socket_id as string | undefined;
    return { socketId, isCurrent: () => connection.socket_id === socketId };
  }

  /** The number of the last event of a channel; -1 before the first. */
  last(channel: string): number {
    return this.received.get(channel)?.findLast((number) => number !== GAP) ?? -1;
  }

  get count(): number {
    return this.received.values().reduce((sum, numbers) => sum + numbers.length, 0);
  }

  /** What is wrong with what a channel has received of all that was sent. */
  faults(channel: string, sent: readonly SentEvent[]): readonly string[] {
    const faults: string[] = [];
    let next = 0;
    const numbers = this.received.get(channel) ?? [];
    for (const [at, number] of numbers.entries()) {
      if (number === GAP) continue;
      const follows = numbers[at - 1] !== GAP;
      if (number < next) faults.push(`${channel} ${number} after ${next - 1}`);
      while (next < number) {
        if (follows && this.must(sent[next])) faults.push(`${channel} misses ${next}`);
        next++;
      }
      if (this.mustNot(sent[number]))
        faults.push(`${channel} receives ${number}, which is its own`);
      next = Math.max(next, number + 1);
    }
    for (; next < sent.length; next++) {
      if (this.must(sent[next])) faults.push(`${channel} misses ${next} at the end`);
    }
    return faults;
  }

  [Symbol.dispose](): void {
    this.pusher.disconnect();
  }

  private notes(channel: string, number: number): void {
    if (number === GAP) this.gaps++;
    this.received.get(channel)?.push(number);
  }

  private isOwn(event: SentEvent | undefined): boolean {
    return event?.except !== undefined && this.socketIds.has(event.except);
  }

  private must(event: SentEvent | undefined): boolean {
    return event?.fate === 'accepted' && !this.isOwn(event);
  }

  /** An event that was accepted after the client has come back with another socket is for it. */
  private mustNot(event: SentEvent | undefined): boolean {
    return event === undefined || (event.wasCurrent && this.isOwn(event));
  }
}

/** pusher-js waits for one second after a cut, and for 15 s if its first attempt fails. */
function withoutPauses(pusher: PusherJs): void {
  const connection = pusher.connection as unknown as { retryIn(delayMs: number): void };
  const { retryIn } = connection;
  connection.retryIn = (delayMs) => retryIn.call(connection, Math.min(delayMs, 10));
}
