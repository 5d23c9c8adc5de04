import { describe, expect, it } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TrustedProxies } from '../../../runtime/trusted-proxies.ts';
import { BodyIntake } from '../../body-intake.ts';
import { ClientAddresses } from '../../client-address.ts';
import { requestTarget } from '../../request-target.ts';
import { UnreadAnswers } from '../../unread-answers.ts';
import type { ForwardedRequest } from './forwarded-request.ts';
import { PushGate } from './push-gate.ts';

const INTERESTS = '/publish_api/v1/instances/1/publishes/interests';
const DEVICES = '/device_api/v1/instances/1/devices/web';

const clock = { now: () => 0 };

function stage() {
  const forwarded: ForwardedRequest[] = [];
  const gate = new PushGate({
    pathPrefix: '',
    addresses: new ClientAddresses({
      host: '127.0.0.1',
      proxies: new TrustedProxies(['127.0.0.1']),
      log: { warn: () => undefined },
      clock,
    }),
    bodies: new BodyIntake(
      { requestBytes: 1_048_576, unfinishedBytes: 10_000_000, bodyBytesPerSecond: 0 },
      clock,
    ),
    unread: new UnreadAnswers({ bytesMax: 1_000_000, clock, onBroken: () => undefined }),
    heldBytes: 1_000_000,
    forward: (request) => void forwarded.push(request),
  });
  return {
    forwarded,
    gate,
    ask(path: string, init: RequestInit = {}, peer = '192.0.2.1') {
      const request = new Request(`http://x${path}`, init);
      return Promise.resolve(gate.answer({ request, target: requestTarget(request.url), peer }));
    },
    answer(request: ForwardedRequest | undefined, response: string) {
      gate.answered({ number: request?.number ?? 0, bytes: Buffer.from(response) });
    },
  };
}

describe('a request to push on the port of Channels', () => {
  it('is handed over as a whole, and gets the answer of push', async () => {
    const { ask, answer, forwarded } = stage();
    const headers = { authorization: 'Bearer key', 'content-type': 'application/json' };
    const answered = ask(`${INTERESTS}?a=1`, { method: 'POST', headers, body: '{"a":"é"}' });
    await nextTurn();
    const [request] = forwarded;
    expect(request).toMatchObject({
      method: 'POST',
      target: `${INTERESTS}?a=1`,
      peer: '192.0.2.1',
      bytes: 10,
    });
    expect(Buffer.from(request?.body ?? []).toString()).toBe('{"a":"é"}');
    expect(Object.fromEntries(request?.headers ?? [])).toMatchObject(headers);

    answer(request, 'HTTP/1.1 429 Too\r\nretry-after: 2\r\ncontent-length: 2\r\n\r\n{}');
    const response = await answered;
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '2']);
    expect(await response.text()).toBe('{}');
  });

  it('is handed over without a body that is too long for its path', async () => {
    const { ask, forwarded } = stage();
    void ask(INTERESTS, { method: 'POST', headers: { 'content-length': '10241' } });
    void ask(`${DEVICES}/x`, { method: 'POST', headers: { 'content-length': '5' }, body: 'abcde' });
    await nextTurn();
    expect(forwarded.map(({ bytes, body }) => [bytes, body])).toEqual([
      [10_241, undefined],
      // No such method: the head alone decides.
      [0, undefined],
    ]);
  });

  it('gives way if its address has the most, backends apart from devices', async () => {
    const { ask, forwarded } = stage();
    const greedy = Array.from({ length: 2_500 }, () => ask(`${DEVICES}/x`));
    expect(forwarded).toHaveLength(2_500);
    const refused = await ask(`${DEVICES}/x`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(forwarded).toHaveLength(2_500);

    void ask(`${DEVICES}/x`, {}, '192.0.2.2');
    expect((await greedy.at(-1))?.status).toBe(503);
    // A trusted proxy names its clients.
    void ask(`${DEVICES}/x`, { headers: { 'x-forwarded-for': '192.0.2.3' } }, '127.0.0.1');
    expect((await greedy.at(-2))?.status).toBe(503);
    void ask(`${INTERESTS}`, { method: 'POST' });
    expect(forwarded).toHaveLength(2_503);
  });

  it('takes nothing from others with answers that it does not read', async () => {
    const { ask, answer, forwarded } = stage();
    const long = (length: number) =>
      `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n${'x'.repeat(length)}`;
    const statuses: number[] = [];
    for (let n = 0; n < 3; n++) {
      const answered = ask(`${DEVICES}/x`);
      answer(forwarded[n], long(400_000));
      statuses.push((await answered).status);
    }
    expect(statuses).toEqual([200, 200, 503]);
    const other = ask(`${DEVICES}/x`, {}, '192.0.2.2');
    answer(forwarded[3], long(300_000));
    expect(await (await other).text()).toBe('x'.repeat(300_000));
  });
});
