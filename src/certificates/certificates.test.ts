import { describe, expect, it } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { FakeTime } from '../../testing/fake-time.ts';
import { MemoryCertificates } from '../../testing/memory-stores/certificates.ts';
import { AcmeDirectory } from '../../testing/servers/acme-directory.ts';
import type { Log } from '../runtime/ports.ts';
import type { Certificate } from '../runtime/tls/certificate.ts';
import { faultOf } from './certificate-fault.ts';
import { Certificates } from './certificates.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DOMAINS = ['push.example.test', 'ws.example.test'];

interface Given {
  readonly store?: MemoryCertificates;
  readonly domains?: readonly string[];
}

/** An authority, and servers whose domains lead to the last one that was started. */
function scene() {
  const time = new FakeTime({ turns: 20 });
  const servers: Certificates[] = [];
  const logged: string[] = [];
  const log = (message: string, fields = {}) =>
    void logged.push(`${message} ${JSON.stringify(fields)}`);
  const authority = new AcmeDirectory({
    now: () => time.now(),
    look: async (_, token) => servers.at(-1)?.answer(token),
  });
  const start = async ({ store = new MemoryCertificates(), domains = DOMAINS }: Given = {}) => {
    const used: Certificate[] = [];
    const server = await Certificates.open({
      directory: authority.url,
      email: 'ops@example.test',
      domains,
      store,
      send: (url, init) => {
        const aborted = Promise.withResolvers<Response>();
        init.signal.addEventListener('abort', () => aborted.reject(init.signal.reason));
        if (init.signal.aborted) aborted.reject(init.signal.reason);
        return Promise.race([aborted.promise, authority.fetch(url, init)]);
      },
      timers: time,
      random: () => 0.5,
      changed: (certificate) => void used.push(certificate),
      onOrder: () => undefined,
      log: { debug: log, info: log, warn: log, error: log } satisfies Log,
    });
    servers.push(server);
    server.start();
    const fault = () => faultOf(server.state, time.now());
    return { server, used, store, fault };
  };
  /** Sets the clock to a later time, as seen by all servers. */
  const later = async (byMs: number) => {
    time.setClock(byMs);
    await time.advance(20_000);
  };
  return { time, authority, servers, logged, start, later };
}

const read = ({ cert }: Certificate) => new X509Certificate(cert);

