import { expect, it } from 'bun:test';
import type { InstanceSettings } from '../../config/schema.ts';
import { BROWSER_PUSH_SERVICES } from '../../config/settings/push-settings.ts';
import type { Rights } from '../rights.ts';
import { refuseOperatorsSettings } from './operators-settings.ts';

const present = { app: '1' } as unknown as InstanceSettings;
const rightsTo = (apps: Rights['apps'], instances: Rights['instances']): Rights => ({
  role: 'admin',
  apps,
  instances,
  seesPayloads: true,
});

it('lets only an admin of an app link an instance to it', () => {
  const link = (app: unknown, rights: Rights) => () =>
    refuseOperatorsSettings({ app }, { present, rights });
  expect(link('2', rightsTo(['1'], ['an-instance']))).toThrow(
    'it lets the instance send events in that app, so it takes an admin of the app',
  );
  expect(link('2', rightsTo(['1', '2'], ['an-instance']))).not.toThrow();
  expect(link('2', rightsTo('*', '*'))).not.toThrow();
  // It stays as it was, or is removed.
  expect(link('1', rightsTo([], ['an-instance']))).not.toThrow();
  expect(link(null, rightsTo([], ['an-instance']))).not.toThrow();
});

it('lets nobody put hosts back to the defaults by removing a gateway and giving it again', () => {
  const remove = (web: object, rights: Rights) => () =>
    refuseOperatorsSettings(
      { web: null },
      { present: { web } as unknown as InstanceSettings, rights },
    );
  const own = rightsTo(['1'], ['an-instance']);
  const narrowed = { allowedHosts: ['updates.push.services.mozilla.com'] };
  expect(remove(narrowed, own)).toThrow('it takes an admin of the whole server');
  expect(remove(narrowed, rightsTo('*', '*'))).not.toThrow();
  expect(remove({ allowedHosts: BROWSER_PUSH_SERVICES }, own)).not.toThrow();
});

it('lets only an admin of the whole server name a file with a VAPID key', () => {
  const change = { web: { vapid: { privateKeyFile: '/etc/shadow' } } };
  const name = (rights: Rights) => () => refuseOperatorsSettings(change, { present, rights });
  expect(name(rightsTo(['1'], ['an-instance']))).toThrow(
    'it names files, hosts or an account of the operator, so it takes an admin of the whole server',
  );
  expect(name(rightsTo('*', '*'))).not.toThrow();
});

it.each([
  { metadata: true },
  { projectId: 'another-project' },
  { serviceAccountFile: '/etc/a.json' },
])('lets only an admin of the whole server send with the account of the machine: %j', (fcm) => {
  const name = (rights: Rights) => () => refuseOperatorsSettings({ fcm }, { present, rights });
  expect(name(rightsTo(['1'], ['an-instance']))).toThrow('an account of the operator');
  expect(name(rightsTo('*', '*'))).not.toThrow();
});
