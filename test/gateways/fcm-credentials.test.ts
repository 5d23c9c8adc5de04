import { afterAll, beforeAll, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FakeFcm, startFakeFcm } from '../../src/fake-gateways/fcm/fake-fcm.ts';
import { PushRequests, requestPush } from '../../testing/clients/push-requests.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { INSTANCE, pushSettings } from '../../testing/servers/push-server.ts';

/** Instances that send to FCM without a key: with an external account, and with the account of the machine. */

const PROJECT = 'fanfare-fake';
const SUBJECT = 'token-of-the-cluster';
const MACHINE_ID = INSTANCE.id.replace(/^\w/, '1');

const stops = new AsyncDisposableStack();
afterAll(() => stops.disposeAsync());

let fcm: FakeFcm;
let server: Fanfare;
/** Each request to Google in its order: what it is about, and what it shows. */
const asked: string[] = [];

/** Security Token Service, IAM and the metadata server of Google in one. */
function startGoogle() {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const { access_token, expires_in } = fcm.issuer.grant(Date.now()).body;
      if (pathname === '/token') {
        const form = new URLSearchParams(await request.text());
        asked.push(`swap ${form.get('subject_token')}`);
        return Response.json({ access_token: 'swapped', expires_in: 60 });
      }
      if (pathname === '/impersonate') {
        asked.push(`impersonate ${request.headers.get('authorization')}`);
        const expireTime = new Date(Date.now() + expires_in * 1000).toISOString();
        return Response.json({ accessToken: access_token, expireTime });
      }
      asked.push(`metadata ${request.headers.get('metadata-flavor')}`);
      const headers = { 'Metadata-Flavor': 'Google' };
      return Response.json({ access_token, expires_in }, { headers });
    },
  });
}

beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-fcm-'));
  stops.defer(() => rmSync(directory, { recursive: true }));
  fcm = stops.use(await startFakeFcm());
  const google = startGoogle();
  stops.defer(() => google.stop(true));
  const origin = `http://127.0.0.1:${google.port}`;
  const write = (name: string, text: string) => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const external = {
    type: 'external_account',
    audience:
      '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${origin}/token`,
    service_account_impersonation_url: `${origin}/impersonate`,
    credential_source: { file: write('subject', SUBJECT) },
  };
  const gateway = { projectId: PROJECT, origin: fcm.origin, caFile: write('ca.pem', fcm.ca) };
  const instance = (id: string, how: object) => ({
    id,
    secretKeys: [INSTANCE.secretKey],
    fcm: { ...how, ...gateway },
  });
  const serviceAccountFile = write('external.json', JSON.stringify(external));
  server = stops.use(
    await startFanfare({
      environment: { GCE_METADATA_HOST: `127.0.0.1:${google.port}` },
      config: {
        push: pushSettings(
          instance(INSTANCE.id, { serviceAccountFile }),
          instance(MACHINE_ID, { metadata: true }),
        ),
      },
    }),
  );
}, 60_000);

it.each([
  ['an external account', INSTANCE.id, [`swap ${SUBJECT}`, 'impersonate Bearer swapped']],
  ['the account of the machine', MACHINE_ID, ['metadata Google']],
])('delivers with %s', async (_, id, expected) => {
  asked.length = 0;
  fcm.arrivals.clear();
  const requests = new PushRequests({ ...INSTANCE, id });
  const token = `phone-of-${id}`;
  const target = `/device_api/v1/instances/${id}/devices/fcm`;
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ token });
  const registered = await requestPush(server, { method: 'POST', target, headers, body });
  expect(registered.status).toBe(200);
  await requestPush(server, requests.setInterests(String(registered.json['id']), ['news']));
  const publish = { interests: ['news'], fcm: { notification: { title: 'Hello' } } };
  const { status } = await requestPush(server, requests.publish(publish));
  expect(status).toBe(200);
  await fcm.arrivals.reaches(1);
  expect(fcm.arrivals.list()).toMatchObject([{ token }]);
  expect(asked).toEqual(expected);
});
