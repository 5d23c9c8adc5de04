import { hasOwnStore } from '../../config/settings/own-store.ts';
import { vapidSubject } from '../../config/settings/push-settings.ts';
import { secretKeyName, secretKeysMeant } from '../../config/settings/secret-key-name.ts';
import { readVapidPair } from '../../config/settings/vapid-keys.ts';
import { type InstanceId, readInstanceId } from '../../push/model/instance-id.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { StoredInstances } from '../../stores/tenants/instance-store.ts';
import { InstanceAdmin } from '../../tenants/manage-instances.ts';
import { countOf, fail, printResult } from '../invocation.ts';
import type { Arguments, Option } from '../options.ts';
import { type ExitCode, UsageError } from '../output.ts';
import { keyUsesOf } from './key-uses.ts';
import { MANNERS_OPTIONS, mannersOf } from './manners-options.ts';
import { printInstance, shownInstance, vapidOf } from './shown-instance.ts';
import { printConfigured, sayLastUse } from './shown-keys.ts';
import {
  noTenantId,
  printTenants,
  type TenantCall,
  type TenantCommands,
  tenantId,
} from './tenant-command.ts';

type Call = TenantCall<InstanceAdmin>;

export const NAME_OPTION: Option = { name: 'name', value: 'NAME', help: 'A name for people.' };

export const VAPID_SUBJECT_OPTION: Option = {
  name: 'vapid-subject',
  value: 'SUBJECT',
  help: 'The contact by which push services of browsers reach you: mailto:… or https://….',
};

export const VAPID_KEY_FILE_OPTION: Option = {
  name: 'vapid-private-key-file',
  value: 'FILE',
  help: 'The VAPID private key that browsers have subscribed with elsewhere: base64, PEM or DER in base64. The store keeps the key.',
};

export const DECLARATIVE_OPTION: Option = {
  name: 'declarative',
  value: 'on|off',
  help: 'Whether Safari gets messages that it can show without a service worker.',
};

export const APP_OPTION: Option = {
  name: 'app',
  value: 'ID',
  help: 'The app whose users are its users, for `live` in publishes. An empty id removes it.',
};

export const instanceCommands: TenantCommands<InstanceAdmin> = {
  noun: 'instance',
  adminOf: (database, config) =>
    new InstanceAdmin({
      store: new StoredInstances(database),
      // Deleting one of them would delete the devices of the configured instance.
      configured: () => config.push.instances ?? [],
      changed: async () => undefined,
      isStoreOwn: hasOwnStore(config),
    }),
};

export async function listInstances(call: Call): Promise<ExitCode> {
  return printTenants(call, await call.admin.storedTenants(), {
    noun: 'instance',
    json: (instance) => shownInstance(instance, 'none'),
    line: ({ id, secretKeys, name }) =>
      printable(`${id}  ${secretKeys.map(secretKeyName).join(' ')}  ${name}`),
  });
}

export async function showInstance(call: Call): Promise<ExitCode> {
  const id = idOf(call);
  const uses = await keyUsesOf(call, 'instance', id);
  const printed = await printConfigured(call, uses, { noun: 'instance', id });
  if (printed !== undefined) return printed;
  const instance = await call.admin.stored(id);
  return printInstance(call, instance, {
    secrets: call.given.has('secret') ? 'all' : 'none',
    uses,
  });
}

export async function createInstance(call: Call): Promise<ExitCode> {
  const { given, admin } = call;
  noTenantId(call, 'instance');
  const subject = subjectOf(given);
  const settings = { ...appOf(given), ...mannersOf(given), ...webSettingsOf(given, subject) };
  const id = await admin.create({ name: given.value('name'), settings });
  return printInstance(call, await admin.stored(id), {
    secrets: 'keys',
    hints:
      subject === undefined
        ? [
            `Set the contact for push services: fanfare instances change ${id} --vapid-subject mailto:YOU@YOUR-DOMAIN`,
          ]
        : [],
  });
}

