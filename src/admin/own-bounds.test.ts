import { describe, expect, it } from 'bun:test';
import { refuseOwnBounds } from './own-bounds.ts';
import type { Rights } from './rights.ts';

const rights = (apps: Rights['apps']): Rights => ({
  role: 'admin',
  apps,
  instances: '*',
  seesPayloads: true,
});
const rule = { channels: 'a*', seconds: 120, events: 100, bytes: 1_048_576, replay: 0 };
const present = {
  enabled: true,
  limits: { connections: 5, messagesPerDay: 0 },
  history: [{ ...rule, events: 500 }],
  compressAboveBytes: 2_048,
};

describe("a tenant's own admin", () => {
  const change =
    (given: Parameters<typeof refuseOwnBounds>[0], of = rights(['shop'])) =>
    () =>
      refuseOwnBounds(given, { present, rights: of });

  it.each([
    ['limits.connections', { limits: { connections: 0 } }],
    ['limits.connections', { limits: { connections: 4 } }],
    ['limits.messagesPerDay', { limits: { connections: 5, messagesPerDay: 1 } }],
    ['history.0.events', { history: [{ ...rule, events: 501 }] }],
    ['history.0.events', { history: [{ ...rule, channels: 'b*', events: 101 }] }],
    ['history.1.seconds', { history: [rule, { ...rule, seconds: 121 }] }],
    ['compressAboveBytes', { compressAboveBytes: 1_024 }],
    ['compressAboveBytes', { compressAboveBytes: 0 }],
    ['history.0.bytes', { history: [{ ...rule, bytes: 1_048_577 }] }],
  ])('may not change what bounds the tenant: %s of %j', (field, given) => {
    let thrown: unknown;
    try {
      change(given)();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ status: 403, field });
    expect(String(thrown)).toContain('so it takes an admin of the whole server');
    expect(change(given, rights('*'))).not.toThrow();
  });

  it.each([
    { limits: { connections: 5 } },
    { limits: { connections: undefined } },
    { history: [{ ...rule, events: 500, replay: 100 }] },
    { history: [{ ...rule, channels: 'b*' }] },
    { history: [] },
    { compressAboveBytes: 2_048 },
    { enabled: true },
    { enabled: false },
    {},
  ])('may change all else: %j', (given) => {
    expect(change(given)).not.toThrow();
  });

  it('may not enable an app that is disabled', () => {
    const enable = (of: Rights) => () =>
      refuseOwnBounds({ enabled: true }, { present: { enabled: false }, rights: of });
    expect(enable(rights(['shop']))).toThrow('the operator may have disabled the app');
    expect(enable(rights('*'))).not.toThrow();
  });
});
