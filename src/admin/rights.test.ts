import { describe, expect, it } from 'bun:test';
import { loadJson } from '../config/loading.fixture.ts';
import type { Caller } from '../runtime/caller.ts';
import { noRole, rightsOf } from './rights.ts';

const PROXY = {
  trust: ['10.0.0.1'],
  userHeader: 'Remote-User',
  groupsHeader: 'Remote-Groups',
  groupsSeparator: ',',
} as const;

const ROLES = [
  { group: 'ops', role: 'admin' },
  { group: 'shop', role: 'operator', apps: ['shop'], instances: ['A-B'] },
  { group: 'desk', role: 'support' },
  { group: 'auditors', role: 'operator', payloads: 'hide' },
  { group: 'guests', role: 'viewer', apps: [], instances: [] },
];

function configWith(roles: readonly object[], payloads = 'show') {
  const loaded = loadJson({ admin: { proxy: PROXY, roles }, dashboard: { payloads } });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded));
  return loaded.config;
}

const user = (...groups: string[]): Caller => ({ how: 'proxy', user: 'alice', groups });

describe('the rights of a caller', () => {
  it('are those of the first entry that has a group of the user', () => {
    const config = configWith(ROLES);
    expect(rightsOf(user('desk', 'ops'), config)).toMatchObject({ role: 'admin', apps: '*' });
    expect(rightsOf(user('shop', 'desk'), config)).toEqual({
      role: 'operator',
      apps: ['shop'],
      instances: ['a-b'],
      seesPayloads: true,
    });
    expect(rightsOf(user('guests'), config)).toMatchObject({ apps: [], instances: [] });
    for (const groups of [[], ['Ops'], ['*']]) {
      expect(rightsOf(user(...groups), config)).toBeUndefined();
    }
  });

  it('may be the same for everybody whom the proxy lets in', () => {
    const config = configWith([{ group: '*', role: 'viewer' }]);
    expect(rightsOf(user(), config)).toMatchObject({ role: 'viewer', instances: '*' });
  });

  it('include payloads from support on, unless they are hidden from all', () => {
    for (const [payloads, expected] of [
      ['show', true],
      ['hide', false],
    ] as const) {
      const config = configWith(ROLES, payloads);
      const callers = [user('ops'), user('desk'), { ...user(), how: 'password' as const }];
      const all = [...callers, user('guests'), user('auditors')].map(
        (one) => rightsOf(one, config)?.seesPayloads,
      );
      expect(all).toEqual([expected, expected, expected, false, false]);
    }
  });

  it('are nothing for nobody, and everything with the password', () => {
    const config = configWith(ROLES);
    expect(rightsOf({ how: 'nobody', user: null, groups: ['ops'] }, config)).toBeUndefined();
    const owner = rightsOf({ how: 'password', user: null, groups: [] }, config);
    expect(owner).toMatchObject({ role: 'admin', apps: '*', instances: '*' });
  });
});

describe('a caller without a role', () => {
  it('is told what to ask for, and with which name and groups', () => {
    expect(noRole(user('staff', 'dev\u202e')).message).toBe(
      'You have no role on this server. Ask whoever runs it for an entry in admin.roles: you are alice, and the proxy names these groups of yours: staff, dev\\u202e',
    );
    expect(noRole(user()).message).toEndWith('you are alice, and the proxy names no groups');
    const many = Array.from({ length: 500 }, (_, n) => `g${n}`);
    expect(noRole(user(...many)).message).toEndWith('g8, g9, 490 more');
  });
});
