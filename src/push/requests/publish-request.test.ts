import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { PushRefusal } from '../refusal.ts';
import { readPublishRequest } from './publish-request.ts';

const nowMs = Date.UTC(2027, 0, 1);
const context = { instanceId: '8f9a6e22-2483-49aa-8552-125f1a4c5781', nowMs };

const readText = (kind: 'interests' | 'users', text: string) =>
  readPublishRequest(kind, new TextEncoder().encode(text), context);
const read = (kind: 'interests' | 'users', body: unknown) => readText(kind, JSON.stringify(body));

const toInterests = { interests: ['hello'], web: { notification: { title: 'Hi' } } };
const toUsers = { users: ['u-1'], web: {} };

const unprocessable = (description: string) => new PushRefusal('unprocessable', description);

describe('a publish', () => {
  it('to interests is read', () => {
    const body = { ...toInterests, interests: ['hello', 'donuts'], apns: { aps: {} } };
    expect(read('interests', body)).toEqual({
      target: { kind: 'interests', names: ['hello', 'donuts'] },
      platforms: ['apns', 'web'],
      apns: { type: 'background', kind: undefined },
      webhookUrl: undefined,
      sendAtMs: undefined,
      body: JSON.stringify(body),
    });
  });

  it('to users is read', () => {
    const body = { users: ['u-1', 'ü 2'], fcm: {}, web: {}, apns: { aps: {} } };
    expect(read('users', body)).toEqual({
      target: { kind: 'users', names: ['u-1', 'ü 2'] },
      platforms: ['apns', 'fcm', 'web'],
      apns: { type: 'background', kind: undefined },
      webhookUrl: undefined,
      sendAtMs: undefined,
      body: JSON.stringify(body),
    });
  });

  it('keeps its body unchanged', () => {
    const text = '\n{ "interests" : ["a"], "web": {"data":{"n":1.0e1,"__proto__":"\\u00e9"}} }';
    expect(readText('interests', text)).toMatchObject({ body: text });
  });

  it('may have undocumented fields, and those of the other kind', () => {
    expect(read('interests', { ...toInterests, users: 7, newField: [] })).toMatchObject({
      target: { kind: 'interests' },
    });
    expect(read('users', { ...toUsers, interests: 'x' })).toMatchObject({
      target: { kind: 'users' },
    });
  });

  it.each(['', '[]', 'null', '"x"', '{', '{"interests":["a"],"web":{}}x'])(
    'must be a JSON object: %j',
    (text) => {
      expect(readText('interests', text)).toEqual(
        new PushRefusal('bad-request', 'The body cannot be read as a JSON object'),
      );
    },
  );

  it('must be UTF-8', () => {
    const body = Buffer.from(JSON.stringify(toUsers));
    body[body.indexOf('u-1')] = 0xff;
    expect(readPublishRequest('users', body, context)).toMatchObject({ problem: 'bad-request' });
  });

  it.each(['interests', 'users'] as const)('must have names: %s', (kind) => {
    const right = { ...toInterests, ...toUsers };
    // The recorded text of the hosted service.
    const missing = unprocessable(`\`${kind}\`: ${kind} is required`);
    expect(read(kind, { ...right, [kind]: undefined })).toEqual(missing);
    expect(read(kind, { ...right, [kind]: null })).toEqual(missing);
    expect(read(kind, {})).toEqual(missing);
    for (const value of ['hello', {}, 7, true]) {
      expect(read(kind, { ...right, [kind]: value })).toEqual(
        unprocessable(`\`${kind}\`: must be an array of strings`),
      );
    }
    expect(read(kind, { ...right, [kind]: [] })).toEqual(
      unprocessable(`\`${kind}\`: must have at least one entry`),
    );
  });

  it.each([
    ['interests', 100],
    ['users', 1000],
  ] as const)('is for %s, %d at most, doubles counted', (kind, most) => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);
    const all = names(most);
    expect(read(kind, { [kind]: all, web: {} })).toMatchObject({ target: { kind, names: all } });
    for (const tooMany of [names(most + 1), Array(most + 1).fill('n')]) {
      expect(read(kind, { [kind]: tooMany, web: {} })).toEqual(
        unprocessable(
          `\`${kind}\`: has ${most + 1} entries: the limit is ${most}, duplicates included`,
        ),
      );
    }
  });

  it('is for each interest once, and refused if it names a user twice', () => {
    expect(read('interests', { interests: ['b', 'a', 'b', 'b'], web: {} })).toMatchObject({
      target: { names: ['b', 'a'] },
    });
    expect(read('users', { users: ['b', 'a', 'b'], web: {} })).toEqual(
      unprocessable('`users`: array items must be unique'),
    );
  });

  it('is refused with the invalid interest', () => {
    const withThird = (value: unknown) =>
      read('interests', { ...toInterests, interests: ['a', 'b', value] });
    for (const value of [7, null, ['a']]) {
      expect(withThird(value)).toEqual(unprocessable('`interests.2`: must be a string'));
    }
    for (const value of ['', 'a:b', 'a b', 'é', 'x'.repeat(165)]) {
      expect(withThird(value)).toEqual(
        unprocessable(
          '`interests.2`: must be 1 to 164 of the letters A to Z and a to z, digits, and _ - = @ , . ;',
        ),
      );
    }
    expect(withThird('x'.repeat(164))).not.toBeInstanceOf(PushRefusal);
  });

  it('is refused with the invalid user', () => {
    const withSecond = (value: unknown) => read('users', { ...toUsers, users: ['u', value] });
    expect(withSecond(7)).toEqual(unprocessable('`users.1`: the user id is not a string'));
    expect(withSecond('')).toEqual(unprocessable('`users.1`: the user id is empty'));
    expect(withSecond('a\u0000')).toMatchObject({ problem: 'unprocessable' });
    expect(withSecond('\ud800')).toMatchObject({ problem: 'unprocessable' });
    expect(withSecond('é'.repeat(83))).toEqual(
      unprocessable('`users.1`: the user id is too long: the limit is 164 bytes of UTF-8'),
    );
  });

  it('must have a payload', () => {
    const none = unprocessable('`apns`: one of apns, fcm and web is required');
    expect(read('interests', { interests: ['a'] })).toEqual(none);
    expect(read('users', { users: ['a'], web: null })).toEqual(none);
    expect(read('users', { users: ['a'], web: 'x' })).toEqual(
      unprocessable('`web`: must be an object'),
    );
    expect(read('interests', { ...toInterests, web: { time_to_live: -1 } })).toEqual(
      unprocessable('`web.time_to_live`: must be a whole number from 0 to 2419200'),
    );
    expect(read('interests', { ...toInterests, web: null, fcm: { to: 'x' } })).toEqual(
      unprocessable('`fcm.to`: is not allowed: the publish says which devices it is for'),
    );
  });

  it('is refused if a message is too large for its gateway', () => {
    const title = 'x'.repeat(4000);
    const refusal = read('users', { ...toUsers, web: { notification: { title } } });
    expect(refusal).toEqual(
      unprocessable(
        '`web`: the message has 4203 bytes, including what the server adds: the limit is 3993',
      ),
    );
    const levels = 90_000;
    const deep = `{"users":["u"],"web":{"data":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}}`;
    expect(readText('users', deep)).toMatchObject({ problem: 'unprocessable' });
  });

  it.each(['interests', 'users'] as const)('may have a webhook of its own: %s', (kind) => {
    const body = kind === 'interests' ? toInterests : toUsers;
    const urls = [
      'http://x',
      'HTTPS://user:pass@hooks.example:8443/a?b=c#d',
      'https://hooks.example/é',
      `https://hooks.example/${'x'.repeat(2048 - 22)}`,
    ];
    for (const webhookUrl of urls) {
      expect(read(kind, { ...body, webhookUrl })).toMatchObject({ webhookUrl });
    }
    expect(read(kind, { ...body, webhookUrl: null })).toMatchObject({ webhookUrl: undefined });
    const bad = [
      '',
      'hooks.example',
      '/path',
      '//hooks.example/',
      'ftp://hooks.example/',
      'javascript:alert(1)',
      'https:hooks.example',
      'https:///hooks.example',
      'https://',
      'https://?x',
      'https://hooks example/',
      'https://hooks.example/\n',
      ' https://hooks.example/',
      'https://hooks.example/\u0000',
      'https://hooks.example/\ud800',
      'https://hooks.example:99999/',
      `https://hooks.example/${'x'.repeat(2049 - 22)}`,
      7,
      {},
      ['https://hooks.example/'],
    ];
    for (const webhookUrl of bad) {
      expect(read(kind, { ...body, webhookUrl })).toEqual(
        unprocessable(
          '`webhookUrl`: must be an absolute http or https URL of at most 2048 characters',
        ),
      );
    }
  });

  it('may be scheduled', () => {
    const at = (sendAt: unknown) => read('interests', { ...toInterests, sendAt });
    expect(at('2027-01-02T01:00:00+01:00')).toMatchObject({ sendAtMs: Date.UTC(2027, 0, 2) });
    expect(at('2026-12-31T00:00:00Z')).toMatchObject({ sendAtMs: undefined });
    expect(at('2027-01-01T00:00:00Z')).toMatchObject({ sendAtMs: undefined });
    expect(at(null)).toMatchObject({ sendAtMs: undefined });
    expect(at('2027-02-01T00:00:00Z')).toEqual(
      unprocessable('`sendAt`: must be at most 30 days ahead'),
    );
    for (const sendAt of ['', 'now', 1_800_000_000, '2027-02-30T00:00:00Z']) {
      expect(at(sendAt)).toEqual(
        unprocessable('`sendAt`: must be an RFC 3339 time, for example 2030-01-31T12:00:00Z'),
      );
    }
  });

  it('names its languages', () => {
    const texts = { de: { body: 'Hallo' }, 'PT-br': { title: 'Olá' } };
    expect(read('interests', { ...toInterests, texts })).toMatchObject({
      languages: ['de', 'pt-BR'],
      body: expect.stringContaining('Hallo'),
    });
  });

  it('must fit with each of its texts', () => {
    const texts = { de: { body: 'a' }, fr: { body: 'b'.repeat(4096) } };
    const body = { interests: ['a'], apns: { aps: { alert: 'Hi' } }, texts };
    expect(read('interests', body)).toMatchObject({
      problem: 'unprocessable',
      description: expect.stringMatching(
        /^`texts.fr`: apns: the message has 4\d\d\d bytes, including what the server adds: the limit is 4096$/,
      ),
    });
    const silent = { ...body, apns: { aps: { 'content-available': 1 } } };
    expect(read('interests', silent)).toMatchObject({ languages: ['de', 'fr'] });
  });

  it('is read or refused, for any input', () => {
    const names = ['interests', 'users', 'apns', 'fcm', 'web', 'webhookUrl', 'sendAt', 'texts'];
    const inner = fc.dictionary(
      fc.constantFrom('aps', 'alert', 'data', 'notification', 'android', 'message'),
      fc.jsonValue(),
    );
    const value = fc.oneof(inner, fc.jsonValue(), fc.constant(['a']));
    const bodies = fc.oneof(
      fc.uint8Array(),
      fc.json().map((json) => Buffer.from(json)),
      fc
        .dictionary(fc.constantFrom(...names), value)
        .map((fields) => Buffer.from(JSON.stringify(fields))),
      fc
        .dictionary(fc.constantFrom(...names.slice(2)), value)
        .map((fields) =>
          Buffer.from(JSON.stringify({ interests: ['a'], users: ['u'], ...fields })),
        ),
    );
    fc.assert(
      fc.property(fc.constantFrom('interests', 'users'), bodies, (kind, body) => {
        const request = readPublishRequest(kind, body, context);
        if (request instanceof PushRefusal) {
          expect(['bad-request', 'unprocessable']).toContain(request.problem);
          expect(request.description).not.toBe('');
        } else {
          expect(request.platforms).not.toBeEmpty();
          expect(request.target.names).not.toBeEmpty();
          expect(JSON.parse(request.body)).toBeObject();
        }
      }),
    );
  });
});
