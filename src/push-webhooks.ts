import type { BeamsEventType, InstanceWebhook } from './push/instance.ts';
import type { PublishId, PublishStatus } from './push/publish.ts';
import {
  type BeamsEvent,
  beamsBody,
  reportTypes,
  type UserReport,
  type UsersAttempted,
  userReportEvent,
  usersAttemptEvent,
} from './push/webhooks/beams-webhook.ts';
import { nameWebhooks } from './push/webhooks/named-webhooks.ts';
import { finishedBody, publishWebhookUrl, startedBody } from './push/webhooks/publish-webhook.ts';
import type { PushWebhookSink } from './push/webhooks/sink.ts';
import { endpointOf } from './webhooks/endpoint.ts';
import type { Webhooks } from './webhooks/webhooks.ts';

export interface PushWebhooksOptions {
  readonly instances: {
    byId(id: string): { readonly webhooks: readonly InstanceWebhook[] } | undefined;
  };
  readonly webhooks: Pick<Webhooks, 'send'>;
  readonly now: () => number;
}

/** Makes of what happens on the push side the requests that tell of it, and puts them into the outbox. */
export class PushWebhooks implements PushWebhookSink {
  private readonly options: PushWebhooksOptions;

  constructor(options: PushWebhooksOptions) {
    this.options = options;
  }

  publishStarted(instanceId: string, publishId: PublishId, body: string): void {
    const url = publishWebhookUrl(body);
    if (url !== undefined) this.tellPublish(instanceId, url, startedBody(publishId, body));
  }

  publishFinished(
    instanceId: string,
    publishId: PublishId,
    body: string,
    counts: PublishStatus['platforms'],
  ): void {
    const url = publishWebhookUrl(body);
    if (url === undefined) return;
    this.tellPublish(instanceId, url, finishedBody(publishId, body, counts));
  }

  usersAttempted(instanceId: string, publishId: PublishId, users: UsersAttempted): void {
    if (!this.wants(instanceId, 'v1.PublishToUsersAttempt')) return;
    this.tell(instanceId, usersAttemptEvent(instanceId, publishId, users));
  }

  reported(instanceId: string, report: UserReport): void {
    if (!this.wants(instanceId, reportTypes[report.event])) return;
    this.tell(instanceId, userReportEvent(instanceId, report));
  }

  wants(instanceId: string, type: BeamsEventType): boolean {
    return this.webhooksOf(instanceId).some(({ events }) => events.includes(type));
  }

  private tell(instanceId: string, event: BeamsEvent): void {
    const nowMs = this.options.now();
    for (const { id, url, events, customData } of nameWebhooks(
      instanceId,
      this.webhooksOf(instanceId),
    )) {
      if (!events.includes(event.type)) continue;
      this.options.webhooks.send({
        kind: 'push',
        ownerId: instanceId,
        url,
        endpoint: endpointOf('push', instanceId, id),
        body: beamsBody(event, customData, nowMs),
      });
    }
  }

  private tellPublish(instanceId: string, url: string, body: string): void {
    const endpoint = endpointOf('publish', instanceId, new URL(url).origin);
    this.options.webhooks.send({ kind: 'publish', ownerId: instanceId, url, endpoint, body });
  }

  private webhooksOf(instanceId: string): readonly InstanceWebhook[] {
    return this.options.instances.byId(instanceId)?.webhooks ?? [];
  }
}
