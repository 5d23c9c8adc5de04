import { CryptoHasher } from 'bun';
import type { App } from '../channels/app.ts';

export type Signed =
  | { readonly ok: true; readonly headers: Readonly<Record<string, string>> }
  /** Why it can never be sent; told to the operator. */
  | { readonly ok: false; readonly reason: string };

/**
 * The headers that an app's webhook is sent with, by what the app is now: keys may have been rotated since
 * the event. The content type is exactly this, because official libraries compare the whole value.
 * Source: Channels docs, "Webhooks", "Security".
 */
export function signForApp(app: App | undefined, url: string, body: string): Signed {
  if (app === undefined) return { ok: false, reason: 'The app is gone' };
  if (!app.webhooks.some((webhook) => webhook.url === url)) {
    return { ok: false, reason: 'The app has no such webhook any more' };
  }
  const [oldest] = app.keys;
  if (oldest === undefined) return { ok: false, reason: 'The app has no key to sign with' };
  return {
    ok: true,
    headers: {
      'content-type': 'application/json',
      'x-pusher-key': oldest.key,
      'x-pusher-signature': new CryptoHasher('sha256', oldest.secret).update(body).digest('hex'),
    },
  };
}
