import { afterAll, describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OutgoingAnswer, SendUnowned } from '../../../outgoing/request.ts';
import { notAuthorised, tryAgain } from '../../outcomes.ts';
import { readExternalAccount } from './external-account.ts';

const directory = mkdtempSync(join(tmpdir(), 'fanfare-external-'));
afterAll(() => rmSync(directory, { recursive: true }));

const NOW_MS = Date.parse('2026-11-29T12:00:00Z');
const subjectFile = join(directory, 'token');
writeFileSync(subjectFile, 'subject\n');

/** As `gcloud iam workload-identity-pools create-cred-config` writes it. */
const file = {
  type: 'external_account',
  audience:
    '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k8s',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: 'https://sts.googleapis.com/v1/token',
  credential_source: { file: subjectFile, format: { type: 'text' } },
};
const IMPERSONATE =
  'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.iam.gserviceaccount.com:generateAccessToken';
const impersonating = { ...file, service_account_impersonation_url: IMPERSONATE };

type Sent = Parameters<SendUnowned>[0];

function answered(status: number, body: unknown): OutgoingAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { result: 'answered', status, headers: new Headers(), body: Buffer.from(text) };
}

const swapped = answered(200, { access_token: 'swapped', expires_in: 1800, token_type: 'Bearer' });

/** Requests a token with this file, from servers that give these answers. */
async function ask(json: object, ...answers: readonly OutgoingAnswer[]) {
  const read = readExternalAccount({ ...json }, 'shop-1234');
  if (!read.ok) throw new Error(read.why);
  const sent: Sent[] = [];
  const token = await read.credential.requestToken({
    nowMs: () => NOW_MS,
    signal: new AbortController().signal,
    async send(request) {
      sent.push(request);
      const answer = answers[sent.length - 1];
      if (answer === undefined) throw new Error('nothing to answer');
      return answer;
    },
  });
  return { token, sent, projectId: read.credential.projectId };
}

