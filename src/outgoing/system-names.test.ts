import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { candidatesOf, parseHosts, parseResolvConf, SystemNames } from './system-names.ts';

describe('/etc/hosts', () => {
  it('returns all addresses of a name, and accepts comments, tabs and upper case', () => {
    const hosts = parseHosts(
      [
        '127.0.0.1\tlocalhost Machine',
        '::1 localhost # 1.1.1.1 localhost',
        '# 10.0.0.1 none',
        'fe80::1%lo0 zone',
        '10.0.0.2',
        'nonsense a b',
        '10.0.0.3 machine',
      ].join('\n'),
    );
    expect([...hosts]).toEqual([
      ['localhost', ['127.0.0.1', '::1']],
      ['machine', ['127.0.0.1', '10.0.0.3']],
    ]);
  });

  it('and resolv.conf may contain anything', () => {
    const text = fc.array(
      fc.oneof(fc.string(), fc.constantFrom('search', 'options', 'ndots:', ' ', '\n', '9')),
    );
    fc.assert(
      fc.property(text, (parts) => {
        const both = parts.join('');
        parseHosts(both);
        const { search, ndots } = parseResolvConf(both);
        expect(search.length).toBeLessThanOrEqual(6);
        expect(ndots).toBeWithin(0, 16);
      }),
    );
  });
});

describe('/etc/resolv.conf', () => {
  it('is read for search domains and ndots; the last line counts', () => {
    expect(
      parseResolvConf('nameserver 10.0.0.1\nsearch old.test\nsearch a.test .b.test.\n'),
    ).toEqual({ search: ['a.test', 'b.test'], ndots: 1 });
    expect(parseResolvConf('options edns0 ndots:5 timeout:1\ndomain c.test ; why')).toEqual({
      search: ['c.test'],
      ndots: 5,
    });
    expect(parseResolvConf('options ndots:99').ndots).toBe(15);
    expect(parseResolvConf('')).toEqual({ search: [], ndots: 1 });
  });
});

describe('a name', () => {
  const search = ['ns.svc.test', 'svc.test'];

  it('with few dots is completed first, and queried as it is last', () => {
    expect(candidatesOf('shop.other', { search, ndots: 5 })).toEqual([
      'shop.other.ns.svc.test',
      'shop.other.svc.test',
      'shop.other',
    ]);
  });

  it('with enough dots is queried as it is first', () => {
    expect(candidatesOf('a.example', { search, ndots: 1 })[0]).toBe('a.example');
    expect(candidatesOf('shop', { search, ndots: 1 })[0]).toBe('shop.ns.svc.test');
  });

  it('that ends with a dot is not completed', () => {
    expect(candidatesOf('shop.', { search, ndots: 5 })).toEqual(['shop.']);
  });
});

describe('the files of the machine', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'fanfare-names-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('are read again within a second of a change; they may be missing', () => {
    let nowMs = 0;
    const hostsFile = join(directory, 'hosts');
    const resolvConfFile = join(directory, 'resolv.conf');
    const names = new SystemNames({ hostsFile, resolvConfFile, now: () => nowMs });
    expect(names.current()).toEqual({ hosts: new Map(), search: [], ndots: 1 });

    writeFileSync(hostsFile, '10.0.0.1 shop');
    writeFileSync(resolvConfFile, 'search a.test');
    nowMs = 999;
    expect(names.current().hosts.size).toBe(0);
    nowMs = 1000;
    expect(names.current().hosts.get('shop')).toEqual(['10.0.0.1']);
    expect(names.current().search).toEqual(['a.test']);

    rmSync(hostsFile);
    nowMs = 2000;
    expect(names.current().hosts.size).toBe(0);
    expect(names.current().search).toEqual(['a.test']);
  });
});