export async function changeInstance(call: Call): Promise<ExitCode> {
  const { given, admin } = call;
  const id = idOf(call);
  const name = given.value('name');
  const subject = subjectOf(given);
  const web = webSettingsOf(given, subject);
  const settings = { ...appOf(given), ...mannersOf(given), ...web };
  if (name === undefined && Object.keys(settings).length === 0) {
    const others = MANNERS_OPTIONS.map((option) => `--${option.name}`).join(', ');
    throw new UsageError(
      `change what? Give --name, --app, --vapid-subject, --vapid-private-key-file, --declarative, ${others}`,
    );
  }
  const needsKeys = web !== undefined && given.value('vapid-private-key-file') === undefined;
  if (needsKeys && vapidOf((await admin.stored(id)).settings) === undefined) {
    return fail(call, `instance ${id} has no VAPID keys, so it does not reach browsers`);
  }
  await admin.update(id, { name, settings });
  return printInstance(call, await admin.stored(id), { secrets: 'none' });
}

export async function rotateInstance(call: Call): Promise<ExitCode> {
  const { given, admin } = call;
  const id = idOf(call);
  const removed = given.value('remove');
  if (removed !== undefined) {
    const { secretKeys } = await admin.stored(id);
    const [meant = ''] = secretKeysMeant(secretKeys, removed);
    const named = { names: secretKeys.map(secretKeyName), place: secretKeys.indexOf(meant) };
    await sayLastUse(call, { noun: 'instance', id }, named);
    await admin.removeKey(id, removed);
    return printInstance(call, await admin.stored(id), { secrets: 'none' });
  }
  const added = await admin.addKey(id);
  const instance = await admin.stored(id);
  const [oldest = ''] = instance.secretKeys;
  const name = secretKeyName(oldest).replace('…', '') || 'KEY';
  return printInstance(call, instance, {
    secrets: { key: added },
    hints: [
      `All secret keys are valid. When the old one is no longer used (see: fanfare instances show ${id}): fanfare instances rotate ${id} --remove ${name}`,
      'From then on, user tokens that were signed with it are refused.',
    ],
  });
}

export async function deleteInstance(call: Call): Promise<ExitCode> {
  const { admin } = call;
  const id = idOf(call);
  const stored = (await admin.storedTenants()).find((instance) => instance.id === id);
  const secretKeys = stored?.secretKeys.length ?? 0;
  const devices = await admin.delete(id);
  return printResult(call, {
    json: { id, deleted: true, secretKeys, devices },
    text: `Instance ${id} was deleted, with ${countOf(secretKeys, 'secret key')}, its VAPID keys, ${countOf(devices, 'device')} with their users and interests, and its publishes.`,
  });
}

function idOf(call: Call): InstanceId {
  return readInstanceId(tenantId(call, 'instance'));
}

/** The setting that `--app` gives. `null` removes it. */
function appOf(given: Arguments): { readonly app: string | null } | undefined {
  const app = given.value('app');
  return app === undefined ? undefined : { app: app === '' ? null : app };
}

function subjectOf(given: Arguments): string | undefined {
  const subject = given.value('vapid-subject');
  if (subject !== undefined && !vapidSubject.safeParse(subject).success) {
    throw new UsageError(
      '--vapid-subject must begin with mailto: or https://, without a name and password',
    );
  }
  return subject;
}

/** The settings of web push that options give; `undefined`: none was given. */
function webSettingsOf(given: Arguments, subject: string | undefined) {
  const declarative = declarativeOf(given);
  const file = given.value('vapid-private-key-file');
  const read = file === undefined ? undefined : readVapidPair({ privateKeyFile: file });
  if (read?.ok === false) throw new UsageError(`--vapid-private-key-file: ${read.why}`);
  const vapid = { ...(subject !== undefined && { subject }), ...read?.pair };
  const web = {
    ...(Object.keys(vapid).length > 0 && { vapid }),
    ...(declarative !== undefined && { declarative }),
  };
  return Object.keys(web).length === 0 ? undefined : { web };
}

function declarativeOf(given: Arguments): boolean | undefined {
  const word = given.value('declarative');
  if (word !== undefined && word !== 'on' && word !== 'off') {
    throw new UsageError('--declarative must be on or off');
  }
  return word === undefined ? undefined : word === 'on';
}