describe('the token of an external account', () => {
  it('is swapped for the one in the file', async () => {
    const { token, sent, projectId } = await ask(file, swapped);
    expect(projectId).toBe('shop-1234');
    expect(token).toEqual({ ok: true, token: 'swapped', validMs: 1_800_000 });
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({
      url: file.token_url,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      timeoutMs: 10_000,
    });
    expect(Object.fromEntries(new URLSearchParams(String(sent[0]?.body)))).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience: file.audience,
      scope: 'https://www.googleapis.com/auth/firebase.messaging',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      subject_token: 'subject',
      subject_token_type: file.subject_token_type,
    });
  });

  it('is that of a service account, if the file names one', async () => {
    const granted = { accessToken: 'of the account', expireTime: '2026-11-29T12:40:00Z' };
    const { token, sent } = await ask(impersonating, swapped, answered(200, granted));
    expect(token).toEqual({ ok: true, token: 'of the account', validMs: 2_400_000 });
    const form = new URLSearchParams(String(sent[0]?.body));
    expect(form.get('scope')).toBe('https://www.googleapis.com/auth/cloud-platform');
    expect(sent[1]).toMatchObject({
      url: IMPERSONATE,
      headers: { authorization: 'Bearer swapped', 'content-type': 'application/json' },
    });
    expect(JSON.parse(String(sent[1]?.body))).toEqual({
      scope: ['https://www.googleapis.com/auth/firebase.messaging'],
      lifetime: '3600s',
    });
  });

  it('is swapped for one that a URL gives, in a field of an object', async () => {
    const source = {
      url: 'http://169.254.169.254/metadata/identity/oauth2/token?resource=api://fanfare',
      headers: { Metadata: 'True' },
      format: { type: 'json', subject_token_field_name: 'access_token' },
    };
    const { sent, token } = await ask(
      { ...file, credential_source: source },
      answered(200, { access_token: 'from a url' }),
      swapped,
    );
    expect(token).toMatchObject({ ok: true });
    expect(sent[0]).toMatchObject({ url: source.url, headers: { metadata: 'True' } });
    expect(sent[0]?.body).toBeUndefined();
    expect(new URLSearchParams(String(sent[1]?.body)).get('subject_token')).toBe('from a url');
  });

  it('is read anew each time, because what puts it there renews it', async () => {
    const path = join(directory, 'renewed');
    for (const content of ['first', 'second']) {
      writeFileSync(path, content);
      const { sent } = await ask({ ...file, credential_source: { file: path } }, swapped);
      expect(new URLSearchParams(String(sent[0]?.body)).get('subject_token')).toBe(content);
    }
  });

  const none = (words: string) => ({
    ...tryAgain('access-token-no-subject-token', 'connection'),
    words,
  });

  it.each([
    [{ file: join(directory, 'missing') }, [], 'does not exist'],
    [
      { file: subjectFile, format: { type: 'json', subject_token_field_name: 'id' } },
      [],
      'it holds no token',
    ],
    [{ url: 'http://localhost/token' }, [answered(404, '')], 'HTTP status 404'],
    [{ url: 'http://localhost/token' }, [answered(200, 'a\nb')], 'it holds no token'],
    [{ url: 'http://localhost/token' }, [{ result: 'timeout' }], 'no answer in time'],
  ] as [object, OutgoingAnswer[], string][])(
    'is asked for again if %j gives none',
    async (source, answers, words) => {
      const { token, sent } = await ask({ ...file, credential_source: source }, ...answers);
      expect(token).toEqual({ ok: false, fault: none(words) });
      expect(sent).toHaveLength(answers.length);
    },
  );

  it('is refused in the words of Google', async () => {
    const refusal = { error: 'invalid_target', error_description: 'The target is not known.' };
    expect((await ask(file, answered(400, refusal))).token).toEqual({
      ok: false,
      fault: {
        ...notAuthorised('access-token-invalid_target', 'The target is not known.'),
        scope: 'connection',
      },
    });
    const denied = {
      error: { code: 403, status: 'PERMISSION_DENIED', message: 'Permission denied.' },
    };
    expect((await ask(impersonating, swapped, answered(403, denied))).token).toEqual({
      ok: false,
      fault: {
        ...notAuthorised('access-token-permission_denied', 'Permission denied.'),
        scope: 'connection',
      },
    });
  });
});

describe('the file of an external account', () => {
  it.each([
    [{ audience: '' }, 'its audience is missing'],
    [{ subject_token_type: undefined }, 'its subject_token_type is missing'],
    [{ token_url: 'file:///etc/passwd' }, 'its token_url is not an http or https address'],
    [
      { service_account_impersonation_url: 'x' },
      'its service_account_impersonation_url is not an http or https address',
    ],
    [{ credential_source: undefined }, 'its credential_source is missing'],
    [{ credential_source: { executable: { command: 'rm' } } }, 'neither a file nor a url'],
    [
      { credential_source: { environment_id: 'aws1', url: 'http://169.254.169.254/' } },
      'neither a file nor a url',
    ],
    [{ credential_source: { certificate: {} } }, 'neither a file nor a url'],
    [
      { credential_source: { file: 'f', format: { type: 'xml' } } },
      'the format of its credential_source is neither text nor json',
    ],
    [
      { credential_source: { file: 'f', format: { type: 'json' } } },
      'the format of its credential_source has no subject_token_field_name',
    ],
    [
      { credential_source: { url: 'http://a/', headers: { 'a\r\nb': 'c' } } },
      'the headers of its credential_source are malformed',
    ],
    [
      { credential_source: { url: 'http://a/', headers: { a: 'b\r\nc: d' } } },
      'the headers of its credential_source are malformed',
    ],
  ])('is refused with %j', (change, why) => {
    const read = readExternalAccount({ ...file, ...change }, 'shop-1234');
    expect(read).toMatchObject({ ok: false, why: expect.stringContaining(why) });
  });
});
