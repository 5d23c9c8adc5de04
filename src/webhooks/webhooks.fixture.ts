import type { App, AppWebhook } from '../channels/app.ts';
import type { AppWebhookEvent } from '../channels/lifecycle/webhook-event.ts';
import type { OutgoingAnswer, OutgoingRequest } from '../outgoing/request.ts';
import type { Log } from '../runtime/ports.ts';

/** An app of which only the webhooks matter. */
export function appOf(id: string, webhooks: readonly AppWebhook[]): App {
  return {
    id,
    name: id,
    enabled: true,
    keys: [{ key: `${id}-key`, secret: `${id}-secret` }],
    clientEvents: false,
    subscriptionCounts: false,
    watchlists: false,
    offlineSeconds: 3,
    authorizedConnectionsOnly: false,
    allowedOrigins: [],
    compressAboveBytes: 0,
    limits: {
      connections: 0,
      connectionsPerUser: 0,
      messagesPerDay: 0,
      eventDataBytes: 10_240,
      channelsPerTrigger: 100,
      eventsPerBatch: 10,
      presenceMembers: 100,
      clientEventsPerSecond: 10,
      channelsPerConnection: 0,
      subscriptionsPerSecond: 0,
      memberChangesPerSecond: 0,
      triggersPerSecond: 0,
      queriesPerSecond: 0,
      historyBytes: 0,
      appendBytes: 262_144,
    },
    history: [],
    presence: [],
    pushRules: [],
    webhooks,
  };
}

/** An endpoint that wants to know of occupied channels. */
export function webhookTo(url: string, batching = false): AppWebhook {
  return { url, events: ['channel_occupied'], batching };
}

export function occupied(appId: string, channel: string, atMs: number): AppWebhookEvent {
  return { appId, event: { name: 'channel_occupied', channel }, atMs };
}

/** A log that keeps its lines. */
export function keptLog(): Log & { readonly lines: string[] } {
  const lines: string[] = [];
  const keep =
    (level: string) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
      void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  return {
    lines,
    debug: () => undefined,
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
  };
}

export const answered = (status: number, body = ''): OutgoingAnswer => ({
  result: 'answered',
  status,
  headers: new Headers(),
  body: Buffer.from(body),
});

/** Never answers, but notices when the server gives up. */
export const hang = ({ signal }: OutgoingRequest) =>
  new Promise<OutgoingAnswer>((resolve) =>
    signal?.addEventListener('abort', () => resolve({ result: 'unreachable', why: 'aborted' })),
  );

export const channelOf = ({ body }: OutgoingRequest) => JSON.parse(String(body)).events[0].channel;
