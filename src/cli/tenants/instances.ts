import { isObject } from '../../config/plain-json.ts';
import { vapidSubject } from '../../config/push-settings.ts';
import type { Config } from '../../config/schema.ts';
import { secretKeyName, secretKeysMeant } from '../../config/secret-key-name.ts';
import { printable } from '../../runtime/printable.ts';
import { openStoredInstances, type StoredInstancesAdmin } from '../../tenants/stored-instances.ts';
import type { Arguments, Option } from '../options.ts';
import { type ExitCode, type Output, UsageError } from '../output.ts';
import { readConfig } from '../read-config.ts';
import { printInstance, type StoredInstance, shownInstance, vapidOf } from './shown-instance.ts';

interface Call {
  readonly store: StoredInstancesAdmin;
  readonly given: Arguments;
  readonly output: Output;
  readonly config: Config;
}

type Action = (call: Call) => Promise<ExitCode>;

export const NAME_OPTION: Option = { name: 'name', value: 'NAME', help: 'A name for people.' };

export const VAPID_SUBJECT_OPTION: Option = {
  name: 'vapid-subject',
  value: 'SUBJECT',
  help: 'How push services of browsers reach you: mailto:… or https://….',
};

/** `fanfare instances …`: manages the instances in the store; a running server sees each change within a second. */
export function instancesCommand(action: Action) {
  return async (given: Arguments, output: Output): Promise<ExitCode> => {
    const config = readConfig(given.value('config'), output);
    if (config === undefined) return 2;
    await using store = await openStoredInstances(config.store.url);
    return await action({ store, given, output, config });
  };
}

export const listInstances: Action = async ({ store, given, output }) => {
  const instances = await store.list();
  if (given.has('json')) {
    output.print(JSON.stringify(instances.map((instance) => shownInstance(instance, 'none'))));
    return 0;
  }
  if (instances.length === 0) {
    output.print('The store has no instance. Make one: fanfare instances create');
  }
  for (const { id, secretKeys, name } of instances) {
    output.print(printable(`${id}  ${secretKeys.map(secretKeyName).join(' ')}  ${name}`));
  }
  return 0;
};

export const showInstance: Action = async ({ store, given, output }) => {
  const instance = await store.get(idOf(given));
  if (instance === undefined) return noSuchInstance(given, output);
  printInstance(instance, given.has('secret') ? 'all' : 'none', given, output);
  return 0;
};

export const createInstance: Action = async ({ store, given, output }) => {
  if (given.words.length > 0) {
    throw new UsageError(`unexpected "${given.words[0]}"; an instance's name goes after --name`);
  }
  const subject = subjectOf(given);
  const instance = await store.create(given.value('name') ?? '', subject);
  printInstance(instance, 'keys', given, output);
  if (subject === undefined && !given.has('json')) {
    output.print(
      `Let push services know how to reach you: fanfare instances change ${instance.id} --vapid-subject mailto:YOU@YOUR-DOMAIN`,
    );
  }
  return 0;
};

export const changeInstance: Action = async ({ store, given, output }) => {
  const id = idOf(given);
  const name = given.value('name');
  const subject = subjectOf(given);
  if (name === undefined && subject === undefined) {
    throw new UsageError('change what? There is neither --name nor --vapid-subject');
  }
  const instance = await store.get(id);
  if (instance === undefined) return noSuchInstance(given, output);
  if (subject !== undefined && vapidOf(instance.settings) === undefined) {
    output.complain(`fanfare: instance ${id} has no VAPID keys: browsers are not reached from it`);
    return 1;
  }
  await store.update(id, (now) => ({
    name: name ?? now.name,
    settings: subject === undefined ? now.settings : withSubject(now.settings, subject),
  }));
  const changed = await store.get(id);
  if (changed === undefined) return noSuchInstance(given, output);
  printInstance(changed, 'none', given, output);
  return 0;
};

export const rotateInstance: Action = async ({ store, given, output }) => {
  const id = idOf(given);
  const instance = await store.get(id);
  if (instance === undefined) return noSuchInstance(given, output);
  const old = given.value('remove');
  if (old !== undefined) return await removeKey(store, instance, old, given, output);
  if (!(await store.addKey(id))) return noSuchInstance(given, output);
  const now = await store.get(id);
  if (now === undefined) return noSuchInstance(given, output);
  printInstance(now, 'keys', given, output);
  if (!given.has('json')) {
    const [oldest = ''] = instance.secretKeys;
    output.print(
      `All of its secret keys are valid. When nobody uses the old one any more: fanfare instances rotate ${id} --remove ${secretKeyName(oldest).replace('…', '') || 'KEY'}`,
    );
    output.print('Tokens of users that were signed with it are refused from then on.');
  }
  return 0;
};

export const deleteInstance: Action = async ({ store, given, output, config }) => {
  const id = idOf(given);
  if (config.push.instances?.some((instance) => instance.id === id)) {
    output.complain(
      `fanfare: instance ${id} stands in the configuration; take it out there first, at push.instances`,
    );
    return 1;
  }
  const instance = await store.get(id);
  const devices = await store.delete(id);
  if (devices === undefined) return noSuchInstance(given, output);
  const secretKeys = instance?.secretKeys.length ?? 0;
  output.print(
    given.has('json')
      ? JSON.stringify({ id, deleted: true, secretKeys, devices })
      : `Instance ${id} is deleted. Gone with it: ${count(secretKeys, 'secret key')}, its VAPID keys, ${count(devices, 'device')} with their users and interests, and its publishes.`,
  );
  return 0;
};

async function removeKey(
  store: StoredInstancesAdmin,
  { id, secretKeys }: StoredInstance,
  old: string,
  given: Arguments,
  output: Output,
): Promise<ExitCode> {
  const [secret, another] = secretKeysMeant(secretKeys, old);
  if (another !== undefined) {
    output.complain(`fanfare: several secret keys of instance ${id} begin so; give the whole key`);
    return 1;
  }
  const result = secret === undefined ? 'unknown' : await store.removeKey(id, secret);
  if (result === 'unknown') {
    output.complain(
      `fanfare: instance ${id} has no such secret key; see: fanfare instances show ${id}`,
    );
    return 1;
  }
  if (result === 'last') {
    output.complain(
      `fanfare: it is the only secret key of instance ${id}; add one first, without --remove`,
    );
    return 1;
  }
  const now = await store.get(id);
  if (now === undefined) return noSuchInstance(given, output);
  printInstance(now, 'none', given, output);
  return 0;
}

function idOf({ words }: Arguments): string {
  const [id, more] = words;
  if (id === undefined) {
    throw new UsageError('which instance? Its id is missing; see: fanfare instances list');
  }
  if (more !== undefined) throw new UsageError(`unexpected "${more}"`);
  return id.toLowerCase();
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

function noSuchInstance(given: Arguments, output: Output): ExitCode {
  output.complain(
    `fanfare: the store has no instance ${idOf(given)}; see: fanfare instances list. Instances of the configuration are changed there.`,
  );
  return 1;
}

function withSubject(
  settings: StoredInstance['settings'],
  subject: string,
): StoredInstance['settings'] {
  const vapid = vapidOf(settings);
  const { web } = settings;
  if (vapid === undefined || !isObject(web)) return settings;
  return { ...settings, web: { ...web, vapid: { ...vapid, subject } } };
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
