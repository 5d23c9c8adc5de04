import { isObject } from '../../config/settings/plain-json.ts';
import { secretKeyName } from '../../config/settings/secret-key-name.ts';
import { printable } from '../../runtime/logging/printable.ts';
import type { StoredInstance } from '../../stores/tenants/instance-store.ts';
import { type Invocation, printResult } from '../invocation.ts';
import type { ExitCode } from '../output.ts';
import { shownSettings } from '../shown-settings.ts';
import { awayWords, type ShownKeyUses, usedWords } from './key-uses.ts';

/** Which secrets of an instance are shown: none, one secret key, all of these, or the VAPID private key as well. */
export type ShownSecrets = 'none' | { readonly key: string } | 'keys' | 'all';

/** A secret key, or its name. */
function shownKey(secret: string, secrets: ShownSecrets): string {
  const isShown = typeof secrets === 'string' ? secrets !== 'none' : secrets.key === secret;
  return isShown ? secret : secretKeyName(secret);
}

/** An instance as JSON. */
export function shownInstance(instance: StoredInstance, secrets: ShownSecrets): object {
  const { id, name, secretKeys, settings } = instance;
  return {
    id,
    name,
    secretKeys: secretKeys.map((secret) => shownKey(secret, secrets)),
    settings: settingsFor(settings, secrets),
  };
}

function settingsFor(
  settings: StoredInstance['settings'],
  secrets: ShownSecrets,
): StoredInstance['settings'] {
  const shown = secrets === 'all' ? settings : shownSettings(settings);
  const hidden = secrets === 'all' ? [] : ['privateKey', 'secret'];
  const { apns, ...others } = JSON.parse(
    // What vendors gave is never shown.
    JSON.stringify(shown, (name, value) =>
      name === 'serviceAccount' || hidden.includes(name) ? undefined : value,
    ),
  );
  return apns === undefined ? others : { ...others, apns: { ...apns, privateKey: undefined } };
}

interface InstanceOutput {
  readonly secrets: ShownSecrets;
  /** What to do next, for people. */
  readonly hints?: readonly string[];
  /** When its secret keys were last used. */
  readonly uses?: ShownKeyUses;
}

export function printInstance(
  invocation: Invocation,
  instance: StoredInstance,
  { secrets, hints = [], uses }: InstanceOutput,
): ExitCode {
  const { id, name, secretKeys, settings } = instance;
  const words = uses && usedWords(uses, secretKeys.map(secretKeyName));
  const vapid = vapidOf(settings);
  const others = otherSettings(settingsFor(settings, secrets));
  const lines = [
    printable(`Instance ${id}${name === '' ? '' : ` (${name})`}`),
    ...secretKeys.flatMap((secret, place) => {
      const shown = shownKey(secret, secrets);
      const hint = shown === secret ? '' : ' (see: instances show --secret)';
      const line = `  secret key         ${shown}${hint}`;
      return words === undefined ? line : [line, printable(`  used               ${words[place]}`)];
    }),
    ...(uses === undefined ? [] : awayWords(uses)),
    ...(vapid === undefined
      ? []
      : [
          `  VAPID public key   ${vapid['publicKey']}`,
          ...(secrets === 'all' ? [`  VAPID private key  ${vapid['privateKey']}`] : []),
          `  VAPID subject      ${vapid['subject']}`,
        ]),
    ...Object.entries(others).map(([setting, value]) => `  ${setting}  ${JSON.stringify(value)}`),
    ...hints,
  ];
  return printResult(invocation, {
    json: { ...shownInstance(instance, secrets), ...(uses && { keyUses: uses.known ?? null }) },
    text: lines.join('\n'),
  });
}

/** The settings without a line of their own. */
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
