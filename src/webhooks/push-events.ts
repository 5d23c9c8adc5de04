import type { BeamsEventType, InstanceWebhook } from '../push/model/instance.ts';
import {
  type BeamsEvent,
  beamsBody,
  reportTypes,
  type UserReport,
  userReportEvent,
  usersAttemptEvent,
} from '../push/webhooks/beams-webhook.ts';
import { nameWebhooks } from '../push/webhooks/named-webhooks.ts';
import { finishedBody, publishWebhookUrl, startedBody } from '../push/webhooks/publish-webhook.ts';
import { requestId } from '../push/webhooks/request-id.ts';
import type {
  AttemptedPublish,
  FinishedPublish,
  PushWebhookSink,
  StartedPublish,
} from '../push/webhooks/sink.ts';
import { endpointOf } from './sending/endpoint.ts';
import type { Webhooks } from './webhooks.ts';

export interface PushWebhooksOptions {
  readonly instances: {
    byId(id: string): { readonly webhooks: readonly InstanceWebhook[] } | undefined;
  };
  readonly webhooks: Pick<Webhooks, 'send'>;
  readonly now: () => number;
}

/** Makes webhook requests of events of push, and puts them into the outbox. */
export class PushWebhooks implements PushWebhookSink {
  private readonly options: PushWebhooksOptions;

  constructor(options: PushWebhooksOptions) {
    this.options = options;
  }

  async publishStarted(instanceId: string, { id, body, atMs }: StartedPublish): Promise<void> {
    const url = publishWebhookUrl(body);
    if (url === undefined) return;
    await this.options.webhooks.send({
      ...publishRequest(instanceId, url),
      id: requestId(atMs, instanceId, ['publish', id, 'STARTED', url]),
      events: 'STARTED',
      body: startedBody(id, body),
    });
  }

  async publishFinished(
    instanceId: string,
    { id, body, atMs, startedAtMs, counts, live }: FinishedPublish,
  ): Promise<void> {
    const url = publishWebhookUrl(body);
    if (url === undefined) return;
    await this.options.webhooks.send({
      ...publishRequest(instanceId, url),
      id: requestId(atMs, instanceId, ['publish', id, 'FINISHED', url]),
      afterId: requestId(startedAtMs, instanceId, ['publish', id, 'STARTED', url]),
      events: 'FINISHED',
      body: finishedBody(id, body, { platforms: counts, live }),
    });
  }

  async usersAttempted(
    instanceId: string,
    { id, atMs, ...users }: AttemptedPublish,
  ): Promise<void> {
    if (!this.wants(instanceId, 'v1.PublishToUsersAttempt')) return;
    await this.sendEvent(instanceId, usersAttemptEvent(instanceId, id, users), atMs);
  }

  reported(instanceId: string, report: UserReport): void {
    if (!this.wants(instanceId, reportTypes[report.event])) return;
    void this.sendEvent(instanceId, userReportEvent(instanceId, report), undefined);
  }

  wants(instanceId: string, type: BeamsEventType): boolean {
    return this.webhooksOf(instanceId).some(({ events }) => events.includes(type));
  }

  /** `atMs`: when the event happened, for events that may be sent twice; their requests have the same id each time. */
  private async sendEvent(
    instanceId: string,
    event: BeamsEvent,
    atMs: number | undefined,
  ): Promise<void> {
    const nowMs = this.options.now();
    const webhooks = nameWebhooks(instanceId, this.webhooksOf(instanceId));
    await Promise.all(
      webhooks
        .filter(({ events }) => events.includes(event.type))
        .map(({ id, url, customData }) =>
          this.options.webhooks.send({
            id: atMs === undefined ? undefined : requestId(atMs, instanceId, [event.id, id]),
            kind: 'push',
            ownerId: instanceId,
            url,
            endpoint: endpointOf('push', instanceId, id),
            events: event.type,
            body: beamsBody(event, customData, nowMs),
          }),
        ),
    );
  }

  private webhooksOf(instanceId: string): readonly InstanceWebhook[] {
    return this.options.instances.byId(instanceId)?.webhooks ?? [];
  }
}

/** The fields that all requests to this URL of a publish share. */
function publishRequest(instanceId: string, url: string) {
  const endpoint = endpointOf('publish', instanceId, new URL(url).origin);
  return { kind: 'publish', ownerId: instanceId, url, endpoint } as const;
}
