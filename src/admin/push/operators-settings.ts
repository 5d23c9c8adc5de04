import type { InstanceSettings } from '../../config/schema.ts';
import { BROWSER_PUSH_SERVICES } from '../../config/settings/push-settings.ts';
import { isJsonObject } from '../../runtime/json-object.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import { type Rights, seesApp, seesEverything } from '../rights.ts';

/** Settings that name files of the server's machine, its account, or hosts that it asks. */
const settingsOf = {
  apns: ['privateKeyFile', 'origin', 'caFile'],
  fcm: ['serviceAccountFile', 'metadata', 'projectId', 'origin', 'caFile'],
  web: ['allowedHosts', 'allowPrivateAddresses', 'caFile', 'vapid.privateKeyFile'],
} as const;

type Gateway = keyof typeof settingsOf;

/** What the settings are after a gateway was removed and given again. */
const DEFAULTS: Readonly<Record<Gateway, object>> = {
  apns: { origin: null },
  fcm: { origin: null },
  web: { allowedHosts: BROWSER_PUSH_SERVICES },
};

/**
 * Refuses a change of such a setting by callers who may see only some apps or instances: they could read the
 * operator's files, reach hosts in the operator's network, or send events in another tenant's app. An unchanged value
 * is no change. Throws `OperationRefused`.
 */
export function refuseOperatorsSettings(
  change: Partial<Record<Gateway | 'app', unknown>>,
  { present, rights }: { readonly present: InstanceSettings; readonly rights: Rights },
): void {
  if (seesEverything(rights)) return;
  const { app } = change;
  const isNewApp = typeof app === 'string' && app !== present.app;
  if (isNewApp && !seesApp(rights, app)) {
    throw new OperationRefused(
      'forbidden',
      'it lets the instance send events in that app, so it takes an admin of the app',
      'app',
    );
  }
  for (const gateway of Object.keys(settingsOf) as Gateway[]) {
    const isRemoved = change[gateway] === null && present[gateway] !== undefined;
    const given = isRemoved ? DEFAULTS[gateway] : change[gateway];
    if (!isJsonObject(given)) continue;
    for (const name of settingsOf[gateway]) {
      const wanted = valueAt(given, name);
      if (wanted === undefined || Bun.deepEquals(wanted, valueAt(present[gateway], name))) continue;
      throw new OperationRefused(
        'forbidden',
        'it names files, hosts or an account of the operator, so it takes an admin of the whole server',
        `${gateway}.${name}`,
      );
    }
  }
}

/** The value at a path such as `vapid.privateKeyFile`. */
function valueAt(settings: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce(
      (found: unknown, name) => (found instanceof Object ? Reflect.get(found, name) : undefined),
      settings,
    );
}
