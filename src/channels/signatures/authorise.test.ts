import { describe, expect, it } from 'bun:test';
import { appWith, channelName, socketId, VECTOR } from '../hub.fixture.ts';
import { refuseSubscription } from './authorise.ts';
import { sign } from './signature.ts';

/** Source: Channels protocol, §5.5. */

const app = appWith();
const ROTATING = appWith({
  keys: [
    { key: 'old', secret: 'a' },
    { key: 'new', secret: 'b' },
  ],
});

/** Why the connection of the vectors may not enter a channel. */
function refusal(channel: string, auth: string | undefined, channelData?: string) {
  return refuseSubscription({ app, socketId: VECTOR.socketId }, channelName(channel), {
    auth,
    channelData,
  });
}

describe('the vectors of the documentation', () => {
  it.each([
    [
      '1234.1234:private-foobar',
      '58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4',
    ],
    [
      '1234.1234:presence-foobar:{"user_id":10,"user_info":{"name":"Mr. Channels"}}',
      '31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80',
    ],
    [
      '1234.1234:presence-foobar:{"user_id":10,"user_info":{"name":"Mr. Pusher"}}',
      'afaed3695da2ffd16931f457e338e6c9f2921fa133ce7dac49f529792be6304c',
    ],
    [
      '1234.1234::user::{"id":"12345"}',
      '4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba',
    ],
  ])('are signed as they are there: %s', (text, signature) => {
    expect(sign(VECTOR.secret, text)).toBe(signature);
  });

  it.each([
    [
      'private-foobar',
      '58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4',
      undefined,
    ],
    [
      'presence-foobar',
      '31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80',
      '{"user_id":10,"user_info":{"name":"Mr. Channels"}}',
    ],
    [
      'presence-foobar',
      'afaed3695da2ffd16931f457e338e6c9f2921fa133ce7dac49f529792be6304c',
      '{"user_id":10,"user_info":{"name":"Mr. Pusher"}}',
    ],
  ])('open %s with %s', (channel, signature, channelData) => {
    expect(refusal(channel, `${VECTOR.key}:${signature}`, channelData)).toBeUndefined();
  });

  it('do not open it with the signature that the page prints beside another name', () => {
    const misprint = 'afaed3695da2ffd16931f457e338e6c9f2921fa133ce7dac49f529792be6304c';
    const data = '{"user_id":10,"user_info":{"name":"Mr. Channels"}}';

    expect(refusal('presence-foobar', `${VECTOR.key}:${misprint}`, data)).toBe(
      `Invalid signature: Expected HMAC SHA256 hex digest of 1234.1234:presence-foobar:${data}, but got ${misprint}`,
    );
  });
});

describe('a subscription', () => {
  const signature = '58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4';
  const MALFORMED =
    "Auth value for subscription to private-foobar is invalid: should be of format 'key:signature'";
  const invalid = (sent: string, text = '1234.1234:private-foobar') =>
    `Invalid signature: Expected HMAC SHA256 hex digest of ${text}, but got ${sent}`;

  it('without channel_data may be signed with an empty third part, as some backends do', () => {
    const withPart = sign(VECTOR.secret, '1234.1234:private-foobar:');

    expect(refusal('private-foobar', `${VECTOR.key}:${signature}`)).toBeUndefined();
    expect(refusal('private-foobar', `${VECTOR.key}:${withPart}`)).toBeUndefined();
    expect(refusal('private-foobar', `${VECTOR.key}:${withPart}`, '{}')).toBe(
      invalid(withPart, '1234.1234:private-foobar:{}'),
    );
  });

  it.each([undefined, '', ':', 'x', `:${signature}`, `${VECTOR.key}:`, signature])(
    'is refused without a key and a signature: %s',
    (auth) => {
      expect(refusal('private-foobar', auth)).toBe(MALFORMED);
    },
  );

  it.each([
    signature.toUpperCase(),
    signature.slice(1),
    `${signature} `,
    `${signature}0`,
    `0x${signature}`,
    signature.replace('5', '6'),
    `:${signature}`,
    'é',
  ])('is refused with another signature: %s', (sent) => {
    expect(refusal('private-foobar', `${VECTOR.key}:${sent}`)).toBe(invalid(sent));
  });

  it('is refused with the signature for another connection, channel or channel_data', () => {
    const auth = `${VECTOR.key}:${signature}`;

    expect(
      refuseSubscription({ app, socketId: socketId('1234.12345') }, channelName('private-foobar'), {
        auth,
        channelData: undefined,
      }),
    ).toBe(invalid(signature, '1234.12345:private-foobar'));
    expect(refusal('private-foobar2', auth)).toBe(invalid(signature, '1234.1234:private-foobar2'));
    expect(refusal('private-foobar', auth, '{}')).toBe(
      invalid(signature, '1234.1234:private-foobar:{}'),
    );
  });

  it('accepts any key of the app, each with its own secret, and no other key', () => {
    const auth = (key: string, secret: string) =>
      refuseSubscription(
        { app: ROTATING, socketId: VECTOR.socketId },
        channelName('private-foobar'),
        { auth: `${key}:${sign(secret, '1234.1234:private-foobar')}`, channelData: undefined },
      );

    expect(auth('old', 'a')).toBeUndefined();
    expect(auth('new', 'b')).toBeUndefined();
    expect(auth('old', 'b')).toStartWith('Invalid signature: ');
    expect(auth('new', 'a')).toStartWith('Invalid signature: ');
    expect(auth(VECTOR.key, VECTOR.secret)).toBe(
      `Invalid key in subscription auth data: '${VECTOR.key}'`,
    );
  });

  it('does not reveal the secret', () => {
    for (const auth of [undefined, 'x:y', `${VECTOR.key}:y`]) {
      expect(refusal('private-foobar', auth)).not.toContain(VECTOR.secret);
    }
  });
});
