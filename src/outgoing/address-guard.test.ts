import { describe, expect, it } from 'bun:test';
import { createGuardedLookup, type GuardOptions } from './address-guard.ts';
import { resolverBy, resolverTo } from './resolver.fixture.ts';

const findGuarded = (options: GuardOptions) => createGuardedLookup(options, () => 'test');

describe('the address lookup for connections', () => {
  it('returns all addresses of a host, IPv4 first', async () => {
    const find = findGuarded({
      allowPrivateAddresses: false,
      resolver: resolverTo('2606:4700::1111', '1.1.1.1'),
    });
    expect(await find('one.example.test')).toEqual({
      ok: true,
      addresses: ['1.1.1.1', '2606:4700::1111'],
    });
  });

  it('returns an IP address as it is', async () => {
    const find = findGuarded({
      allowPrivateAddresses: false,
      resolver: resolverBy(() => Promise.reject(new Error('not asked'))),
    });
    expect(await find('1.1.1.1')).toEqual({ ok: true, addresses: ['1.1.1.1'] });
  });

  it('refuses a host with a private address, unless those are allowed', async () => {
    const resolver = resolverTo('1.1.1.1', 'fd00::1');
    expect(await findGuarded({ allowPrivateAddresses: false, resolver })('x.test')).toEqual({
      ok: false,
      allowed: false,
      why: 'fd00::1 is not a public address (unique local)',
    });
    const named = { allowPrivateAddresses: false, allowedBy: 'a.setting', resolver };
    expect(await findGuarded(named)('x.test')).toMatchObject({
      why: 'fd00::1 is not a public address (unique local); a.setting allows it',
    });
    expect(await findGuarded({ allowPrivateAddresses: true, resolver })('x.test')).toEqual({
      ok: true,
      addresses: ['1.1.1.1', 'fd00::1'],
    });
  });

  it('returns the error code for an unknown name', async () => {
    const find = findGuarded({
      allowPrivateAddresses: true,
      resolver: resolverBy(() =>
        Promise.reject(Object.assign(new Error('secret'), { code: 'ENOTFOUND' })),
      ),
    });
    expect(await find('nobody.test')).toEqual({ ok: false, allowed: true, why: 'ENOTFOUND' });
  });
});
