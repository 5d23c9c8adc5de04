import { afterEach, beforeEach, describe, expect, it, jest, spyOn } from 'bun:test';
import fc from 'fast-check';
import tweetnacl from 'tweetnacl';
import { nacl } from '../nacl.ts';
import { Scripted } from '../scripted.fixture.ts';

const NAME = 'private-encrypted-a';
const key = (byte: number) => new Uint8Array(32).fill(byte);
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

/** An event as backends encrypt it. */
function sealed(text: string, secret: Uint8Array, nonce = new Uint8Array(24).fill(7)) {
  const box = tweetnacl.secretbox(new TextEncoder().encode(text), nonce, secret);
  return { nonce: base64(nonce), ciphertext: base64(box) };
}

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** A client in an encrypted channel, whose backend gives the keys of a list, one after the other. */
function inChannel(keys: readonly (Uint8Array | Error)[], cipher = nacl) {
  const world = new Scripted();
  let asked = 0;
  const waiting: (() => void)[] = [];
  const pusher = world.client({
    nacl: cipher,
    channelAuthorization: {
      customHandler: (_, done) => {
        const answer = keys[asked++] ?? new Error('no more keys');
        const give = () =>
          answer instanceof Error
            ? done(answer)
            : done(null, { auth: 'a', shared_secret: base64(answer) });
        if (asked === 1) give();
        else waiting.push(give);
      },
    },
  });
  const heard: unknown[] = [];
  const channel = pusher.subscribe(NAME);
  channel.bind('e', (data: unknown) => heard.push(data));
  world.socket.accept('1.1', { extras: ['resume'] });
  world.socket.confirms(NAME, { resume: { ok: true, id: '1-a', missed: 0 } });
  const says = (data: unknown, id?: string) =>
    world.socket.says('e', data, { channel: NAME, ...(id && { id }) });
  return { world, pusher, channel, heard, says, answers: () => waiting.shift()?.() };
}

describe('an encrypted channel', () => {
  it.each([
    ['noble', nacl],
    ['tweetnacl, as an option', tweetnacl],
  ])('reads what backends encrypt, by %s', (_, cipher) => {
    const { world, heard, says } = inChannel([key(1)], cipher);
    says(sealed('{"text":"Grüße 🎉"}', key(1)));
    says(sealed('no JSON', key(1)));
    expect(heard).toEqual([{ text: 'Grüße 🎉' }, 'no JSON']);
    expect(world.socket.said()[0]?.data).toMatchObject({ auth: 'a', channel: NAME });
    world[Symbol.dispose]();
  });

  it('asks for the key once more, and keeps the order while it waits', () => {
    const { world, pusher, heard, says, answers } = inChannel([key(1), key(2)]);
    says(sealed('1', key(2)), '2-b');
    says(sealed('2', key(2)), '3-c');
    expect([heard, pusher.places()]).toEqual([[], { [NAME]: '1-a' }]);
    answers();
    expect([heard, pusher.places()]).toEqual([[1, 2], { [NAME]: '3-c' }]);
    world[Symbol.dispose]();
  });

  it('drops an event that the new key does not open either, and reads the next ones', () => {
    const { world, heard, says, answers } = inChannel([key(1), key(2)]);
    says(sealed('1', key(3)));
    says(sealed('2', key(2)));
    answers();
    expect(heard).toEqual([2]);
    world[Symbol.dispose]();
  });

  it('drops what waits when the connection is lost', () => {
    const { world, heard, says, answers } = inChannel([key(1), key(2)]);
    says(sealed('1', key(2)));
    world.socket.ends(4100);
    answers();
    expect(heard).toEqual([]);
    world[Symbol.dispose]();
  });

  it.each([[''], ['§']])('needs a key: %p is none', (secret) => {
    using world = new Scripted();
    const pusher = world.client({
      nacl,
      channelAuthorization: {
        customHandler: (_, done) => done(null, { auth: 'a', shared_secret: secret }),
      },
    });
    const errors: unknown[] = [];
    pusher.subscribe(NAME).bind('pusher:subscription_error', (data: unknown) => errors.push(data));
    world.socket.accept();
    expect(errors).toEqual([
      {
        type: 'AuthError',
        error: `No shared_secret key in auth payload for encrypted channel: ${NAME}`,
      },
    ]);
  });

  it('throws at nothing that a server sends', () => {
    const { world, heard, says } = inChannel([key(1)]);
    for (const data of [null, 7, 'x', {}, { ciphertext: 7, nonce: 7 }, sealed('1', key(1)).nonce]) {
      says(data);
    }
    says({ ...sealed('1', key(1)), nonce: 'AAAA' });
    says({ ...sealed('1', key(1)), ciphertext: 'AAAA' });
    expect(heard).toEqual([]);
    world[Symbol.dispose]();
  });

  it('sends no client events', () => {
    const { world, channel } = inChannel([key(1)]);
    expect(() => channel.trigger('client-a', {})).toThrow('Client events are not currently');
    world[Symbol.dispose]();
  });
});

it('both ciphers open the same boxes, and no other ones', () => {
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
  fc.assert(
    fc.property(bytes(32), bytes(24), fc.uint8Array(), fc.nat(), (secret, nonce, text, at) => {
      const box = tweetnacl.secretbox(text, nonce, secret);
      expect(nacl.secretbox.open(box, nonce, secret)).toEqual(text);
      const index = at % box.length;
      box[index] = (box[index] ?? 0) ^ 1;
      expect(nacl.secretbox.open(box, nonce, secret)).toBeNull();
    }),
    { numRuns: 100 },
  );
});
