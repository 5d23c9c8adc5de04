import type { Log } from './channels/ports.ts';
import type { PublishEvents } from './push/delivering/ports.ts';
import { readStoredPublish } from './push/delivering/stored-publish.ts';
import type { PublishUnderWay } from './push/delivery.ts';
import type { DeliveryStore } from './push/delivery-store.ts';
import type { PublishStore } from './push/ports.ts';
import type { PushWebhookSink } from './push/webhooks/sink.ts';

export interface PublishNewsOptions {
  readonly publishes: Pick<PublishStore, 'status'>;
  readonly deliveries: Pick<DeliveryStore, 'usersReached'>;
  readonly sink: PushWebhookSink;
  /** The id of an instance, by its number; `undefined`: it is not served any more. */
  readonly instanceId: (instance: number) => string | undefined;
  readonly log: Log;
}

/** Tells the webhooks of publishes and of instances how a publish comes on. */
export function publishNews(options: PublishNewsOptions): PublishEvents {
  const { sink, instanceId, log } = options;
  return {
    started({ instance, id, body }) {
      const owner = instanceId(instance);
      if (owner !== undefined) sink.publishStarted(owner, id, body);
    },
    finished(publish) {
      const owner = instanceId(publish.instance);
      if (owner === undefined) return;
      tellFinished(options, owner, publish).catch((error: unknown) => {
        log.error('The end of a publish could not be told to its webhooks', {
          publish: publish.id,
          why: error instanceof Error ? error.message : String(error),
        });
      });
    },
  };
}

async function tellFinished(
  { publishes, deliveries, sink }: PublishNewsOptions,
  owner: string,
  publish: PublishUnderWay,
): Promise<void> {
  const { id, instance, number, kind, body, dueAtMs } = publish;
  const status = await publishes.status(instance, id, dueAtMs);
  if (status !== undefined) sink.publishFinished(owner, id, body, status.platforms);
  if (kind !== 'users' || !sink.wants(owner, 'v1.PublishToUsersAttempt')) return;
  const { delivered, failed } = await deliveries.usersReached(number);
  const known = new Set([...delivered, ...failed]);
  const names = readStoredPublish(publish)?.target.names ?? [];
  sink.usersAttempted(owner, id, {
    delivered,
    gatewayFailed: failed,
    noDevices: names.filter((name) => !known.has(name)),
  });
}
