import { describe, expect, it } from 'bun:test';
import type { DayUsage } from '../../../channels/usage/usage.ts';
import { Readiness } from '../../../transports/admin/readiness.ts';
import { Monitor, type MonitorOptions } from './monitor.ts';

/** The monitor of a server with the app `shop`, which may send 100 messages a day. */
function monitorWith(usageToday: () => Promise<readonly DayUsage[]>) {
  const readiness = new Readiness();
  const byId = () => ({ limits: { messagesPerDay: 100 } });
  const options = {
    realtime: { askAll: async () => [] },
    metrics: { measure: () => new Map() },
    readiness,
    webhooks: { endpoints: () => [] },
    apps: { directory: { byId }, unknownSettings: [] },
    instances: { directory: { byNumber: () => undefined }, unknownSettings: [] },
    usageToday,
    keySets: () => [],
    sources: () => [],
    circuits: () => [],
    storeFile: undefined,
    tls: undefined,
    log: {},
  };
  return { readiness, monitor: new Monitor(options as unknown as MonitorOptions) };
}

describe('the monitor', () => {
  it('reports conditions also while the store does not answer', async () => {
    const { monitor, readiness } = monitorWith(() => Promise.withResolvers<never>().promise);
    readiness.setStore('store', 'no answer');
    expect((await monitor.check()).conditions).toMatchObject([
      { id: 'store-away', text: 'The store cannot be used: no answer.' },
    ]);
  });

  it('counts what backends have sent against the quota, and not what clients have', async () => {
    const usage = { appId: 'shop', day: '2026-11-24', messages: 150, clientMessages: 54 };
    const { monitor } = monitorWith(async () => [usage]);
    // The first one begins to read it.
    await monitor.check();
    expect((await monitor.check()).conditions).toMatchObject([
      { id: 'quota', app: 'shop', level: 'warn', text: expect.stringContaining('96 %') },
    ]);
  });
});
