import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../testing/any-character.ts';
import { newEventId } from './history/event-id.ts';
import { channelName, socketId } from './hub.fixture.ts';
import {
  cacheMiss,
  clientEventMessage,
  connectionEstablished,
  errorMessage,
  eventMessage,
  eventParts,
  memberAdded,
  memberRemoved,
  PING,
  PONG,
  presenceSucceeded,
  readChannelData,
  readClientMessage,
  subscriptionError,
  subscriptionSucceeded,
} from './wire.ts';

const { text: CHANNEL } = channelName('presence-x');

/** Everything that can come in a frame: text, JSON, and what looks like a message. */
const anyFrame = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.json(),
  fc
    .record(
      {
        event: fc.oneof(
          fc.constantFrom('pusher:subscribe', 'pusher:unsubscribe', 'client-x', 'pusher:ping', 'x'),
          fc.jsonValue(),
        ),
        channel: fc.jsonValue(),
        data: fc.oneof(
          fc.jsonValue(),
          fc.json(),
          fc.record(
            { channel: fc.jsonValue(), auth: fc.jsonValue(), channel_data: fc.jsonValue() },
            { requiredKeys: [] },
          ),
        ),
      },
      { requiredKeys: [] },
    )
    .map((message) => JSON.stringify(message)),
);

describe('a message of a client', () => {
  it.each([
    [
      '{"event":"pusher:subscribe","data":{"channel":"x","auth":"k:s","channel_data":"{}"}}',
      { type: 'subscribe', channel: 'x', auth: 'k:s', channelData: '{}' },
    ],
    [
      '{"event":"pusher:subscribe","data":{"channel":"x","auth":"","channel_data":null}}',
      { type: 'subscribe', channel: 'x', auth: undefined, channelData: undefined },
    ],
    [
      '{"event":"pusher:subscribe","data":"{\\"channel\\":\\"x\\",\\"auth\\":\\"k:s\\"}"}',
      { type: 'subscribe', channel: 'x', auth: 'k:s', channelData: undefined },
    ],
    [
      '{"event":"pusher:unsubscribe","data":{"channel":"not a name"}}',
      { type: 'unsubscribe', channel: 'not a name' },
    ],
    ['{"event":"pusher:ping"}', { type: 'ping' }],
    ['{"event":"pusher:pong","data":null}', { type: 'pong' }],
    [
      '{"event":"client-x","channel":"c","data":{"a": 1.0}}',
      {
        type: 'client-event',
        event: 'client-x',
        channel: 'c',
        dataLiteral: '"{\\"a\\": 1.0}"',
        dataBytes: 10,
      },
    ],
    [
      '{"event":"client-x","channel":"c","data":"\\u00e9\\/"}',
      {
        type: 'client-event',
        event: 'client-x',
        channel: 'c',
        dataLiteral: '"\\u00e9\\/"',
        dataBytes: 3,
      },
    ],
    [
      '{"event":"pusher:signin","data":{}}',
      { type: 'malformed', why: 'Invalid pusher:signin message: auth must be a string' },
    ],
    [
      '{"event":"pusher:signin","data":{"auth":"k:s","user_data":"{}"}}',
      { type: 'signin', auth: 'k:s', userData: '{}' },
    ],
    ['{"event":""}', { type: 'unsupported', event: '' }],
  ] as const)('is read as what it is: %s', (frame, message) => {
    expect<unknown>(readClientMessage(frame)).toEqual(message);
  });

  it('may be anything, and is always read without an error', () => {
    fc.assert(
      fc.property(anyFrame, (frame) => {
        expect(readClientMessage(frame).type).toBeString();
      }),
      { numRuns: 1000 },
    );
  });

  it('may be nested to any depth', () => {
    const deep = 1_000_000;
    for (const frame of [
      '['.repeat(deep),
      '{"event":'.repeat(deep),
      '['.repeat(deep) + ']'.repeat(deep),
      `{"event":"client-x","channel":"c","data":${'['.repeat(deep)}${']'.repeat(deep)}}`,
      `{"event":"pusher:subscribe","data":${JSON.stringify('['.repeat(deep))}}`,
    ]) {
      expect(readClientMessage(frame).type).toMatch(/^(malformed|client-event)$/);
    }
  });

  it('reaches the others with its data unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (data, pretty) => {
        const text = JSON.stringify(data, undefined, pretty ? 2 : undefined);
        const frame = `{"event":"client-x", "data" : ${text},"channel":"c"}`;

        const message = readClientMessage(frame);

        if (message.type !== 'client-event') throw new Error(message.type);
        const received = JSON.parse(
          clientEventMessage('client-x', CHANNEL, message.dataLiteral, 'u'),
        );
        const expected = typeof data === 'string' ? data : text;
        expect(received).toEqual({
          event: 'client-x',
          channel: CHANNEL,
          data: expected,
          user_id: 'u',
        });
        expect(message.dataBytes).toBe(Buffer.byteLength(expected));
      }),
    );
  });
});

