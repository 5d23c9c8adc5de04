import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RedisTls } from '../../../src/engines/redis/link/connector.ts';
import type { ClientTls } from '../../../src/runtime/tls/certificate.ts';
import { type Certificate, issued, selfSigned } from '../../../testing/servers/openssl.ts';
import { type OwnRedis, startRedis, startSentinel } from '../../../testing/servers/redis.ts';
import { openLink } from './link.fixture.ts';

/** A Redis and a sentinel that speak TLS, each with an authority of its own, want client certificates, and have users. */

const LOCAL = { days: 30, host: 'IP:127.0.0.1' };
const SENTINEL_USER = 'user watcher on >seen -@all +auth +sentinel|master';

let folder: string;
let redis: OwnRedis;
let sentinel: OwnRedis;
let plain: OwnRedis;
let plainSentinel: OwnRedis;
/** What is right for each of them. */
let tls: { readonly servers: ClientTls; readonly sentinels: ClientTls };
let stranger: Certificate;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fanfare-tls-'));
  const [one, two] = [selfSigned(folder, 'one'), selfSigned(folder, 'two')];
  stranger = selfSigned(folder, 'stranger');
  const both = join(folder, 'both.pem');
  writeFileSync(both, `${one.cert}${two.cert}`);
  const ofRedis = issued(folder, 'one', 'redis', LOCAL);
  const ofSentinel = issued(folder, 'two', 'sentinel', LOCAL);
  tls = {
    servers: { ca: one.cert, certificate: pairOf(issued(folder, 'one', 'client-one', LOCAL)) },
    sentinels: { ca: two.cert, certificate: pairOf(issued(folder, 'two', 'client-two', LOCAL)) },
  };
  redis = await startRedis(
    ['--requirepass', 'one', '--user', 'writer', 'on', '>two', 'allkeys', 'allchannels', '+@all'],
    // Both, because the sentinel connects too.
    { ...ofRedis, caFile: both },
  );
  sentinel = await startSentinel(
    redis.port,
    [
      'requirepass two',
      SENTINEL_USER,
      'user blind on >seen -@all +auth',
      'sentinel auth-pass main one',
    ],
    { ...ofSentinel, caFile: join(folder, 'two.pem') },
  );
  plain = await startRedis();
  plainSentinel = await startSentinel(plain.port);
});

