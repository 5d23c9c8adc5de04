import { CryptoHasher } from 'bun';
import type { App } from '../../channels/app.ts';
import type { PushInstance } from '../../push/model/instance.ts';
import { beamsHeaders } from '../../push/webhooks/beams-webhook.ts';
import { nameWebhooks } from '../../push/webhooks/named-webhooks.ts';
import { publishWebhookHeaders } from '../../push/webhooks/publish-webhook.ts';
import type { OutboxRequest } from '../outbox.ts';
import { endpointOf } from './endpoint.ts';

export type Signed =
  | { readonly ok: true; readonly headers: Readonly<Record<string, string>> }
  /** Why it can never be sent, for the operator. */
  | { readonly ok: false; readonly reason: string };

/** The current apps and instances. */
export interface WebhookOwners {
  readonly app: (id: string) => App | undefined;
  readonly instance: (id: string) => Pick<PushInstance, 'id' | 'webhooks'> | undefined;
}

/** The headers of a request. Secrets are looked up each time, and never stored with the request. */
export function sign(
  { id, kind, ownerId, url, endpoint }: OutboxRequest,
  body: string,
  { app, instance }: WebhookOwners,
): Signed {
  switch (kind) {
    case 'channels':
      return signForApp(app(ownerId), url, body);
    case 'push':
      return signForInstance(instance(ownerId), { id, endpoint }, body);
    case 'publish':
      return instance(ownerId) === undefined
        ? { ok: false, reason: 'The instance was deleted' }
        : { ok: true, headers: publishWebhookHeaders(ownerId, body) };
    default:
      return kind satisfies never;
  }
}

/**
 * The headers of an app's webhook. Uses the app's current keys, which may have been rotated since the event. The content
 * type has no parameters, because official libraries compare the whole value.
 * Source: Channels docs, "Webhooks", "Security".
 */
export function signForApp(app: App | undefined, url: string, body: string): Signed {
  if (app === undefined) return { ok: false, reason: 'The app was deleted' };
  if (!app.webhooks.some((webhook) => webhook.url === url)) {
    return { ok: false, reason: 'The app no longer has this webhook' };
  }
  const [oldest] = app.keys;
  if (oldest === undefined) return { ok: false, reason: 'The app has no key to sign with' };
  return {
    ok: true,
    headers: {
      'content-type': 'application/json',
      // Backends recognise the hosted service's requests by it.
      'user-agent': 'pusher-webhooks',
      'x-pusher-key': oldest.key,
      'x-pusher-signature': new CryptoHasher('sha256', oldest.secret).update(body).digest('hex'),
    },
  };
}

/** Uses the webhook's current secret. Several webhooks may have one URL, so the endpoint identifies it. */
function signForInstance(
  instance: ReturnType<WebhookOwners['instance']>,
  request: Pick<OutboxRequest, 'id' | 'endpoint'>,
  body: string,
): Signed {
  if (instance === undefined) return { ok: false, reason: 'The instance was deleted' };
  const webhook = nameWebhooks(instance.id, instance.webhooks).find(
    ({ id }) => endpointOf('push', instance.id, id) === request.endpoint,
  );
  return webhook === undefined
    ? { ok: false, reason: 'The instance no longer has this webhook' }
    : { ok: true, headers: beamsHeaders(webhook, request.id, body) };
}
