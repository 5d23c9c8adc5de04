import type { App } from '../../channels/app.ts';
import type { Usage } from '../../channels/usage/usage.ts';
import { ApiRefusal } from './problems.ts';

/** The `Retry-After` of a rate. */
const RETRY_AFTER_SECONDS = 1;

/** Refuses a request because the app has no messages left today. */
export function overQuota(app: App): ApiRefusal {
  return new ApiRefusal(
    'over-quota',
    `The app is over its message quota: ${app.limits.messagesPerDay} messages per day (UTC)`,
  );
}

/** Refuses a request because of a rate. */
export function rateLimited(text: string): ApiRefusal {
  return new ApiRefusal('rate-limited', text, { 'retry-after': String(RETRY_AFTER_SECONDS) });
}

/**
 * Counts a query (a GET request, or one that terminates a user's connections), or refuses it if the app is over a
 * limit. Source: §14.4.
 */
export function refuseQuery(usage: Usage, app: App): ApiRefusal | undefined {
  if (!usage.takeQuery(app)) {
    return rateLimited(`Too many requests: at most ${app.limits.queriesPerSecond} per second`);
  }
  return usage.take(app, 1) ? undefined : overQuota(app);
}
