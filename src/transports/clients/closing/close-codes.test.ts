import { describe, expect, it } from 'bun:test';
import { closeCodes } from './close-codes.ts';

/** Source: Channels protocol, §4. */

describe('the close codes', () => {
  it('are the ones in the protocol', () => {
    expect(
      Object.fromEntries(Object.entries(closeCodes).map(([problem, { code }]) => [problem, code])),
    ).toMatchObject({
      'app-not-found': 4001,
      'app-disabled': 4003,
      'app-over-quota': 4004,
      'path-not-found': 4005,
      'bad-protocol': 4006,
      'unsupported-protocol': 4007,
      'no-protocol': 4008,
      'server-over-capacity': 4100,
      'server-stopping': 4200,
      'server-restarting': 4100,
      'no-pong': 4201,
      'binary-frame': 1003,
    });
  });

  it('come with the words that people search for', () => {
    expect(closeCodes['app-over-quota'].message).toBe('Account over quota');
    expect(closeCodes['no-pong'].message).toBe('Pong reply not received');
  });

  it('are below 4300, so that pusher-js does not stay away by mistake', () => {
    for (const { code } of Object.values(closeCodes)) expect(code).toBeLessThan(4300);
  });

  it('come with a reason that a close frame has room for', () => {
    for (const { message } of Object.values(closeCodes)) {
      expect(Buffer.byteLength(message)).toBeLessThanOrEqual(123);
    }
  });
});
