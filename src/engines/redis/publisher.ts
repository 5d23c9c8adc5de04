import type { App } from '../../channels/app.ts';
import type { Append, AppendOutcome } from '../../channels/appending/append.ts';
import type { ChannelName } from '../../channels/channel-name.ts';
import { EngineUnavailable } from '../../channels/engine-failure.ts';
import { CACHE_TTL_MS } from '../../channels/event.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import type { Publication } from '../../channels/ports.ts';
import type { Timers } from '../../runtime/ports.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { HistoryMeter } from '../history/histories.ts';
import { PARTITIONS } from '../partition.ts';
import { REMEMBERED_MAX } from '../remembered.ts';
import { appendInRedis, readAppended } from './append.ts';
import { countForgotten } from './history/count-forgotten.ts';
import { historyToKeep } from './history/kept-history.ts';
import type { Reply } from './link/reply.ts';
import type { RedisScript } from './link/script.ts';
import type { Partition } from './partition.ts';
import { PUBLISH } from './scripts/events.ts';
import { APPEND, STOP } from './scripts/values.ts';
import { eventText } from './topics/stream-message.ts';

export interface PublisherOptions {
  readonly timers: Timers;
  readonly meter: EngineMeter & HistoryMeter;
  /** The limit of all histories on all servers. Bytes. */
  readonly historyBytes: number;
}

/** How long a publish or a termination waits for Redis. */
const WAIT_MS = 2000;
/** The limit of publishes that wait for Redis; more are refused immediately. */
const WAITING_MAX = 10_000;
/** How long events of cache channels are kept, and the limits per partition: a share of 100,000 events and 128 MB. */
const CACHED_MAX = [
  CACHE_TTL_MS,
  Math.ceil(REMEMBERED_MAX.items / PARTITIONS),
  REMEMBERED_MAX.cachedCharacters / PARTITIONS,
];

/** In place of what is remembered of an event. */
const NOT_CACHED = ['', '', '', '', '', ''];

/** Makes calls that must run once, as soon as Redis can be reached. None is repeated, because possibly only its reply was lost. */
export class Publisher {
  private readonly options: PublisherOptions;
  private waiting = 0;

  constructor(options: PublisherOptions) {
    this.options = options;
  }

  /** See `Authority.publish`. */
  async publish(partition: Partition, publication: Publication): Promise<EventId | undefined> {
    const { app, channel, makeFrame, remember, idempotencyKey = '', sentTo, stops } = publication;
    const topic = `${app.id}/${channel}`;
    const message = eventText(makeFrame(), publication);
    const history = historyToKeep(publication, this.options.historyBytes);
    const isPlain =
      history === '' && idempotencyKey === '' && remember === undefined && stops === undefined;
    try {
      if (isPlain && sentTo === undefined) {
        if (!partition.isReady) await this.untilReady(partition);
        await partition.outbox.add(partition, { appId: app.id, topic, message });
        return undefined;
      }
      const cached =
        remember === undefined ? [] : [app.id, remember.name, remember.data, ...CACHED_MAX];
      const stop = stops === undefined ? [] : [...(remember ? [] : NOT_CACHED), stops];
      const args = [topic, message, history, idempotencyKey, ...cached, ...stop];
      const [id, forgotten, loops] = await this.callSoon(app, partition, PUBLISH, args);
      sentTo?.(Number(loops));
      if (history === '') return undefined;
      countForgotten(this.options.meter, forgotten);
      return id === '' ? undefined : (id as EventId);
    } catch (error) {
      this.options.meter.count('enginePublishesRefused');
      throw error;
    }
  }

  /** See `Authority.append`. */
  async append(partition: Partition, append: Append): Promise<AppendOutcome> {
    const { meter, historyBytes } = this.options;
    try {
      return await appendInRedis(append, {
        run: (args) => this.callSoon(append.app, partition, APPEND, args),
        cachedMax: CACHED_MAX,
        historyBytes,
        onForgotten: (forgotten) => countForgotten(meter, forgotten),
      });
    } catch (error) {
      meter.count('enginePublishesRefused');
      throw error;
    }
  }

  /** See `Authority.stopValue`. */
  async stop(
    partition: Partition,
    app: App,
    { text }: ChannelName,
    id: string,
  ): Promise<AppendOutcome> {
    const [result, ...rest] = await this.callSoon(app, partition, STOP, [`${app.id}/${text}`, id]);
    return readAppended(result, rest);
  }

  /** Runs a script about a topic of an app, after the events of the app. */
  async callSoon(
    app: App,
    partition: Partition,
    script: RedisScript,
    args: readonly (string | number)[],
  ): Promise<readonly Reply[]> {
    if (!partition.isReady) await this.untilReady(partition);
    partition.outbox.sendBefore(partition, app.id);
    return await partition.call(script, args);
  }

  private async untilReady(partition: Partition): Promise<void> {
    if (this.waiting >= WAITING_MAX) throw new EngineUnavailable('Redis is away');
    this.waiting++;
    try {
      await partition.whenReady(this.options.timers.now() + WAIT_MS);
    } finally {
      this.waiting--;
    }
  }
}
