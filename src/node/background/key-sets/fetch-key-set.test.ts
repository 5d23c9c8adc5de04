import { expect, it } from 'bun:test';
import type { OutgoingAnswer, OutgoingRequest } from '../../../outgoing/request.ts';
import { createFetchKeySet } from './fetch-key-set.ts';

const answered = (status: number, body: string): OutgoingAnswer => ({
  result: 'answered',
  status,
  headers: new Headers(),
  body: Buffer.from(body),
});

async function fetched(answer: OutgoingAnswer) {
  const requests: OutgoingRequest[] = [];
  const fetch = createFetchKeySet(async (request) => {
    requests.push(request);
    return answer;
  });
  return { read: await fetch('https://issuer.example.com/jwks', 'shop'), requests };
}

it('asks with the bounds of a key set, on behalf of the app', async () => {
  const { read, requests } = await fetched(answered(200, '{"keys":[]}'));
  expect(read).toEqual({ ok: true, keys: [], ignored: [] });
  expect(requests).toMatchObject([
    {
      url: 'https://issuer.example.com/jwks',
      owner: 'app shop',
      timeoutMs: 5_000,
      answerBytesMax: 65_537,
    },
  ]);
  expect(requests[0]?.body).toBeUndefined();
});

it.each<[OutgoingAnswer, string]>([
  [answered(503, '{"keys":[]}'), 'HTTP 503'],
  [answered(204, ''), 'HTTP 204'],
  [answered(301, '{"keys":[]}'), 'HTTP 301; redirects are not followed'],
  [
    answered(200, `{"keys":[]}${' '.repeat(65_536)}`),
    'the answer is no key set: it has more than 65536 bytes',
  ],
  [answered(200, '{"keys":['), 'the answer is no key set: it is no JSON object with `keys`'],
  [{ result: 'timeout' }, 'no answer within 5 s'],
  [{ result: 'unreachable', why: 'ECONNREFUSED' }, 'ECONNREFUSED'],
  [
    { result: 'not-allowed', why: '10.0.0.1 is not a public address' },
    'its address is not allowed: 10.0.0.1 is not a public address',
  ],
])('says why there is none: %#', async (answer, why) => {
  expect((await fetched(answer)).read).toEqual({ ok: false, why });
});
