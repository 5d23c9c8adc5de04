import { after, type MaybePromise, mapAll } from '../../channels/maybe-promise.ts';
import type { Authority } from '../../channels/ports.ts';
import type { Usage } from '../../channels/usage.ts';
import type { EngineFigures } from '../../engines/engine-meter.ts';
import type { LoopDelay } from '../../observability/loop-delay.ts';
import type { MetricValues, TableMeter } from '../../observability/meter.ts';
import type { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import type { Connections } from '../../transports/clients/connections.ts';
import type { Question, Questions } from '../link/messages.ts';
import type { ChannelCounter } from './engine.ts';

export interface FiguresOptions {
  /** The label of this loop in metrics. */
  readonly loopName: string;
  readonly apps: MemoryAppDirectory;
  readonly connections: Connections;
  readonly authority: Authority;
  readonly counter: ChannelCounter;
  readonly engineFigures: () => EngineFigures;
  readonly usage: Usage;
  readonly meter: TableMeter;
  readonly loopDelay: LoopDelay;
  /** Log lines that were dropped so far. */
  readonly logLinesDropped: () => number;
}

/** Answers the questions of the background loop about this one. */
export class Figures {
  private readonly options: FiguresOptions;

  constructor(options: FiguresOptions) {
    this.options = options;
  }

  answer(question: Question): MaybePromise<Questions[Question['what']]['answer']> {
    switch (question.what) {
      case 'metrics':
        return this.metrics();
      case 'live-apps':
        return this.liveApps();
      case 'live-channels':
        return this.liveChannels(question);
      case 'ping':
        return 'pong';
      default:
        return question satisfies never;
    }
  }

  private metrics(): MetricValues {
    const { loopName, meter, connections, counter, loopDelay, logLinesDropped, engineFigures } =
      this.options;
    meter.set('connections', connections.size);
    meter.set('channels', counter.channelCount());
    meter.set('loopDelay', loopDelay.longestSeconds(), loopName);
    meter.set('logLinesDropped', logLinesDropped(), loopName);
    const { waiting, awaySeconds } = engineFigures();
    meter.set('engineUp', awaySeconds === 0 ? 1 : 0, loopName);
    meter.set('engineAway', awaySeconds, loopName);
    meter.set('engineWaiting', waiting);
    return meter.snapshot();
  }

  private liveApps(): MaybePromise<Questions['live-apps']['answer']> {
    const { apps, connections, counter, usage } = this.options;
    return mapAll([...apps.all()], (app) =>
      after(counter.channelCountOf(app), (channels) => {
        const { backend, clients } = usage.todayOf(app);
        return {
          appId: app.id,
          connections: connections.openOf(app),
          channels,
          messages: backend + clients,
          clientMessages: clients,
        };
      }),
    );
  }

  private liveChannels({
    appId,
    limit,
    ...query
  }: Questions['live-channels']['ask']): MaybePromise<Questions['live-channels']['answer']> {
    const app = this.options.apps.byId(appId);
    if (app === undefined) return { channels: [], next: undefined };
    const page = this.options.authority.channels(app, query).page(limit);
    return after(page, ({ channels, next }) => ({
      channels: channels.map(([name, { subscriptions, users }]) => ({
        name,
        subscriptions,
        users,
      })),
      next,
    }));
  }
}
