import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { stepsOf } from './recorded-steps.ts';
import type { LiveRecord } from './records.ts';

const target = {
  key: 'key',
  host: '127.0.0.1',
  port: 6001,
  tls: false,
  pathPrefix: '',
  app: 'shop',
  admin: 'http://127.0.0.1:6003',
};

const runner = await Bun.file(new URL('steps-runner.txt', import.meta.url)).text();

let made = 0;
const record = (kind: string, more: Partial<LiveRecord>): LiveRecord => ({
  n: made++,
  atMs: made,
  kind,
  ...more,
});

/** The steps that a script has for these records. */
function stepsFor(...records: readonly LiveRecord[]): readonly string[] {
  const lines = stepsOf(records, target, runner).split('\n');
  const ends = lines.findLastIndex((line) => line.startsWith('for (const name of'));
  return lines.slice(lines.lastIndexOf('}') + 1, ends).filter(Boolean);
}

const event = { channel: 'a', event: 'e', data: '{"id":1}' };

describe('the steps of a recording', () => {
  it('name the receivers of each event', () => {
    expect(
      stepsFor(
        record('api', event),
        record('subscribed', { socket: '1.1', channel: 'a' }),
        record('subscribed', { socket: '2.2', channel: 'a' }),
        record('api', event),
        record('api', { ...event, except: '1.1' }),
        record('client', { ...event, socket: '2.2', event: 'client-e' }),
        record('unsubscribed', { socket: '2.2', channel: 'a' }),
        record('disconnected', { socket: '1.1' }),
        record('api', event),
      ),
    ).toEqual([
      'await send("a", "e", "{\\"id\\":1}", []);',
      'await connect("client-1");',
      'await subscribe("client-1", "a");',
      'await connect("client-2");',
      'await subscribe("client-2", "a");',
      'await send("a", "e", "{\\"id\\":1}", ["client-1","client-2"]);',
      'await send("a", "e", "{\\"id\\":1}", ["client-2"]);',
      'await says("client-2", "a", "client-e", "{\\"id\\":1}", ["client-1"]);',
      'await unsubscribe("client-2", "a");',
      'await disconnect("client-1");',
      'await send("a", "e", "{\\"id\\":1}", []);',
    ]);
  });

  it('leave out what the recording does not have, and report that', () => {
    const steps = stepsFor(
      record('api', { ...event, bytes: 5000 }),
      record('client', { ...event, socket: '9.9' }),
    );
    expect(steps).toEqual([
      '// Left out: "e", the recording has not all of its data.',
      '// Left out: "e" of a client that connected before the recording.',
    ]);
  });

  it('contain no code from the recording', () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom(
        'x\u2028evil()',
        'x\u2029evil()',
        'x\nevil()',
        '");evil();("',
        '`$' + '{evil()}`',
      ),
    );
    fc.assert(
      fc.property(text, text, text, text, fc.boolean(), (channel, name, data, socket, isCut) => {
        const steps = stepsFor(
          record('subscribed', { socket, channel }),
          record('api', { channel, event: name, data, ...(isCut && { bytes: 1_000_000 }) }),
          record('client', { channel, event: name, data, socket: `${socket}x` }),
        );
        for (const step of steps) {
          expect(step).not.toMatch(/[\u2028\u2029\r]/);
          const [, values] = /^await [a-z]+\((.*)\);$/.exec(step) ?? [];
          // Everything in the brackets is plain JSON.
          if (values !== undefined) JSON.parse(`[${values}]`);
          else expect(step).toStartWith('// Left out: "');
        }
      }),
    );
  });
});