describe('a server with tls.acme', () => {
  it('begins with a certificate that nobody trusts, and gets one for all its domains', async () => {
    const { time, authority, start } = scene();
    const { server, used, fault } = await start();
    expect(read(server.certificate).verify(read(server.certificate).publicKey)).toBe(true);
    expect(fault()).toMatchObject({ isMissing: true });

    await time.advance(10_000);
    expect(used).toHaveLength(1);
    expect(read(server.certificate).verify(authority.publicKey)).toBe(true);
    expect(DOMAINS.map((domain) => read(server.certificate).checkHost(domain))).toEqual(DOMAINS);
    expect(fault()).toBeUndefined();
    expect(server.answer('anything')).toBeUndefined();
  });

  it('renews it once a third of its lifetime is left, and not earlier', async () => {
    const { time, authority, start, later } = scene();
    const { used } = await start();
    await time.advance(10_000);
    await later(59 * DAY_MS);
    expect(authority.ordersAtMs).toHaveLength(1);
    await later(5 * DAY_MS);
    expect(authority.ordersAtMs).toHaveLength(2);
    expect(used).toHaveLength(2);
    expect(authority.accounts.size).toBe(1);
  });

  it('uses the stored certificate after a restart, and orders nothing', async () => {
    const { time, authority, start, later } = scene();
    const { server, store } = await start();
    await time.advance(10_000);
    await server[Symbol.asyncDispose]();

    const again = await start({ store });
    await later(DAY_MS);
    expect(again.server.certificate.cert).toBe(server.certificate.cert);
    expect(authority.ordersAtMs).toHaveLength(1);
  });

  it('keeps a certificate that it cannot renew, and reports why', async () => {
    const { time, authority, start, later } = scene();
    const { server, fault } = await start();
    await time.advance(10_000);
    const { cert } = server.certificate;
    authority.refusal = { status: 403, type: 'caa', detail: 'CAA forbids it' };
    await later(70 * DAY_MS);
    expect(server.certificate.cert).toBe(cert);
    expect(fault()).toMatchObject({ isMissing: false });
    expect(fault()?.text).toContain('CAA forbids it');

    authority.refusal = undefined;
    await later(5 * HOUR_MS);
    expect(fault()).toBeUndefined();
    expect(server.certificate.cert).not.toBe(cert);
  });

  it('reports that nobody can connect once the certificate has expired', async () => {
    const { time, authority, start, later } = scene();
    const { fault } = await start();
    await time.advance(10_000);
    authority.isAway = true;
    await later(91 * DAY_MS);
    expect(fault()).toMatchObject({ isMissing: true });
    expect(fault()?.text).toContain('authority.test cannot be reached');
  });

  it('backs off: at most 4 orders in an hour and 12 in a day', async () => {
    const { time, authority, start, later } = scene();
    authority.refusal = { status: 500, type: 'serverInternal', detail: 'out of order' };
    await start();
    await time.advance(HOUR_MS);
    expect(authority.ordersAtMs.length).toBeLessThanOrEqual(4);
    for (let minutes = 60; minutes < 24 * 60; minutes += 10) await later(10 * 60_000 - 20_000);
    expect(authority.ordersAtMs.length).toBeLessThanOrEqual(12);
  });

  it('counts orders across restarts, and no order that is repeated at once exceeds the limit', async () => {
    const { time, authority, start } = scene();
    authority.refusal = { status: 500, type: 'serverInternal', detail: 'out of order' };
    const store = new MemoryCertificates();
    for (let restart = 0; restart < 20; restart++) {
      const { server } = await start({ store });
      await time.advance(60_000);
      server.retry();
      await time.advance(60_000);
      await server[Symbol.asyncDispose]();
    }
    expect(authority.ordersAtMs).toHaveLength(4);
  });

  it('does not count an order twice that ended with its server', async () => {
    const { time, authority, servers, start } = scene();
    const store = new MemoryCertificates({ isShared: true });
    const { server } = await start({ store });
    // It waits until all servers know the challenge.
    await time.advance(1_000);
    expect(authority.ordersAtMs).toHaveLength(1);
    await server[Symbol.asyncDispose]();
    expect(store.kept.plan).toMatchObject({ failures: 0, problem: '' });

    servers.pop();
    const { used } = await start({ store });
    await time.advance(20_000);
    expect(used).toHaveLength(1);
  });

  it('waits for as long as the authority wants, also after a restart', async () => {
    const { time, authority, start, later } = scene();
    const refusal = { status: 429, type: 'rateLimited', detail: 'too many certificates' };
    authority.refusal = { ...refusal, retryAfter: String(36 * 3600) };
    const { server, store } = await start();
    await time.advance(HOUR_MS);
    expect(server.state.problem).toContain('too many certificates');
    await server[Symbol.asyncDispose]();
    const again = await start({ store });
    again.server.retry();
    await later(34 * HOUR_MS);
    expect(authority.ordersAtMs).toHaveLength(1);
    await later(2 * HOUR_MS);
    expect(authority.ordersAtMs).toHaveLength(2);
  });

  it('waits for an hour if the authority does not say for how long', async () => {
    const { time, authority, start } = scene();
    authority.refusal = { status: 429, type: 'rateLimited', detail: 'too many' };
    await start();
    await time.advance(59 * 60_000);
    expect(authority.ordersAtMs).toHaveLength(1);
    await time.advance(5 * 60_000);
    expect(authority.ordersAtMs).toHaveLength(2);
  });

  it('does not wait for times of a clock that was wrong', async () => {
    const { time, authority, start, later } = scene();
    authority.refusal = { status: 500, type: 'serverInternal', detail: 'out of order' };
    await start();
    await time.advance(10_000);
    expect(authority.ordersAtMs).toHaveLength(1);
    await later(-2 * DAY_MS);
    expect(authority.ordersAtMs).toHaveLength(2);
  });

  it('reports what to check if a domain does not lead to it', async () => {
    const { time, servers, start } = scene();
    const { server, fault } = await start();
    servers.pop();
    await time.advance(30_000);
    expect(server.state.problem).toContain('could not check push.example.test: ');
    expect(server.state.problem).toContain('port 80 of push.example.test');
    expect(fault()).toMatchObject({ isMissing: true });
  });

  it('repeats a request whose nonce is too old', async () => {
    const { time, authority, start } = scene();
    authority.badNonces = 3;
    const { used } = await start();
    await time.advance(20_000);
    expect(used).toHaveLength(1);
  });

  it('makes a new account if the authority has forgotten its own', async () => {
    const { time, authority, start, later } = scene();
    const { used, store } = await start();
    await time.advance(10_000);
    const before = store.kept.account;
    authority.accounts.clear();
    await later(65 * DAY_MS);
    expect(used).toHaveLength(2);
    expect(store.kept.account?.key).not.toBe(before?.key);
  });

  it('orders at once for other domains, and uses the old certificate until then', async () => {
    const { time, authority, start } = scene();
    const { server, store } = await start();
    await time.advance(10_000);
    await server[Symbol.asyncDispose]();
    const other = await start({ store, domains: ['other.example.test'] });
    expect(other.server.certificate.cert).toBe(server.certificate.cert);
    await time.advance(10_000);
    expect(read(other.server.certificate).checkHost('other.example.test')).toBeDefined();
    expect(authority.ordersAtMs).toHaveLength(2);
  });

  it('ends an order that takes more than five minutes', async () => {
    const { time, authority, start } = scene();
    authority.fetch = () => new Promise(() => undefined);
    const { server } = await start();
    await time.advance(4 * 60_000);
    expect(server.state.problem).toBe('');
    await time.advance(2 * 60_000);
    expect(server.state.problem).toBe('The authority took too long');
  });
});

