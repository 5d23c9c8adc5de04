import { formatProblem, problemsOf, wording } from '../config/problems.ts';
import { instanceSettings } from '../config/push-settings.ts';
import type { Config, InstanceSettings } from '../config/schema.ts';
import type { PushInstance } from '../push/model/instance.ts';
import type { StoredInstance } from '../stores/tenants/instance-store.ts';

/** The instances that the configuration names. */
export function configuredInstances(config: Config): readonly InstanceSettings[] {
  return config.push.instances ?? [];
}

/** Which stored instances can be served, and which not and why. */
export interface StoredInstanceList {
  readonly instances: readonly InstanceSettings[];
  readonly left: readonly { readonly id: string; readonly why: string }[];
}

/** Completes stored instances with the defaults of the configuration. What the configuration names goes before. */
export function storedInstances(
  stored: readonly StoredInstance[],
  configured: readonly InstanceSettings[],
): StoredInstanceList {
  const ids = new Set(configured.map(({ id }) => id));
  const instances: InstanceSettings[] = [];
  const left: { id: string; why: string }[] = [];
  for (const { id, name, secretKeys, settings } of stored) {
    if (ids.has(id)) {
      left.push({ id, why: 'the configuration has an instance with its id' });
      continue;
    }
    const whole = { ...settings, id, name, secretKeys };
    const read = instanceSettings.safeParse(whole, { error: wording });
    if (read.success) {
      instances.push(read.data);
    } else {
      const why = problemsOf(instanceSettings, read.error).map(formatProblem).join('; ');
      left.push({ id, why });
    }
  }
  return { instances, left };
}

/** What the push side knows of an instance. `number` is the one that its rows in the store go by. */
export function pushInstance(settings: InstanceSettings, number: number): PushInstance {
  const { id, name, secretKeys, limits, whenUserIsFull, web, webhooks } = settings;
  return {
    id,
    number,
    name,
    secretKeys,
    limits,
    whenUserIsFull,
    web: web && {
      vapidPublicKey: web.vapid.publicKey,
      allowedHosts: web.allowedHosts,
      allowPrivateAddresses: web.allowPrivateAddresses,
    },
    webhooks,
  };
}
