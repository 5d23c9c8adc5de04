import { describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import { adminListener } from './admin-listener.ts';

/** Reads a configuration in both ways. */
function both(content: unknown, environment: Readonly<Record<string, string>> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-admin-listener-'));
  try {
    writeFileSync(join(directory, 'fanfare.json'), JSON.stringify(content));
    const places = { directory, environment, systemDirectory: directory };
    return { quick: adminListener(places), whole: loadConfig(places) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe('the admin listener of a configuration', () => {
  it.each<[object, Readonly<Record<string, string>>]>([
    [{}, {}],
    [{ admin: { host: '::', port: 7003 } }, {}],
    [{ admin: { host: '::' } }, { FANFARE_ADMIN_PORT: '7004' }],
    [{ admin: { host: '[::]' } }, {}],
    [{}, { FANFARE_ADMIN_HOST: '[0:0::1]' }],
    [{ admin: { port: 7003 } }, { FANFARE_ADMIN_HOST: 'localhost', FANFARE_ADMIN_PORT: '08' }],
    [{ admin: { port: 7003 } }, { FANFARE_ADMIN_PORT: 'tcp://10.0.0.1:6003' }],
  ])('is the one that a server opens: %j with %j', (content, environment) => {
    const { quick, whole } = both(content, environment);
    const { host, port } = whole.ok ? whole.config.admin : { host: '', port: 0 };

    expect(quick).toEqual({ host, port });
  });

  it.each<[unknown, Readonly<Record<string, string>>]>([
    [{ admin: { port: '6003x' } }, {}],
    [{ admin: { port: 65_536 } }, {}],
    [{ admin: { port: 1.5 } }, {}],
    [{ admin: { host: 1 } }, {}],
    [{}, { FANFARE_ADMIN_HOST: '' }],
    [{}, { FANFARE_ADMIN_HOST: 'fe80::1%eth0' }],
    [{ admin: { host: '*' } }, {}],
    [{}, { FANFARE_ADMIN_PORT: '-1' }],
    [{}, { FANFARE_CONFIG: 'gone.yaml' }],
  ])('is not guessed: %j with %j', (content, environment) => {
    const { quick, whole } = both(content, environment);

    expect(quick).toHaveProperty('problem');
    expect(whole.ok).toBe(false);
  });

  it('is found even if something else in the configuration is wrong', () => {
    const { quick, whole } = both({ chanels: {}, admin: { port: 7003, pasword: '' } });

    expect(quick).toEqual({ host: '127.0.0.1', port: 7003 });
    expect(whole.ok).toBe(false);
  });
});
