import { afterEach, expect, it } from 'bun:test';
import type { OutgoingAnswer, SendUnowned } from '../../../outgoing/request.ts';
import { notAuthorised, tryAgain } from '../../outcomes.ts';
import { machineCredential } from './metadata-server.ts';

const HOST_VARIABLE = 'GCE_METADATA_HOST';

afterEach(() => {
  delete process.env[HOST_VARIABLE];
});

function answered(status: number, body: string, flavor = 'Google'): OutgoingAnswer {
  const headers = new Headers(flavor === '' ? {} : { 'metadata-flavor': flavor });
  return { result: 'answered', status, headers, body: Buffer.from(body) };
}

const granted = answered(200, '{"access_token":"t","expires_in":3000,"token_type":"Bearer"}');

async function ask(answer: OutgoingAnswer) {
  const sent: Parameters<SendUnowned>[0][] = [];
  const token = await machineCredential('shop-1234').requestToken({
    nowMs: Date.now,
    signal: new AbortController().signal,
    async send(request) {
      sent.push(request);
      return answer;
    },
  });
  return { token, request: sent[0] };
}

const PATH =
  '/computeMetadata/v1/instance/service-accounts/default/token?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Ffirebase.messaging';

it('gives the token of the account of the machine', async () => {
  const { token, request } = await ask(granted);
  expect(token).toEqual({ ok: true, token: 't', validMs: 3_000_000 });
  expect(request).toMatchObject({
    url: `http://169.254.169.254${PATH}`,
    headers: { 'metadata-flavor': 'Google' },
    timeoutMs: 10_000,
  });
  expect(request?.body).toBeUndefined();
});

it('is another one, if a variable names it', async () => {
  process.env[HOST_VARIABLE] = 'localhost:8080';
  expect((await ask(granted)).request?.url).toBe(`http://localhost:8080${PATH}`);
});

it('is not believed without its header: anybody may answer at that address', async () => {
  const { token } = await ask(answered(200, '{"access_token":"t"}', ''));
  const fault = tryAgain('access-token-no-metadata-server', 'connection');
  expect(token).toEqual({ ok: false, fault });
});

it('says that the machine has no account', async () => {
  const { token } = await ask(answered(404, 'no account'));
  const fault = { ...notAuthorised('access-token-http-404'), scope: 'connection' as const };
  expect(token).toEqual({ ok: false, fault });
});