afterAll(async () => {
  for (const one of [redis, sentinel, plain, plainSentinel]) await one[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function pairOf({ cert, key }: Certificate) {
  return { cert, key };
}

const WATCHER = { user: 'watcher', password: 'seen' };

interface Tried {
  readonly url: string;
  readonly tls?: Partial<RedisTls>;
  readonly sentinelLogin?: {
    readonly user: string | undefined;
    readonly password: string | undefined;
  };
}

const open = ({ url, tls: own, sentinelLogin }: Tried) =>
  openLink({
    url,
    tls: () => ({ ...tls, ...own }),
    startMs: 1_500,
    ...(sentinelLogin === undefined ? {} : { sentinelLogin: () => sentinelLogin }),
  });

const throughSentinel = () => `rediss+sentinel://writer:two@127.0.0.1:${sentinel.port}/main`;

describe('over TLS with certificates of clients', () => {
  it('a server is found and used with a user of its own at the sentinels and at Redis', async () => {
    await using link = await open({ url: throughSentinel(), sentinelLogin: WATCHER });
    expect(await link.server.commands.run(['ACL', 'WHOAMI'])).toBe('writer');
  });

  it('the next connection uses a renewed certificate', async () => {
    let current: RedisTls = tls;
    const url = `rediss://writer:two@127.0.0.1:${redis.port}`;
    await using link = await openLink({ url, tls: () => current });
    const next = selfSigned(folder, 'next');
    const trusted = join(folder, 'trusted.pem');
    writeFileSync(trusted, `${tls.servers.ca}${tls.sentinels.ca}${next.cert}`);
    // From here on, only the authority of the renewed certificate is trusted, and that of the sentinel.
    writeFileSync(trusted, `${tls.sentinels.ca}${next.cert}`);
    await link.server.commands.run(['CONFIG', 'SET', 'tls-ca-cert-file', trusted]);
    const renewed = pairOf(issued(folder, 'next', 'client-next', LOCAL));
    current = { ...tls, servers: { ...tls.servers, certificate: renewed } };
    const back = new Promise<void>((resolve) => {
      link.onBack = resolve;
    });
    link.server.commands
      .run(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no'])
      .catch(() => undefined);
    await back;
    expect(await link.server.commands.run(['PING'])).toBe('PONG');
    const both = join(folder, 'both.pem');
    await link.server.commands.run(['CONFIG', 'SET', 'tls-ca-cert-file', both]);
  }, 20_000);
});

/** What is wrong, what is tried, and the words that say what to change. */
const refusals: readonly (readonly [string, () => Tried, RegExp])[] = [
  [
    'this server has no certificate for Redis',
    () => ({
      url: `rediss://writer:two@127.0.0.1:${redis.port}`,
      tls: { servers: { ...tls.servers, certificate: undefined } },
    }),
    /wants a certificate of this server, and there is none: set engine\.tls\.certFile and engine\.tls\.keyFile/,
  ],
  [
    'its certificate comes from an authority that Redis does not trust',
    () => ({
      url: `rediss://writer:two@127.0.0.1:${redis.port}`,
      tls: { servers: { ...tls.servers, certificate: pairOf(stranger) } },
    }),
    /does not accept the certificate of this server \(unknown ca\): engine\.tls\.certFile/,
  ],
  [
    'the authority of Redis is not trusted',
    () => ({
      url: `rediss://writer:two@127.0.0.1:${redis.port}`,
      tls: { servers: { ...tls.servers, ca: stranger.cert } },
    }),
    /the certificate of 127\.0\.0\.1:\d+ is not accepted.*set engine\.tls\.caFile/,
  ],
  [
    'this server has no certificate for the sentinels',
    () => ({
      url: throughSentinel(),
      sentinelLogin: WATCHER,
      tls: { sentinels: { ...tls.sentinels, certificate: undefined } },
    }),
    /no sentinel knows the primary main: 127\.0\.0\.1:\d+ wants a certificate.*engine\.sentinels\.tls\.certFile/,
  ],
  [
    'the sentinels want a password',
    () => ({ url: throughSentinel() }),
    /wants a password \(NOAUTH .*\): set engine\.sentinels\.password/,
  ],
  [
    'the password of the sentinels is wrong',
    () => ({ url: throughSentinel(), sentinelLogin: { user: undefined, password: 'no' } }),
    /refuses the login \(WRONGPASS .*engine\.sentinels\.user and engine\.sentinels\.password/,
  ],
  [
    'the user of the sentinels lacks a right',
    () => ({ url: throughSentinel(), sentinelLogin: { user: 'blind', password: 'seen' } }),
    /NOPERM.*ACL SETUSER NAME \+sentinel\|master/,
  ],
  [
    'Redis wants another password',
    () => ({ url: throughSentinel().replace('two', 'no'), sentinelLogin: WATCHER }),
    /127\.0\.0\.1:\d+ refuses the login \(WRONGPASS .*in the address/,
  ],
  [
    'Redis wants a password',
    () => ({ url: `rediss://127.0.0.1:${redis.port}` }),
    /wants a password \(NOAUTH .*put it into the address/,
  ],
  [
    'the sentinels know another name',
    () => ({ url: throughSentinel().replace('main', 'other'), sentinelLogin: WATCHER }),
    /knows no primary of this name/,
  ],
  [
    'a password is set for sentinels that have none',
    () => ({
      url: `redis+sentinel://127.0.0.1:${plainSentinel.port}/main`,
      sentinelLogin: { user: undefined, password: 'x' },
    }),
    /remove engine\.sentinels\.password/,
  ],
  [
    'the sentinels do not speak TLS',
    () => ({ url: `rediss+sentinel://127.0.0.1:${plainSentinel.port}/main` }),
    /if it does not speak TLS, the address must begin with redis, not rediss/,
  ],
  [
    'the sentinels speak TLS alone',
    () => ({ url: `redis+sentinel://127.0.0.1:${sentinel.port}/main` }),
    /if it speaks TLS, the address must begin with rediss\+sentinel:\/\//,
  ],
  [
    'Redis speaks TLS alone',
    () => ({ url: `redis://127.0.0.1:${redis.port}` }),
    /if it speaks TLS, the address must begin with rediss:\/\//,
  ],
  [
    'the address is that of a server and not of a sentinel',
    () => ({ url: `redis+sentinel://127.0.0.1:${plain.port}/main` }),
    /is no sentinel/,
  ],
];

describe('a refusal says what to change, if', () => {
  it.concurrent.each(refusals)('%s', async (_, tried, words) => {
    await expect(open(tried())).rejects.toThrow(words);
  });
});
