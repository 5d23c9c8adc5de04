import PusherJs, { type Options } from 'pusher-js';
import FanfareJs from '../../../sdk/fanfare-js/src/entries/node.ts';
import { resume } from '../../../sdk/resume/index.js';
import { optionsFor } from '../../../testing/clients/official-client.ts';
import type { AppBackend } from '../../../testing/servers/app-backend.ts';
import { APP } from '../../../testing/servers/fanfare.ts';
import { NotedPusher } from '../../../testing/verify/noted-pusher.ts';
import type { TestHistory } from '../../../testing/verify/test-history.ts';

interface ListenerOptions {
  readonly history: TestHistory;
  /** From 1 on. */
  readonly number: number;
  readonly port: number;
  readonly backend: Pick<AppBackend, 'library'>;
  readonly channels: readonly string[];
  readonly transports: Options['enabledTransports'];
}

/** Every second one is `fanfare-js`, which resumes by itself, the others are pusher-js with the plugin. */
export class Listener implements Disposable {
  readonly pusher: PusherJs;
  readonly noted: NotedPusher;
  /** How often more was missed than the server keeps. */
  gaps = 0;
  /** Events that its handlers got. */
  count = 0;
  /** By channel, the last of these. */
  private readonly latest = new Map<string, string>();
  private readonly channels: readonly string[];

  constructor(options: ListenerOptions) {
    const { history, number, port, backend, channels, transports } = options;
    const user = `user-${number}`;
    this.channels = channels;
    const Client = number % 2 === 0 ? (FanfareJs as unknown as typeof PusherJs) : PusherJs;
    this.pusher = new Client(APP.key, {
      ...optionsFor({ port }, { enabledTransports: transports }),
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
    this.noted = new NotedPusher(history, number, user);
    this.noted.onEvent = (channel, e) => {
      this.count++;
      this.latest.set(channel, e);
    };
    this.noted.note(this.pusher);
    resume(this.pusher, {
      onGap: () => {
        this.gaps++;
      },
    });
    for (const name of channels) this.noted.subscribe(this.pusher, name);
  }

  /** Whether all channels are confirmed. */
  get isIn(): boolean {
    return this.channels.every((name) => this.pusher.channel(name)?.subscribed === true);
  }

  get socketId(): string | undefined {
    return this.pusher.connection.socket_id as string | undefined;
  }

  /** The last event that it has of a channel. */
  last(channel: string): string | undefined {
    return this.latest.get(channel);
  }

  [Symbol.dispose](): void {
    this.pusher.disconnect();
  }
}

/** pusher-js waits for one second after a cut, and for 15 s if its first attempt fails. */
function withoutPauses(pusher: PusherJs): void {
  const connection = pusher.connection as unknown as { retryIn(delayMs: number): void };
  const { retryIn } = connection;
  connection.retryIn = (delayMs) => retryIn.call(connection, Math.min(delayMs, 10));
}
