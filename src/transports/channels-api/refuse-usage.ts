import type { App } from '../../channels/app.ts';
import type { Usage } from '../../channels/usage.ts';
import { ApiRefusal } from './problems.ts';

/** Seconds after which a rate has room again. */
const RETRY_AFTER_SECONDS = 1;

/** The answer to a request for which an app has no messages left today. */
export function overQuota(app: App): ApiRefusal {
  return new ApiRefusal(
    'over-quota',
    `The app is over its message quota: ${app.limits.messagesPerDay} messages per day (UTC)`,
  );
}

/** The answer to a request that comes too soon after others. */
export function rateLimited(text: string): ApiRefusal {
  return new ApiRefusal('rate-limited', text, { 'retry-after': String(RETRY_AFTER_SECONDS) });
}

/** Counts a GET request, or one that ends a user's connections, unless that is more than the app may have now. Source: §14.4. */
export function refuseQuery(usage: Usage, app: App): ApiRefusal | undefined {
  if (!usage.takeQuery(app)) {
    return rateLimited(`Too many requests: at most ${app.limits.queriesPerSecond} per second`);
  }
  return usage.take(app, 1) ? undefined : overQuota(app);
}
