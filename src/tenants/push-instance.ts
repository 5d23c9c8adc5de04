import type { InstanceSettings } from '../config/schema.ts';
import type { PushInstance } from '../push/model/instance.ts';

/** An instance that is served, with all of its settings. */
export interface LiveInstance {
  readonly instance: PushInstance;
  readonly settings: InstanceSettings;
}

/** What the push side knows of an instance. `number` identifies its rows in the store. */
export function pushInstance(settings: InstanceSettings, number: number): PushInstance {
  const { id, name, secretKeys, app, limits, whenUserIsFull, web, webhooks } = settings;
  const { timeZone, quietHours, cap } = settings;
  return {
    id,
    number,
    name,
    secretKeys,
    appId: app,
    limits,
    whenUserIsFull,
    timeZone,
    quietHours: quietHours ?? undefined,
    cap: cap ?? undefined,
    web: web && {
      vapidPublicKey: web.vapid.publicKey,
      declarative: web.declarative,
      allowedHosts: web.allowedHosts,
      allowPrivateAddresses: web.allowPrivateAddresses,
    },
    webhooks,
  };
}
