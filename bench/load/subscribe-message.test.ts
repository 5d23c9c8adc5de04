import { expect, it } from 'bun:test';
import { benchAppAt } from '../bench-app.ts';
import { subscribeMessage } from './subscribe-message.ts';

// The example in the documentation of the protocol.
const app = {
  ...benchAppAt(6001),
  key: '278d425bdf160c739803',
  secret: '7ad3773142a6692b25b8',
};

it('signs a private channel as the documentation of the protocol does, and a public one not at all', () => {
  expect(subscribeMessage(app, '1234.1234', 'private-foobar', undefined)).toEqual({
    event: 'pusher:subscribe',
    data: {
      channel: 'private-foobar',
      auth: '278d425bdf160c739803:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4',
    },
  });
  expect(subscribeMessage(app, '1234.1234', 'news', undefined)).toEqual({
    event: 'pusher:subscribe',
    data: { channel: 'news' },
  });
});

it('signs the info of a member together with the channel', () => {
  expect(subscribeMessage(app, '1.2', 'presence-room', '00000012')).toMatchObject({
    data: {
      auth: `${app.key}:${new Bun.CryptoHasher('sha256', app.secret)
        .update(
          '1.2:presence-room:{"user_id":"00000012","user_info":{"name":"Somebody Or Other","seat":"fourth row"}}',
        )
        .digest('hex')}`,
      channel_data:
        '{"user_id":"00000012","user_info":{"name":"Somebody Or Other","seat":"fourth row"}}',
    },
  });
});
