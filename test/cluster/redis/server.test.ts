import { describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROBE } from '../../../src/engines/redis/link/probe.ts';
import {
  RedisAway,
  RedisRefused,
  RedisUnsuitable,
  RedisUrlInvalid,
} from '../../../src/engines/redis/link/reply.ts';
import { RedisScript } from '../../../src/engines/redis/link/script.ts';
import { NO_CLIENT_TLS } from '../../../src/runtime/tls/certificate.ts';
import { untrusted } from '../../../testing/servers/certificates.ts';
import { freePort } from '../../../testing/servers/free-port.ts';
import { startRedis } from '../../../testing/servers/redis.ts';
import { openLink } from './link.fixture.ts';

const hello = new RedisScript("return redis.call('SET', KEYS[1], 'hello')");

/** What the connections themselves need, and the commands of all scripts. */
const RIGHTS = [
  '~fanfare:* &fanfare:* +info +time +select +subscribe +unsubscribe +evalsha +script|load',
  ...Array.from(
    PROBE.source.matchAll(/\btry\('(\w+)'/g),
    ([, name = '']) => `+${name.toLowerCase()}`,
  ),
].join(' ');

describe('a Redis server', () => {
  it.concurrent('is used over TLS, if its certificate is trusted', async () => {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'fanfare-tls-'));
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    writeFileSync(cert, untrusted.cert);
    writeFileSync(key, untrusted.key);
    const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
    const options = ['--tls-port', String(port), '--tls-auth-clients', 'no', ...files];
    await using _redis = await startRedis(options);
    const url = `rediss://127.0.0.1:${port}`;
    const trusting = { ca: untrusted.cert, certificate: undefined };
    const tls = () => ({ servers: trusting, sentinels: NO_CLIENT_TLS });
    await using link = await openLink({ url, tls });

    expect(await link.server.commands.run(['PING'])).toBe('PONG');
    await expect(openLink({ url, startMs: 500 })).rejects.toThrow('set engine.tls.caFile to');
    rmSync(folder, { recursive: true });
  });

  it.concurrent('is used by a user with the rights that it needs and no others', async () => {
    await using redis = await startRedis([
      '--user',
      'fanfare',
      'on',
      '>p@ss:w/rd',
      ...RIGHTS.split(' '),
    ]);
    const login = `fanfare:${encodeURIComponent('p@ss:w/rd')}`;
    const scripts = [hello];
    await using link = await openLink({
      url: `redis://${login}@127.0.0.1:${redis.port}/5`,
      scripts,
    });

    expect(await link.server.commands.script(hello, { keys: ['fanfare:a'], args: [] })).toBe('OK');
    await link.server.subscriptions.follow('fanfare:topic');
    await expect(link.server.commands.run(['CONFIG', 'GET', '*'])).rejects.toThrow('NOPERM');
  });

  it.concurrent.each([
    ['the password is wrong', ['--requirepass', 'right'], 'redis://:wrong@', '', /WRONGPASS/],
    ['no password is given', ['--requirepass', 'right'], 'redis://', '', /NOAUTH/],
    ['there is no such database', [], 'redis://', '/99', /DB index is out of range/],
    ['EVALSHA was renamed', ['--rename-command', 'EVALSHA', ''], 'redis://', '', /'EVALSHA'/],
    ['SCRIPT was renamed', ['--rename-command', 'SCRIPT', ''], 'redis://', '', /'SCRIPT'/],
    [
      'its user may run no scripts',
      ['--user', 'ann', 'on', '>pw', '~*', '&*', '+@all', '-@scripting'],
      'redis://ann:pw@',
      '',
      /evalsha/i,
    ],
  ])(
    'is refused with the reason after the time of a start, and logged at once, if %s',
    async (_, options, start, end, why) => {
      await using redis = await startRedis(options);
      const warnings: unknown[] = [];
      const warn = (text: string, fields: unknown) => warnings.push([text, fields]);
      const failure = await openLink({
        url: `${start}127.0.0.1:${redis.port}${end}`,
        startMs: 1_500,
        log: { debug: () => undefined, info: () => undefined, warn, error: () => undefined },
      }).catch((error) => error);
      expect(failure).toBeInstanceOf(RedisRefused);
      expect(failure.message).toMatch(why);
      expect(warnings).toContainEqual([
        'Redis cannot be used yet',
        { server: `127.0.0.1:${redis.port}`, why: expect.stringMatching(why) },
      ]);
    },
  );

  it.concurrent('whose password is corrected during the start is used', async () => {
    await using redis = await startRedis(['--requirepass', 'old']);
    const cli = (...words: readonly string[]) =>
      Bun.spawnSync(['redis-cli', '-p', String(redis.port), '-a', 'old', ...words]);
    const opening = openLink({
      url: `redis://:new@127.0.0.1:${redis.port}`,
      log: {
        debug: () => undefined,
        info: () => undefined,
        warn: () => cli('CONFIG', 'SET', 'requirepass', 'new'),
        error: () => undefined,
      },
    });
    await using link = await opening;
    expect(await link.server.commands.run(['PING'])).toBe('PONG');
  });

  it('that is a Redis Cluster is refused at once, because it will stay one', async () => {
    await using redis = await startRedis(['--cluster-enabled', 'yes']);
    const failure = await openLink({ url: redis.url }).catch((error) => error);
    expect(failure).toBeInstanceOf(RedisUnsuitable);
    expect(failure.message).toContain('redis+cluster://');
  });

  it('with an address of something else is refused at once', async () => {
    await expect(openLink({ url: 'http://127.0.0.1' })).rejects.toThrow(RedisUrlInvalid);
  });

  it.concurrent('that does not answer is waited for at the start, and then named with the reason', async () => {
    const port = await freePort();

    const failure = await openLink({ url: `redis://127.0.0.1:${port}` }).catch((error) => error);

    expect(failure).toBeInstanceOf(RedisAway);
    expect(failure.message).toMatch(/ECONNREFUSED|refused/i);
  }, 20_000);

  it.concurrent('that starts a little later is waited for', async () => {
    await using redis = await startRedis();
    await redis.kill();
    const opening = openLink({ url: redis.url });
    await Bun.sleep(1_000);

    await redis.start();

    await using link = await opening;
    expect(await link.server.commands.run(['PING'])).toBe('PONG');
  });

  it.concurrent('that is a replica is not used', async () => {
    await using primary = await startRedis();
    await using replica = await startRedis(['--replicaof', '127.0.0.1', String(primary.port)]);

    const failure = await openLink({ url: replica.url }).catch((error) => error);

    expect(failure.message).toMatch(/is a replica/);
  }, 20_000);

  it.concurrent('that may evict keys is used with a warning', async () => {
    const options = ['--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru'];
    await using redis = await startRedis(options);
    await using link = await openLink({ url: redis.url });

    expect(link.warnings).toEqual([expect.stringContaining('maxmemory-policy is allkeys-lru')]);
  });
});