describe('channel_data', () => {
  it.each<[string, string, string | undefined]>([
    ['{"user_id":"1"}', '1', undefined],
    ['{"user_id":10}', '10', undefined],
    ['{"user_id": 12345678901234567890 }', '12345678901234567890', undefined],
    ['{"user_id":9007199254740993,"user_info":{}}', '9007199254740993', '{}'],
    ['{"user_id":"\\u0031","user_info":null}', '1', undefined],
    ['{"user_info": {"n" : 1.0} ,"user_id":"1"}', '1', '{"n" : 1.0}'],
    ['{"user_id":"1","user_id":"2"}', '2', undefined],
    ['{"user_id":"__proto__"}', '__proto__', undefined],
    [`{"user_id":"${'é'.repeat(128)}"}`, 'é'.repeat(128), undefined],
    [`{"user_id":"1","user_info":{"":"${'x'.repeat(1017)}"}}`, '1', `{"":"${'x'.repeat(1017)}"}`],
  ])('identifies who joins: %s', (text, userId, userInfo) => {
    expect(readChannelData(text)).toEqual({ ok: true, member: { userId, userInfo } });
  });

  it.each([
    ['', 'not-an-object'],
    ['null', 'not-an-object'],
    ['[]', 'not-an-object'],
    ['"{}"', 'not-an-object'],
    ['{"user_id":"1"', 'not-an-object'],
    ['{}', 'no-user-id'],
    ['{"user_id":""}', 'no-user-id'],
    ['{"user_id":null}', 'no-user-id'],
    ['{"user_id":false}', 'no-user-id'],
    ['{"user_id":["1"]}', 'no-user-id'],
    [`{"user_id":"${'x'.repeat(129)}"}`, 'user-id-too-long'],
    [`{"user_id":"${'🎉'.repeat(129)}"}`, 'user-id-too-long'],
    [`{"user_id":${'1'.repeat(129)}}`, 'user-id-too-long'],
    ['{"user_id":"1","user_info":"x"}', 'user-info-not-an-object'],
    ['{"user_id":"1","user_info":[]}', 'user-info-not-an-object'],
    ['{"user_id":"1","user_info":0}', 'user-info-not-an-object'],
    [`{"user_id":"1","user_info":{"":"${'x'.repeat(1019)}"}}`, 'user-info-too-large'],
    [`{"user_id":"1","user_info":{"":"${'é'.repeat(510)}"}}`, 'user-info-too-large'],
  ] as const)('is refused: %s', (text, why) => {
    expect(readChannelData(text)).toEqual({ ok: false, why });
  });

  it('may be anything, and is always read without an error', () => {
    const nearly = fc
      .record({ user_id: fc.jsonValue(), user_info: fc.jsonValue() }, { requiredKeys: [] })
      .map((data) => JSON.stringify(data));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter }), fc.json(), nearly), (text) => {
        const read = readChannelData(text);

        if (!read.ok) return;
        const { userId, userInfo } = read.member;
        expect(userId).not.toBe('');
        const data = JSON.parse(text);
        expect(userInfo === undefined ? (data.user_info ?? null) : JSON.parse(userInfo)).toEqual(
          data.user_info ?? null,
        );
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a message to a client', () => {
  it.each([
    [
      connectionEstablished(socketId('1.2'), 120),
      {
        event: 'pusher:connection_established',
        data: '{"socket_id":"1.2","activity_timeout":120}',
      },
    ],
    [
      connectionEstablished(socketId('1.2'), 120, true),
      {
        event: 'pusher:connection_established',
        data: '{"socket_id":"1.2","activity_timeout":120,"extras":["resume"]}',
      },
    ],
    [
      errorMessage(null, 'a "b"\n'),
      { event: 'pusher:error', data: { code: null, message: 'a "b"\n' } },
    ],
    [errorMessage(4301, 'm'), { event: 'pusher:error', data: { code: 4301, message: 'm' } }],
    [
      subscriptionSucceeded(CHANNEL),
      { event: 'pusher_internal:subscription_succeeded', channel: 'presence-x', data: '{}' },
    ],
    [
      presenceSucceeded(CHANNEL, {
        members: [
          { userId: '1', userInfo: '{"a" : 1.0}' },
          { userId: 'a"b', userInfo: undefined },
        ],
      }),
      {
        event: 'pusher_internal:subscription_succeeded',
        channel: 'presence-x',
        data: '{"presence":{"count":2,"ids":["1","a\\"b"],"hash":{"1":{"a" : 1.0},"a\\"b":null}}}',
      },
    ],
    [
      subscriptionError('any "name"', { type: 'AuthError', status: 401, error: 'why' }),
      {
        event: 'pusher:subscription_error',
        channel: 'any "name"',
        data: '{"type":"AuthError","error":"why","status":401}',
      },
    ],
    [
      memberAdded(CHANNEL, { userId: '1', userInfo: '{"a":1}' }),
      {
        event: 'pusher_internal:member_added',
        channel: 'presence-x',
        data: '{"user_id":"1","user_info":{"a":1}}',
      },
    ],
    [
      memberRemoved(CHANNEL, 'é"'),
      {
        event: 'pusher_internal:member_removed',
        channel: 'presence-x',
        data: '{"user_id":"é\\""}',
      },
    ],
    [cacheMiss(CHANNEL), { event: 'pusher:cache_miss', channel: 'presence-x', data: '{}' }],
    [PING, { event: 'pusher:ping', data: '{}' }],
    [PONG, { event: 'pusher:pong', data: '{}' }],
  ])('has the form of the protocol: %s', (frame, message) => {
    expect(JSON.parse(frame)).toEqual(message);
  });

  it('has the exact name and data of an event, in characters that every socket can carry', () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom('"', '\\', '\n', '\ud800', '😀'),
        fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }),
      ),
    });
    fc.assert(
      fc.property(text, text, (name, data) => {
        const frame = eventMessage(name, CHANNEL, data);

        expect(JSON.parse(frame)).toEqual({ event: name, channel: 'presence-x', data });
        expect(frame.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe('an event with an id', () => {
  it('has its name and data in its frame as they are, whatever they are', () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.constantFrom(`","channel":"${CHANNEL}","data":"`, '","id":"1-abcdefgh"}', '\\'),
    );
    fc.assert(
      fc.property(text, text, fc.nat(), (name, data, number) => {
        const id = newEventId(number);
        const parts = eventParts(eventMessage(name, CHANNEL, data, id), CHANNEL, id);
        expect(JSON.parse(parts.name)).toBe(name);
        expect(JSON.parse(parts.data)).toBe(data);
      }),
    );
  });
});
