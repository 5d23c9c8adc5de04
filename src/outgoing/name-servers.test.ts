import { afterEach, describe, expect, it } from 'bun:test';
import { Resolver } from 'node:dns/promises';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NameAnswer, startNameServer } from '../../testing/servers/name-server.ts';
import { createSystemLookup } from './name-servers.ts';
import { SystemNames } from './system-names.ts';

let stops = new AsyncDisposableStack();
afterEach(async () => {
  await stops.disposeAsync();
  stops = new AsyncDisposableStack();
});

interface Machine {
  readonly answer?: (name: string, family: 4 | 6) => NameAnswer;
  readonly ttlSeconds?: number;
  readonly hosts?: string;
  readonly resolvConf?: string;
  /** How long one of three tries waits for an answer. */
  readonly tryMs?: number;
}

/** The settings of a machine with one name server. */
async function machine({
  answer = () => 'unknown',
  ttlSeconds = 60,
  hosts = '',
  resolvConf = '',
  tryMs = 1_500,
}: Machine) {
  const server = stops.use(await startNameServer({ answer, ttlSeconds }));
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-names-'));
  stops.defer(() => rmSync(directory, { recursive: true }));
  const hostsFile = join(directory, 'hosts');
  const resolvConfFile = join(directory, 'resolv.conf');
  writeFileSync(hostsFile, hosts);
  writeFileSync(resolvConfFile, resolvConf);
  const lookup = createSystemLookup({
    names: new SystemNames({ hostsFile, resolvConfFile, now: Date.now }),
    openClient() {
      const client = new Resolver({ timeout: tryMs, tries: 3 });
      client.setServers([server.address]);
      return client;
    },
  });
  const { signal } = new AbortController();
  return { asked: server.asked, lookup, find: (host: string) => lookup(host, signal) };
}

const both = (_: string, family: 4 | 6): NameAnswer => [family === 4 ? '192.0.2.1' : '2001:db8::1'];

describe('a name known to name servers', () => {
  it('has the addresses of both families, for the shortest time to live', async () => {
    const { find } = await machine({ answer: both, ttlSeconds: 7 });
    expect(await find('shop.example')).toEqual({
      addresses: ['192.0.2.1', '2001:db8::1'],
      keepMs: 7000,
    });
  });

  it('is found with addresses of one family only', async () => {
    const { find } = await machine({ answer: (_, family) => (family === 6 ? ['::2'] : []) });
    expect((await find('six.example')).addresses).toEqual(['::2']);
  });

  it('is found without waiting for a family whose queries are dropped', async () => {
    const { find } = await machine({
      answer: (_, family) => (family === 4 ? ['192.0.2.1'] : 'silent'),
      // Longer than this test may run.
      tryMs: 600_000,
    });
    expect((await find('four.example')).addresses).toEqual(['192.0.2.1']);
  });

  it('has a bounded number of addresses', async () => {
    const many = Array.from({ length: 70 }, (_, at) => `192.0.2.${at}`);
    const { find } = await machine({ answer: (_, family) => (family === 4 ? many : []) });
    const { addresses } = await find('many.example');
    expect(addresses.length).toBeWithin(1, 65);
  });
});

describe('a name unknown to name servers', () => {
  it('is not found in any form', async () => {
    const { find } = await machine({});
    for (const name of [
      'none.example',
      'a..b',
      `${'x'.repeat(64)}.example`,
      `${'x.'.repeat(200)}`,
    ]) {
      await expect(find(name)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    }
  });

  it('may be found below a search domain', async () => {
    const { find, asked } = await machine({
      answer: (name, family) => (name === 'shop.svc.test' ? both(name, family) : 'unknown'),
      resolvConf: 'search ns.svc.test svc.test\noptions ndots:5',
    });
    expect((await find('shop')).addresses).toHaveLength(2);
    expect(new Set(asked)).toEqual(new Set(['shop.ns.svc.test', 'shop.svc.test']));
  });

  it('is reported as a failure if one of several servers failed', async () => {
    const { find } = await machine({
      answer: (name) => (name === 'shop.a.test' ? 'failed' : 'unknown'),
      resolvConf: 'search a.test',
    });
    await expect(find('shop')).rejects.toMatchObject({ code: 'ESERVFAIL' });
  });
});

describe('names of the machine', () => {
  it('need no query', async () => {
    const { find, asked } = await machine({ answer: both, hosts: '10.0.0.9 shop.example' });
    expect(await find('shop.example')).toEqual({ addresses: ['10.0.0.9'], keepMs: 0 });
    expect((await find('localhost')).addresses).toEqual(['127.0.0.1', '::1']);
    expect((await find('a.localhost')).addresses).toEqual(['127.0.0.1', '::1']);
    expect(asked).toEqual([]);
  });
});

describe('name servers that do not answer', () => {
  it('keep nothing open once a query is cancelled', async () => {
    const { lookup } = await machine({ answer: () => 'silent' });
    const descriptors = () => readdirSync('/proc/self/fd').length;
    const before = descriptors();
    const ending = new AbortController();
    const questions = Array.from({ length: 50 }, (_, at) =>
      lookup(`n${at}.example`, ending.signal),
    );
    expect(descriptors()).toBeGreaterThanOrEqual(before + 50);
    ending.abort(new Error('enough'));
    const settled = await Promise.allSettled(questions);
    expect(settled.map((one) => one.status === 'rejected' && String(one.reason))).toEqual(
      Array(50).fill('Error: enough'),
    );
    expect(descriptors()).toBeLessThanOrEqual(before);
  });
});
