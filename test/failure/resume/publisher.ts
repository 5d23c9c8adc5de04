import type Pusher from 'pusher';
import { recordOf } from '../../../src/doctor/client/client-messages.ts';
import type { Random } from '../../../testing/random.ts';
import type { AppBackend } from '../../../testing/servers/app-backend.ts';
import type { TestHistory } from '../../../testing/verify/test-history.ts';

interface PublisherOptions {
  readonly history: TestHistory;
  readonly backend: Pick<AppBackend, 'library'>;
  readonly random: Random;
  readonly channels: readonly string[];
  /** The socket of a client, whose events exclude it. */
  readonly someSocket: () => string | undefined;
}

/** The pause after a request that was not accepted: the server may be starting. Milliseconds. */
const PAUSE_MS = 20;

/** Sends events as a backend does with the library of Pusher, one request at a time. */
export class Publisher {
  /** Requests that were not answered. */
  uncertain = 0;
  private readonly options: PublisherOptions;
  /** By channel, the events that were answered with 200. */
  private readonly sent = new Map<string, string[]>();
  private events = 0;
  private batches = 0;

  constructor(options: PublisherOptions) {
    this.options = options;
    for (const channel of options.channels) this.sent.set(channel, []);
  }

  /** Sends a request with one event or several, at random. */
  async sendSome(): Promise<void> {
    const { random, channels, someSocket } = this.options;
    const count = random.pick([1, 1, 1, 3, 10]);
    const chosen = Array.from({ length: count }, () => random.pick(channels));
    await this.send(chosen, random.chance(0.3) ? someSocket() : undefined);
  }

  /** Sends one event to each channel, to everybody. */
  async sendToAll(): Promise<void> {
    while (!(await this.send(this.options.channels, undefined)));
  }

  /** How many events of a channel come after one. */
  after(channel: string, e: string | undefined): number {
    const all = this.sent.get(channel) ?? [];
    const at = e === undefined ? -1 : all.lastIndexOf(e);
    // One that was not answered has no place.
    return at < 0 && e !== undefined ? 0 : all.length - 1 - at;
  }

  private async send(channels: readonly string[], except: string | undefined): Promise<boolean> {
    const { history } = this.options;
    const excluded = except === undefined ? {} : { except };
    const batch = channels.length === 1 ? {} : { batch: ++this.batches };
    const events = channels.map((channel) => ({ channel, e: String(++this.events) }));
    for (const { channel, e } of events) {
      history.add('trigger', { e, ch: [channel], ...excluded, ...batch });
    }
    const socket = except === undefined ? {} : { socket_id: except };
    const { status, ids } = await this.post(
      events.map(({ channel, e }) => ({ name: 'e', channel, data: { e }, ...socket })),
    );
    for (const [at, { channel, e }] of events.entries()) {
      const id = ids[at];
      history.add('answer', { e, status, ...(id === undefined ? {} : { ids: { [channel]: id } }) });
      if (status === 200) this.sent.get(channel)?.push(e);
    }
    if (status === 0) this.uncertain++;
    if (status !== 200) await Bun.sleep(PAUSE_MS);
    return status === 200;
  }

  private async post(
    batch: readonly (Omit<Pusher.BatchEvent, 'data'> & { readonly data: object })[],
  ): Promise<{ readonly status: number; readonly ids: readonly (string | undefined)[] }> {
    const { library } = this.options.backend;
    const [first] = batch;
    try {
      if (first !== undefined && batch.length === 1) {
        const { channel, name, data, socket_id } = first;
        const params = socket_id === undefined ? {} : { socket_id };
        const answer = await library.trigger(channel, name, data, params);
        const ids = recordOf(recordOf(await answer.json())?.['event_ids']);
        return { status: 200, ids: [textOf(ids?.[channel])] };
      }
      const answer = await library.triggerBatch([...batch] as unknown as Pusher.BatchEvent[]);
      const all: unknown = recordOf(await answer.json())?.['batch'];
      const given: readonly unknown[] = Array.isArray(all) ? all : [];
      return { status: 200, ids: batch.map((_, at) => textOf(recordOf(given[at])?.['event_id'])) };
    } catch (error) {
      const { status = 0 } = error as Partial<Pusher.RequestError>;
      // It is stopping, or gone.
      if (status !== 0 && status !== 503) throw error;
      return { status, ids: [] };
    }
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
