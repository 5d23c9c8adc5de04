import type { Hub } from '../../channels/hub.ts';
import type { AppDirectory, ConnectionQuota } from '../../channels/ports.ts';
import type { Clock } from '../../runtime/ports.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { BodyIntake } from '../body-intake.ts';
import { ChannelsApi } from '../channels-api/api.ts';
import { UnreadAnswers } from '../unread-answers.ts';
import { Clients } from './clients.ts';
import { ClientConnections } from './connections.ts';
import { SlowConsumers } from './frames/slow-consumers.ts';

export interface StageOptions {
  readonly hub: Hub;
  readonly apps: AppDirectory;
  /** Every app has room, unless it is given. */
  readonly quota?: ConnectionQuota;
  readonly monotonic?: Clock;
  /** 0: no limit. */
  readonly framesPerSecond?: number;
}

/** What serves clients and backends of a loop, without limits and without listeners. */
export function stageOf(options: StageOptions) {
  const { hub, apps, quota, monotonic = monotonicTimers, framesPerSecond = 0 } = options;
  const meter = { count: () => undefined };
  const connections = new ClientConnections();
  const clients = new Clients({
    hub,
    connections,
    quota: quota ?? { take: () => true, release: () => undefined },
    slowConsumers: new SlowConsumers({
      connections,
      bytesMax: 1_000_000,
      totalBytesMax: 1_000_000,
      end: () => undefined,
    }),
    settings: {
      framesPerSecond,
      addressLimits: { connectionsPerSecond: 0, framesPerSecond: 0 },
      sendBufferBytes: 1_000_000,
      authorizationTimeoutSeconds: 60,
      activityTimeoutSeconds: 120,
      pongTimeoutSeconds: 30,
    },
    monotonic,
    meter,
  });
  const bodies = new BodyIntake(
    { requestBytes: 100_000, unfinishedBytes: 1_000_000, bodyBytesPerSecond: 0 },
    monotonic,
  );
  const unread = new UnreadAnswers({
    bytesMax: 1_000_000,
    clock: monotonic,
    onBroken: () => undefined,
  });
  const api = new ChannelsApi({ hub, apps, pathPrefix: '', bodies, unread, meter });
  return { connections, clients, api, meter };
}