describe('two servers with one store', () => {
  it('order one certificate, which both use, and both answer the authority', async () => {
    const { time, authority, start, later } = scene();
    const store = new MemoryCertificates({ isShared: true });
    const one = await start({ store });
    // The authority asks this one, whichever orders.
    const other = await start({ store });
    await time.advance(30_000);
    expect(authority.ordersAtMs).toHaveLength(1);
    expect(one.used.map(({ cert }) => cert)).toEqual(other.used.map(({ cert }) => cert));
    expect(one.used).toHaveLength(1);
    await later(70 * DAY_MS);
    expect(authority.ordersAtMs).toHaveLength(2);
    expect([one.used, other.used].map(({ length }) => length)).toEqual([2, 2]);
  });

  it('do not order in turn for ever if their domains differ', async () => {
    const { time, authority, start, later } = scene();
    const store = new MemoryCertificates({ isShared: true });
    await start({ store });
    await start({ store, domains: ['other.example.test'] });
    await time.advance(60_000);
    for (let minutes = 1; minutes < 23 * 60; minutes += 15) await later(15 * 60_000 - 20_000);
    expect(authority.ordersAtMs).toHaveLength(12);
  });

  it('share the limits of orders', async () => {
    const { time, authority, start } = scene();
    authority.refusal = { status: 500, type: 'serverInternal', detail: 'out of order' };
    const store = new MemoryCertificates({ isShared: true });
    await start({ store });
    await start({ store });
    await time.advance(HOUR_MS);
    expect(authority.ordersAtMs.length).toBeLessThanOrEqual(4);
  });
});

describe('while the store is away', () => {
  it('a certificate in use stays, and one that was obtained is stored later', async () => {
    const { time, authority, logged, start } = scene();
    const { server, store, used } = await start();
    const { fetch } = authority;
    authority.fetch = async (url, init) => {
      if (url.includes('/certificate/')) store.isAway = true;
      return await fetch.call(authority, url, init);
    };
    await time.advance(10_000);
    expect(used).toHaveLength(1);
    expect(store.kept.certificate).toBeUndefined();
    expect(logged.filter((line) => line.includes('the store is away'))).toHaveLength(1);

    store.isAway = false;
    await time.advance(3_000);
    expect(store.kept.certificate?.cert).toBe(server.certificate.cert);
    expect(authority.ordersAtMs).toHaveLength(1);
  });
});
