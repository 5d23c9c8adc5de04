import { expect, it } from 'bun:test';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { channelAuth } from '../../testing/clients/sign.ts';
import { startWithWebhooks } from '../../testing/servers/app-with-webhooks.ts';
import { APP } from '../../testing/servers/fanfare.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';
import { LibraryProcess } from './library-process.ts';

/** A webhook request of the server, read by the official server library, unchanged from npm. */

for (const [runtime, command] of [
  ['Node', 'node'],
  ['Bun', process.execPath],
] as const) {
  it(`webhook() of pusher in ${runtime} accepts the requests of the server, and no forged ones`, async () => {
    using endpoint = startWebhookEndpoint();
    await using server = await startWithWebhooks([{ url: endpoint.url, events: ['member_added'] }]);
    await using ann = await RawClient.connect(server);
    const channel = 'presence-room';
    await ann.subscribe(channel, channelAuth(ann.socketId, channel, '{"user_id":"zoë 🎺"}'));
    const { headers, body, timeMs, events } = await endpoint.requests.next();
    using library = LibraryProcess.open(command, server);

    expect(await library.webhook({ headers, rawBody: body })).toEqual({
      valid: true,
      data: { time_ms: timeMs, events },
      events: [{ name: 'member_added', channel, user_id: 'zoë 🎺' }],
      time: new Date(Number(timeMs)).toISOString(),
    });

    const forged = { ...headers, 'x-pusher-signature': '0'.repeat(64) };
    const tampered = body.replace('zoë', 'eve');
    expect(await library.webhook({ headers: forged, rawBody: body })).toEqual({ valid: false });
    expect(await library.webhook({ headers, rawBody: tampered })).toEqual({ valid: false });

    // A request is signed with the oldest key. A backend that uses a newer one must list the oldest, too.
    using rotated = LibraryProcess.open(command, server, { key: 'newer', secret: 'its secret' });
    expect(await rotated.webhook({ headers, rawBody: body })).toEqual({ valid: false });
    const both = await rotated.webhook({ headers, rawBody: body }, [
      { key: APP.key, secret: APP.secret },
    ]);
    expect(both.valid).toBe(true);
  });
}
