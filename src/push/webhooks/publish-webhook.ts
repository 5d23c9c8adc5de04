import { isGiven, isJsonObject, parseJsonObject } from '../../runtime/json-object.ts';
import { redactedUrl } from '../../runtime/redacted-url.ts';
import { platforms } from '../model/device.ts';
import type { PublishId, PublishStatus } from '../model/publish.ts';
import { nameUuid } from './name-uuid.ts';

/**
 * The webhook that a publish brings along. Name and password of its URL stay in the body of the publish, which is
 * sent as it came: there they are read again for each request, and nowhere else are they kept.
 */

/** Where a publish wants to be told of, without name and password; `undefined`: nowhere. */
export function publishWebhookUrl(requestBody: string): string | undefined {
  // Most publishes have none. Without a backslash in it, a text holds its keys as they are.
  if (!requestBody.includes('webhookUrl') && !requestBody.includes('\\')) return undefined;
  const url = webhookUrlOf(parseJsonObject(requestBody));
  return url && withoutCredentials(url).href;
}

/** What is told when a publish begins to go out. */
export function startedBody(publishId: PublishId, requestBody: string): string {
  return `{"publishId":${JSON.stringify(publishId)},"status":"STARTED","requestBody":${requestBody}}`;
}

/** What is told when it has gone out, with the counts of each platform that it has a payload for. */
export function finishedBody(
  publishId: PublishId,
  requestBody: string,
  counts: PublishStatus['platforms'],
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
  return `{"publishId":${JSON.stringify(publishId)},"status":"FINISHED","requestBody":${requestBody},"results":${JSON.stringify(results)}}`;
}

/** The headers of a request with one of these bodies. Its id is that of what it tells: the same when it is told again. */
export function publishWebhookHeaders(
  instanceId: string,
  body: string,
): Readonly<Record<string, string>> {
  const told = parseJsonObject(body) ?? {};
  const url = webhookUrlOf(told['requestBody']);
  return {
    'content-type': 'application/json',
    'user-agent': 'pusher-webhooks',
    'webhook-request-id-uuid': nameUuid(instanceId, [
      'publish-webhook',
      String(told['publishId']),
      String(told['status']),
    ]),
    ...(url && authorization(url)),
  };
}

/** Such a body as people may see it. */
export function shownPublishWebhook(body: string): string {
  const told = parseJsonObject(body);
  const request = told?.['requestBody'];
  if (!isJsonObject(request) || typeof request['webhookUrl'] !== 'string') return body;
  const webhookUrl = redactedUrl(request['webhookUrl']);
  if (webhookUrl === request['webhookUrl']) return body;
  return JSON.stringify({ ...told, requestBody: { ...request, webhookUrl } });
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

/** What is not percent-encoded as it should be is taken as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}
