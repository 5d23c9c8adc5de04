import { isObject } from '../../config/plain-json.ts';
import { secretKeyName } from '../../config/secret-key-name.ts';
import { printable } from '../../runtime/printable.ts';
import type { StoredInstancesAdmin } from '../../tenants/stored-instances.ts';
import type { Arguments } from '../options.ts';
import type { Output } from '../output.ts';
import { shownSettings } from '../shown-settings.ts';

export type StoredInstance = NonNullable<Awaited<ReturnType<StoredInstancesAdmin['get']>>>;

/** What is shown of an instance's secrets: none of them, its secret keys, or its VAPID private key as well. */
export type ShownSecrets = 'none' | 'keys' | 'all';

/** An instance as programs get it. */
export function shownInstance(instance: StoredInstance, secrets: ShownSecrets): object {
  const { id, name, secretKeys, settings } = instance;
  return {
    id,
    name,
    secretKeys: secrets === 'none' ? secretKeys.map(secretKeyName) : secretKeys,
    settings: secrets === 'all' ? settings : withoutSecrets(settings),
  };
}

function withoutSecrets(settings: StoredInstance['settings']): StoredInstance['settings'] {
  return JSON.parse(
    JSON.stringify(shownSettings(settings), (name, value) =>
      name === 'privateKey' || name === 'secret' ? undefined : value,
    ),
  );
}

export function printInstance(
  instance: StoredInstance,
  secrets: ShownSecrets,
  given: Arguments,
  output: Output,
): void {
  if (given.has('json')) {
    output.print(JSON.stringify(shownInstance(instance, secrets)));
    return;
  }
  const { id, name, secretKeys, settings } = instance;
  output.print(printable(`Instance ${id}${name === '' ? '' : ` (${name})`}`));
  for (const secret of secretKeys) {
    const shown = secrets === 'none' ? `${secretKeyName(secret)} (shown with --secret)` : secret;
    output.print(`  secret key         ${shown}`);
  }
  const vapid = vapidOf(settings);
  if (vapid !== undefined) {
    output.print(`  VAPID public key   ${vapid['publicKey']}`);
    if (secrets === 'all') output.print(`  VAPID private key  ${vapid['privateKey']}`);
    output.print(`  VAPID subject      ${vapid['subject']}`);
  }
  const others = otherSettings(secrets === 'all' ? settings : withoutSecrets(settings));
  for (const [setting, value] of Object.entries(others)) {
    output.print(`  ${setting}  ${JSON.stringify(value)}`);
  }
}

/** Settings beside those that have a line of their own. */
function otherSettings(settings: StoredInstance['settings']): StoredInstance['settings'] {
  const { web, ...others } = settings;
  const { vapid: _, ...rest } = isObject(web) ? web : {};
  return Object.keys(rest).length === 0 ? others : { ...others, web: rest };
}

export function vapidOf({
  web,
}: StoredInstance['settings']): Readonly<Record<string, unknown>> | undefined {
  const vapid = isObject(web) ? web['vapid'] : undefined;
  return isObject(vapid) ? vapid : undefined;
}
