import { describe, expect, it } from 'bun:test';
import { makeApp } from '../../testing/clients/admin-api.ts';
import { requestPush } from '../../testing/clients/push-requests.ts';
import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { eventually } from '../../testing/eventually.ts';
import { isLong } from '../../testing/long-run.ts';
import { TestApp } from '../../testing/servers/test-app.ts';
import { DeliverySite, newsFor, timesOf } from '../failure/push/delivery-site.ts';

const DEVICES = 3_000;

const CHANNELS = Array.from({ length: 20 }, (_, n) => `channel-${n}`);

/** More than a claim of a webhook and the next look at the outbox take: 70 s and 30 s. */
const WAIT_MAX_MS = 150_000;

// Leases end by the clock of real servers.
describe.skipIf(!isLong)('a server that is killed with work in hand', () => {
  it(
    'leaves it to another one, which delivers all of it',
    async () => {
      await using store = await throwAwayPostgres();
      const received: string[] = [];
      let isOpen = false;
      using endpoint = Bun.serve({
        hostname: '127.0.0.1',
        port: 0,
        async fetch(request) {
          // The first ones are never answered: they are in flight when their server ends.
          if (!isOpen) await new Promise(() => undefined);
          const { events } = (await request.json()) as { events: { channel: string }[] };
          received.push(...events.map(({ channel }) => channel));
          return new Response();
        },
      });
      await using site = await DeliverySite.start({
        crowds: [{ apns: DEVICES }],
        areTrusted: true,
        storeUrl: store.url,
        config: { webhooks: { allowPrivateAddresses: true } },
      });
      const instance = site.instance(0);
      await using other = await site.another();
      const webhook = { url: endpoint.url.href, events: ['channel_occupied'], batching: false };
      const app = new TestApp(other, await makeApp(other, { webhooks: [webhook] }));
      await using client = await app.connect();
      for (const channel of CHANNELS) await client.subscribe(channel);
      await eventually(
        () => endpoint.pendingRequests,
        (requests) => requests > 0,
      );

      const { arrivals, script } = site.apns;
      script.latencyMs = 1_000;
      const { json } = await requestPush(other, instance.requests.publish(newsFor('apns')));
      await arrivals.reaches(DEVICES / 4);
      const killedAtMs = performance.now();
      await other.stop('SIGKILL');
      const inFlight = arrivals.count;
      isOpen = true;
      script.latencyMs = 0;

      const publishId = String(json['publishId']);
      const took = { push: 0, webhooks: 0 };
      const since = () => Math.round((performance.now() - killedAtMs) / 1000);
      for (;;) {
        const { state } = await site.status(instance, publishId);
        if (state === 'finished') took.push ||= since();
        if (CHANNELS.every((channel) => received.includes(channel))) took.webhooks ||= since();
        if (took.push > 0 && took.webhooks > 0) break;
        if (since() * 1000 > WAIT_MAX_MS) throw new Error(JSON.stringify({ state, received }));
        await Bun.sleep(500);
      }
      const times = timesOf(arrivals.list().map(({ token }) => token));
      expect(times.size).toBe(DEVICES);
      // Only what was sent before the end may be sent again.
      expect(arrivals.count).toBeLessThanOrEqual(DEVICES + inFlight);
      expect(Math.max(...times.values())).toBeLessThanOrEqual(2);
      expect(received.toSorted()).toEqual(CHANNELS.toSorted());
      console.log(`seconds until another server had done it: ${JSON.stringify(took)}`);
    },
    WAIT_MAX_MS + 30_000,
  );
});
