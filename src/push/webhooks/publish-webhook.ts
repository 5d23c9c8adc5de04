import { isGiven, isJsonObject, parseJsonObject } from '../../runtime/json-object.ts';
import { redactedUrl } from '../../runtime/logging/redact.ts';
import { platforms } from '../model/device.ts';
import type { PublishId, PublishStatus } from '../model/publish.ts';
import { liveStatusJson } from '../status/publish-status.ts';
import { nameUuid } from './name-uuid.ts';

/**
 * The webhook that a publish names itself. User name and password of its URL are stored only in the body of the publish,
 * which is sent unchanged. They are read from there for each request.
 */

/** The URL of a publish's own webhook, without user name and password; `undefined`: it has none. */
export function publishWebhookUrl(requestBody: string): string | undefined {
  // Most publishes have none. A key without a backslash is literally in the text.
  if (!requestBody.includes('webhookUrl') && !requestBody.includes('\\')) return undefined;
  const url = webhookUrlOf(parseJsonObject(requestBody));
  return url && withoutCredentials(url).href;
}

/** The body of the request when a publish starts to be sent. */
export function startedBody(publishId: PublishId, requestBody: string): string {
  return `{"publishId":${JSON.stringify(publishId)},"status":"STARTED","requestBody":${requestBody}}`;
}

/** The body of the request when a publish is finished, with the counts of each platform with a payload. */
export function finishedBody(
  publishId: PublishId,
  requestBody: string,
  { platforms: counts, live }: Pick<PublishStatus, 'platforms' | 'live'>,
): string {
  const request = parseJsonObject(requestBody) ?? {};
  const results = Object.fromEntries(
    platforms
      .filter((platform) => isGiven(request[platform]))
      .map((platform) => {
        const { accepted, failed, pruned, expired, cancelled } = counts[platform];
        const numFailedPublishes = failed + pruned + expired + cancelled;
        return [platform, { numSuccessfulPublishes: accepted, numFailedPublishes }];
      }),
  );
  const inApp = live === undefined ? '' : `,"live":${JSON.stringify(liveStatusJson(live))}`;
  return `{"publishId":${JSON.stringify(publishId)},"status":"FINISHED","requestBody":${requestBody},"results":${JSON.stringify(results)}${inApp}}`;
}

/** The headers of a request with one of these bodies. The request id is derived from the event. */
export function publishWebhookHeaders(
  instanceId: string,
  body: string,
): Readonly<Record<string, string>> {
  const event = parseJsonObject(body) ?? {};
  const url = webhookUrlOf(event['requestBody']);
  return {
    'content-type': 'application/json',
    'user-agent': 'pusher-webhooks',
    'webhook-request-id-uuid': nameUuid(instanceId, [
      'publish-webhook',
      String(event['publishId']),
      String(event['status']),
    ]),
    ...(url && authorization(url)),
  };
}

/** Redacts the webhook's credentials in such a body. */
export function redactedPublishWebhook(body: string): string {
  const event = parseJsonObject(body);
  const request = event?.['requestBody'];
  if (!isJsonObject(request) || typeof request['webhookUrl'] !== 'string') return body;
  const webhookUrl = redactedUrl(request['webhookUrl']);
  if (webhookUrl === request['webhookUrl']) return body;
  return JSON.stringify({ ...event, requestBody: { ...request, webhookUrl } });
}

function webhookUrlOf(request: unknown): URL | undefined {
  const text = isJsonObject(request) ? request['webhookUrl'] : undefined;
  return typeof text === 'string' ? (URL.parse(text) ?? undefined) : undefined;
}

function hasCredentials({ username, password }: URL): boolean {
  return username !== '' || password !== '';
}

function withoutCredentials(url: URL): URL {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  return bare;
}

function authorization(url: URL): Readonly<Record<string, string>> {
  if (!hasCredentials(url)) return {};
  const pair = `${decoded(url.username)}:${decoded(url.password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

/** Decodes percent encoding. Invalid encoding stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}
