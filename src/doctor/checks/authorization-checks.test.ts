import { expect, it } from 'bun:test';
import { answer } from '../answer.fixture.ts';
import { channelAuth } from '../client/signed-request.ts';
import { fine, found } from '../finding.fixture.ts';
import { type AuthorizationAsked, judgeAuthorization } from './authorization-checks.ts';

const PRIVATE = 'private-orders.7';
const SOCKET = '1.2';
const USER = '{"user_id":"7"}';

const auth = (signed: string, { key = 'key', secret = 'secret', socketId = SOCKET } = {}) =>
  channelAuth(key, secret, socketId, signed);

const asked = (channel: string, changes: Partial<AuthorizationAsked> = {}): AuthorizationAsked => ({
  channel,
  socketId: SOCKET,
  isExpected: true,
  key: 'key',
  secret: 'secret',
  ...changes,
});

const html = { 'content-type': 'text/html' };
const page = (status: number, title: string) => answer(status, `<title>${title}</title>`, html);
const json = (value: object) => answer(200, JSON.stringify(value));

it.each([
  ['redirects (302 to /login)', 'not logged in', answer(302, '', { location: '/login' })],
  ['redirects (303)', 'not logged in', answer(303)],
  ['200, a web page "Log in"', 'logging in', page(200, 'Log in')],
  ['asks for a CSRF token', 'X-CSRF-TOKEN', page(419, 'Page Expired')],
  ['asks for a CSRF token', 'X-CSRF-TOKEN', answer(400, 'Invalid CSRF token')],
  ['refuses private-orders.7: 403', 'routes/channels.php', answer(403, '{}')],
  ['no such endpoint', '/broadcasting/auth', page(404, 'Not Found')],
  ['no such endpoint', 'takes POST', answer(405)],
  ['answers 500', 'key, secret or app id', page(500, 'Server Error')],
  ['answers 201', 'log of the app', answer(201, '{}')],
  ['is no JSON object', 'before it', answer(200, 'Warning: {"auth":"a:b"}')],
  ['no text "auth"; it has data', 'as it is', json({ data: { auth: 'a:b' } })],
  ['it has nothing', 'as it is', json({})],
  ['not KEY:SIGNATURE', 'HMAC-SHA256', json({ auth: 'abc' })],
  [
    'signed with the key other, but clients connect with key',
    'two apps',
    json({ auth: auth(PRIVATE, { key: 'other' }) }),
  ],
  ['signature is wrong', 'another secret', json({ auth: auth(PRIVATE, { secret: 'other' }) })],
  ['signature is wrong', 'other values', json({ auth: auth(PRIVATE, { socketId: '3.4' }) })],
])('an answer that %s has failed, with %s in the advice', (detail, advice, given) => {
  expect(judgeAuthorization(given, asked(PRIVATE))).toMatchObject(found('failed', detail, advice));
});

it('a refusal is only a warning if nobody may know the channel', () => {
  const finding = judgeAuthorization(answer(401), asked(PRIVATE, { isExpected: false }));
  expect(finding).toMatchObject(
    found('warning', 'refuses private-orders.7: 401', '--auth-channel'),
  );
});

it('says without the secret that the signature was not checked', () => {
  const wrong = json({ auth: auth(PRIVATE, { secret: 'other' }) });
  const finding = judgeAuthorization(wrong, asked(PRIVATE, { secret: undefined }));
  expect(finding).toMatchObject(fine('--secret'));
});

it.each([
  ['it is missing', { auth: auth('presence-room') }],
  ['it is {"user_id":"7"}', { auth: auth('presence-room'), channel_data: { user_id: '7' } }],
  ['it is "{}"', { auth: auth('presence-room:{}'), channel_data: '{}' }],
  [
    'it is "{\\"user_id\\":\\"\\"}"',
    { auth: auth('presence-room'), channel_data: '{"user_id":""}' },
  ],
  ['not part of the signature', { auth: auth('presence-room'), channel_data: USER }],
])('a presence channel has failed if of its data %s', (detail, given) => {
  const finding = judgeAuthorization(json(given), asked('presence-room'));
  expect(finding).toMatchObject(found('failed', detail));
});

it.each([undefined, 7, 'c2hvcnQ='])(
  'an encrypted channel has failed with the secret %p',
  (given) => {
    const channel = 'private-encrypted-notes';
    const finding = judgeAuthorization(
      json({ auth: auth(channel), shared_secret: given }),
      asked(channel),
    );
    expect(finding).toMatchObject(found('failed', 'shared_secret', 'encryptionMasterKeyBase64'));
  },
);

it.each([
  [PRIVATE, { auth: auth(PRIVATE) }],
  ['presence-room', { auth: auth(`presence-room:${USER}`), channel_data: USER }],
  [
    'private-encrypted-notes',
    {
      auth: auth('private-encrypted-notes'),
      shared_secret: Buffer.alloc(32).toString('base64'),
    },
  ],
])('%s is in order with all that it needs', (channel, given) => {
  const finding = judgeAuthorization(json(given), asked(channel));
  expect(finding).toMatchObject(fine(`${channel} is authorised and signed`));
});
