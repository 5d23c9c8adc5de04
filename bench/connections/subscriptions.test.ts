import { expect, it } from 'bun:test';
import { channelNames, privateSubscription, publicSubscriptions } from './subscriptions.ts';

/** Reads frames of a client, whose mask is all zeros here. */
function messagesIn(frames: Uint8Array): unknown[] {
  const messages: unknown[] = [];
  let rest = Buffer.from(frames);
  while (rest.length > 0) {
    const isLong = rest[1] === (0x80 | 126);
    const start = (isLong ? 4 : 2) + 4;
    const end = start + (isLong ? rest.readUInt16BE(2) : (rest[1] ?? 0) & 127);
    messages.push(JSON.parse(rest.toString('latin1', start, end)));
    rest = rest.subarray(end);
  }
  return messages;
}

it('names channels that are all of one length', () => {
  expect(channelNames(2, 'private-')).toEqual(['private-bench-000000', 'private-bench-000001']);
});

it('subscribes to every public channel, with a frame each', () => {
  const subscriptions = publicSubscriptions(['a', 'b']);

  expect(subscriptions.channels).toBe(2);
  expect(messagesIn(subscriptions.frames(''))).toEqual([
    { event: 'pusher:subscribe', data: { channel: 'a' } },
    { event: 'pusher:subscribe', data: { channel: 'b' } },
  ]);
});

it('signs a private channel as the documentation of the protocol does', () => {
  const app = { key: '278d425bdf160c739803', secret: '7ad3773142a6692b25b8' };
  const subscriptions = privateSubscription(app, 'private-foobar');
  const subscribe = {
    event: 'pusher:subscribe',
    data: {
      channel: 'private-foobar',
      auth: '278d425bdf160c739803:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4',
    },
  };

  for (const data of [{ socket_id: '1234.1234' }, JSON.stringify({ socket_id: '1234.1234' })]) {
    const established = JSON.stringify({ event: 'pusher:connection_established', data });
    expect(messagesIn(subscriptions.frames(established))).toEqual([subscribe]);
  }
  expect(() => subscriptions.frames('{}')).toThrow('without a socket id');
});
