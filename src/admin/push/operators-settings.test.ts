import { expect, it } from 'bun:test';
import type { InstanceSettings } from '../../config/schema.ts';
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
