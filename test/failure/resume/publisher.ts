import type Pusher from 'pusher';
import type { Random } from '../../../testing/random.ts';
import type { AppBackend } from '../../../testing/servers/app-backend.ts';

/** The outcome of an event: a request that broke may have been accepted or not. */
type Fate = 'accepted' | 'uncertain';

/** An event that was sent for a channel, in the order of its channel. */
export interface SentEvent {
  readonly fate: Fate;
  /** The socket that must not get it. */
  readonly except: string | undefined;
  /** Whether the client of that socket had no other one when the answer came. */
  readonly wasCurrent: boolean;
}

interface PublisherOptions {
  readonly backend: Pick<AppBackend, 'library'>;
  readonly random: Random;
  readonly channels: readonly string[];
  /** A client whose events exclude its own socket. */
  readonly someSocket: () => Excluded;
}

export interface Excluded {
  readonly socketId: string | undefined;
  /** Whether the client still has no other socket. */
  readonly isCurrent: () => boolean;
}

/** Sends events for channels, one request at a time, so that the order of each channel is known. Their data is their number, after a letter. */
export class Publisher {
  /** By channel; the number of an event is its place in here. */
  readonly sent = new Map<string, SentEvent[]>();
  /** Requests that broke without an answer. */
  uncertain = 0;
  private readonly options: PublisherOptions;

  constructor(options: PublisherOptions) {
    this.options = options;
    for (const channel of options.channels) this.sent.set(channel, []);
  }

  /** The events of all channels. */
  get count(): number {
    return this.sent.values().reduce((sum, events) => sum + events.length, 0);
  }

  /** Sends a request with one event or several, at random. */
  async sendSome(): Promise<void> {
    const { random, channels } = this.options;
    const events = Array.from({ length: random.pick([1, 1, 1, 3, 10]) }, () =>
      random.pick(channels),
    );
    const excluded = random.chance(0.3) ? this.options.someSocket() : undefined;
    await this.send(events, excluded);
  }

  /** Sends one event to each channel, to everybody. */
  async sendToAll(): Promise<void> {
    await this.send(this.options.channels, undefined);
  }

  private async send(channels: readonly string[], excluded: Excluded | undefined): Promise<void> {
    const except = excluded?.socketId;
    const counts = new Map<string, number>();
    const batch = channels.map((channel) => {
      const number = (this.sent.get(channel)?.length ?? 0) + (counts.get(channel) ?? 0);
      counts.set(channel, (counts.get(channel) ?? 0) + 1);
      return {
        name: 'e',
        channel,
        data: `n${number}`,
        ...(except === undefined ? {} : { socket_id: except }),
      };
    });
    const fate = await this.post(batch);
    const wasCurrent = excluded?.isCurrent() ?? false;
    for (const channel of channels) this.sent.get(channel)?.push({ fate, except, wasCurrent });
  }

  /** Repeats a request until a server has accepted it, or may have. */
  private async post(batch: readonly Pusher.BatchEvent[]): Promise<Fate> {
    const { library } = this.options.backend;
    const [first] = batch;
    for (;;) {
      try {
        if (first !== undefined && batch.length === 1) {
          const { channel, name, data, socket_id } = first;
          await library.trigger(channel, name, data, socket_id === undefined ? {} : { socket_id });
        } else await library.triggerBatch([...batch]);
        return 'accepted';
      } catch (error) {
        const { status, error: cause } = error as Pusher.RequestError;
        if (status !== undefined && status !== 503) throw error;
        // Nobody listens: the server is starting.
        if (status === undefined && !String(cause).includes('ECONNREFUSED')) {
          this.uncertain++;
          return 'uncertain';
        }
      }
      await Bun.sleep(20);
    }
  }
}
