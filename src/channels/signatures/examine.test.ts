import { describe, expect, it } from 'bun:test';
import { createHash, createHmac } from 'node:crypto';
import { Revocations } from '../grants/revocations.ts';
import { appWith } from '../hub.fixture.ts';
import { examineAuth } from './examine.ts';

const KEY = 'app-key';
const SECRET = 'geheim-1';
const OTHER_SECRET = 'geheim-2';
const app = appWith({
  keys: [
    { key: KEY, secret: SECRET },
    { key: 'newer-key', secret: OTHER_SECRET },
  ],
});
const SOCKET = '123.456';
const DATA = '{"user_id":"ada","user_info":{"name":"Ädä/1"}}';

const hmac = (text: string, secret = SECRET) =>
  createHmac('sha256', secret).update(text).digest('hex');

const now = { nowSeconds: 0, revocations: new Revocations({ now: () => 0 }) };

interface Given {
  readonly channel?: string;
  readonly socketId?: string;
  readonly channelData?: string | undefined;
  /** The signature; by default it is right. */
  readonly signature?: string;
  readonly auth?: string;
}

function examine({ channel = 'private-room', socketId = SOCKET, channelData, ...given }: Given) {
  const signed = `${socketId}:${channel}${channelData === undefined ? '' : `:${channelData}`}`;
  const auth = given.auth ?? `${KEY}:${given.signature ?? hmac(signed)}`;
  const found = examineAuth(app, { channel, socketId, auth, channelData }, now);
  // It never reveals a secret, or a signature that would be right.
  for (const secret of [SECRET, OTHER_SECRET, hmac(signed), hmac(signed, OTHER_SECRET)]) {
    expect(JSON.stringify(found)).not.toContain(secret);
  }
  expect(found.signed).toBe(signed);
  return found;
}

describe('an authorisation', () => {
  it('is right with the signature of any key', () => {
    expect(examine({})).toMatchObject({ ok: true, text: 'The authorisation is right.' });
    expect(examine({ channel: 'presence-room', channelData: DATA })).toMatchObject({ ok: true });
    const auth = `newer-key:${hmac(`${SOCKET}:private-room`, OTHER_SECRET)}`;
    expect(examine({ auth })).toMatchObject({ ok: true });
  });

  it('is right without channel_data, with an empty third part or none', () => {
    for (const signed of [`${SOCKET}:private-room`, `${SOCKET}:private-room:`]) {
      const auth = `${KEY}:${hmac(signed)}`;
      for (const channelData of [undefined, '']) {
        expect(
          examineAuth(app, { channel: 'private-room', socketId: SOCKET, auth, channelData }, now),
        ).toEqual({
          ok: true,
          text: 'The authorisation is right.',
          signed: `${SOCKET}:private-room`,
        });
      }
    }
  });

  const bare = `${SOCKET}:private-room`;
  it.each<readonly [send: string, given: Given]>([
    ['This channel is public', { channel: 'room' }],
    ['name of the channel is not valid', { channel: 'private-a b' }],
    ['socket id is not valid', { socketId: '123' }],
    ['must be KEY:SIGNATURE', { auth: hmac(bare) }],
    ['not one of this app. Its keys are app-key, newer-key.', { auth: `x:${hmac(bare)}` }],
    ['secret is used in place of the key', { auth: `${SECRET}:${'0'.repeat(64)}` }],
    ['capital letters', { signature: hmac(bare).toUpperCase() }],
    ['Base64', { signature: createHmac('sha256', SECRET).update(bare).digest('base64') }],
    ['white space around the signature', { signature: `${hmac(bare)}\n` }],
    ['SHA-1', { signature: createHmac('sha1', SECRET).update(bare).digest('hex') }],
    ['the length of SHA-1', { signature: '0'.repeat(40) }],
    ['this one has 3 characters', { signature: 'abc' }],
    ['key in place of the secret', { signature: hmac(bare, KEY) }],
    ['plain hash', { signature: createHash('sha256').update(bare).digest('hex') }],
    ['secret of the key newer-key', { signature: hmac(bare, OTHER_SECRET) }],
    ['socket id is missing', { signature: hmac('private-room') }],
    ['wrong order', { signature: hmac(`private-room:${SOCKET}`) }],
    ['for a sign-in', { signature: hmac(`${SOCKET}::user::`) }],
    ['line break at the end', { signature: hmac(`${bare}\n`) }],
    ['percent-encoded', { channel: 'private-a=b', signature: hmac(`${SOCKET}:private-a%3Db`) }],
    ['in lower case', { channel: 'private-Room', signature: hmac(bare) }],
    ['for the channel presence-room.', { signature: hmac(`${SOCKET}:presence-room`) }],
    ['for the channel room.', { signature: hmac(`${SOCKET}:room`) }],
    ['is missing in what was signed', { channelData: DATA, signature: hmac(bare) }],
    ['as JSON twice', { channelData: DATA, signature: hmac(`${bare}:${JSON.stringify(DATA)}`) }],
    [
      'with other white space',
      { channelData: `${DATA.slice(0, 1)} ${DATA.slice(1)}`, signature: hmac(`${bare}:${DATA}`) },
    ],
    [
      'with other white space',
      {
        channelData: '{"user_id":"a:b","x":[1,2]}',
        signature: hmac(`${bare}:{"user_id": "a:b", "x": [1, 2]}`),
      },
    ],
    [
      'letters or slashes are escaped',
      {
        channelData: DATA,
        signature: hmac(
          `${bare}:${DATA.replace('Ä', '\\u00c4').replace('ä', '\\u00e4').replace('/', '\\/')}`,
        ),
      },
    ],
    ['The signature is another', { signature: '0'.repeat(64) }],
  ])('is wrong: %s', (send, given) => {
    expect(examine(given)).toMatchObject({ ok: false, text: expect.stringContaining(send) });
  });

  it.each([
    ['needs `channel_data`', undefined],
    ['not the JSON text of an object', 'ada'],
    ['not the JSON text of an object', '[]'],
    ['has no `user_id`', '{}'],
    ['has no `user_id`', '{"user_id":""}'],
  ])('of a presence channel %s', (send, channelData) => {
    expect(examine({ channel: 'presence-room', channelData })).toMatchObject({
      ok: false,
      text: expect.stringMatching(new RegExp(`^The signature is right, but .*${send}`)),
    });
  });
});
