import type { App } from '../../channels/app.ts';
import { Refusal } from './problems.ts';

/** The answer to a request for which an app has no messages left today. */
export function overQuota(app: App): Refusal {
  return new Refusal(
    'over-quota',
    `The app is over its message quota: ${app.limits.messagesPerDay} messages per day (UTC)`,
  );
}
