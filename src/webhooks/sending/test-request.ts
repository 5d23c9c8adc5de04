import { randomUUIDv7 } from 'bun';
import type { WebhookAttempt } from '../outbox.ts';
import { type AttemptContext, attemptOnce } from './attempt.ts';
import { signForApp, type WebhookOwners } from './sign.ts';

interface TestContext extends Pick<AttemptContext, 'timers' | 'random' | 'send'> {
  readonly app: WebhookOwners['app'];
  readonly settings: { readonly timeoutSeconds: number };
}

/** Sends a signed request without events to a webhook of an app. `refused`: why it cannot be sent. */
export async function sendTest(
  { app, settings, ...context }: TestContext,
  { appId, url }: { readonly appId: string; readonly url: string },
): Promise<WebhookAttempt | { readonly refused: string }> {
  const nowMs = context.timers.now();
  const body = `{"time_ms":${nowMs},"events":[]}`;
  const request = {
    id: randomUUIDv7('hex', nowMs),
    kind: 'channels' as const,
    ownerId: appId,
    url,
    endpoint: '',
    events: '',
    bodyBytes: body.length,
    createdAtMs: nowMs,
    attempts: 0,
    tries: 0,
    firstTryAtMs: undefined,
    claimedUntilMs: Number.POSITIVE_INFINITY,
  };
  const settlement = await attemptOnce(request, body, {
    ...context,
    sign: () => signForApp(app(appId), url, body),
    timeoutMs: settings.timeoutSeconds * 1_000,
    signal: new AbortController().signal,
  });
  if (settlement?.attempt !== undefined) return settlement.attempt;
  const { next } = settlement ?? {};
  return { refused: next?.state === 'failed' ? next.reason : 'It was not sent' };
}
