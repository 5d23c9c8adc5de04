import type { App } from '../../../channels/app.ts';
import type { TableMeter } from '../../../observability/meter.ts';
import { LiveStage } from '../../../push/live/live-stage.ts';
import type { LiveStore } from '../../../push/live-store.ts';
import type { PublishUnderWay } from '../../../push/model/delivery.ts';
import type { PushInstance } from '../../../push/model/instance.ts';
import type { LiveRequest, LiveResult } from '../../../push/model/live.ts';
import { FieldFault } from '../../../push/refusal.ts';
import { withExactData } from '../../../push/requests/exact-data.ts';
import { type LiveRules, readLive } from '../../../push/requests/live.ts';
import { readTarget } from '../../../push/requests/publish-request.ts';
import { parseJsonObject } from '../../../runtime/json-object.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import type { LivePublishes } from '../../../transports/push-api/endpoints/context.ts';
import { liveRulesOf } from '../../../transports/push-api/live-rules.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';

/** The time that connections have to answer a preview. */
const PREVIEW_MS = 1_000;

export interface LivePushesOptions {
  readonly realtime: Pick<RealtimeClient, 'ask' | 'count'>;
  readonly apps: { byId(id: string): App | undefined };
  /** `undefined`: this server does not serve it. */
  readonly instance: (number: number) => PushInstance | undefined;
  readonly store: LiveStore;
  readonly meter: TableMeter;
  /** Lets planning start. */
  readonly wake: () => void;
  readonly storeFailed: (error: unknown) => void;
}

/**
 * Handles the live parts of publishes: passes them from the push API and the pipeline to the realtime loops, and
 * stores the results.
 */
export class LivePushes implements LivePublishes {
  private readonly options: LivePushesOptions;
  private readonly stage: LiveStage;
  private asked = 0;

  constructor(options: LivePushesOptions) {
    const { realtime, store, wake, storeFailed } = options;
    this.options = options;
    this.stage = new LiveStage({
      store,
      now: Date.now,
      timers: monotonicTimers,
      settled: wake,
      failed: storeFailed,
      counted: (result, users) => countUsers(options.meter, result, users),
      ask: async ({ appId, live, userIds }) => {
        const { event: name, data, channel, waitSeconds, isSent } = live;
        const waitMs = waitSeconds * 1000;
        // The loops take turns in counting the answers of a publish.
        const loop = this.asked++ % realtime.count;
        const event = { name, data, channel, userIds, waitMs, isSent };
        return await realtime.ask('ask-live', { appId, event }, loop);
      },
    });
  }

  appOf({ appId }: PushInstance): App | undefined {
    return appId === undefined ? undefined : this.options.apps.byId(appId);
  }

  /** Gives up results that could not be stored. */
  [Symbol.dispose](): void {
    this.stage.stop();
  }

  ask(publish: Parameters<LiveStage['add']>[0]): void {
    this.stage.add(publish);
  }

  rulesOf(instance: PushInstance): LiveRules | undefined {
    const app = this.appOf(instance);
    return app && liveRulesOf(app);
  }

  /** Asks the connections of users without sending them an event, for a preview. */
  async preview(
    instance: PushInstance,
    { channel }: LiveRequest,
    userIds: readonly string[],
  ): Promise<LiveResult | undefined> {
    const { appId } = instance;
    if (appId === undefined) return undefined;
    const event = { name: '', data: '', channel, userIds, waitMs: PREVIEW_MS, isSent: true };
    return await this.options.realtime.ask('ask-live', { appId, event });
  }

  /** Called when a scheduled publish is due. */
  due({ id, instance, kind, body }: PublishUnderWay): void {
    const served = this.options.instance(instance);
    const app = served && this.appOf(served);
    const fields = withExactData(parseJsonObject(body) ?? {}, body);
    const target = readTarget(kind, fields);
    const read = readLive(kind, fields['live'], app && liveRulesOf(app));
    const isRefused = target instanceof FieldFault || read instanceof FieldFault;
    if (isRefused || app === undefined || read.live === undefined) {
      const userIds = target instanceof FieldFault ? [] : target.names;
      this.stage.skip({ id, instance, userIds }, 'not-allowed');
      return;
    }
    this.stage.add({ id, instance, appId: app.id, live: read.live, userIds: target.names });
  }
}

function countUsers(meter: TableMeter, result: LiveResult, users: number): void {
  if ('skipped' in result) {
    meter.count('liveUsers', users, 'skipped');
    return;
  }
  for (const { state, answeredAfterMs } of result.users) {
    meter.count('liveUsers', 1, state);
    if (answeredAfterMs !== undefined) meter.observe('liveAnswers', answeredAfterMs / 1000);
  }
}
