import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, spawnFanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { startAgain } from '../../testing/servers/restart.ts';
import { type ReleaseSource, releases, writeSource } from '../faults/releases.ts';
import { ask, device, INSTANCE, publish, pushSettings } from '../protocol/push/exchange.ts';
import { type Around, startAround } from './around.ts';

/** A server of the latest release that has the store of this version sends no alert to the further tokens in it. */

// A clone without history lacks it.
const release = await releases().then(
  (all) => all.at(-1),
  () => undefined,
);
let source: ReleaseSource;
let around: Around;

beforeAll(async () => {
  if (release === undefined) return;
  source = writeSource(release);
  around = await startAround();
});
afterAll(async () => {
  source?.[Symbol.dispose]();
  await around?.[Symbol.asyncDispose]();
});

const [ORDINARY, FURTHER] = ['ab'.repeat(32), 'cd'.repeat(32)];

async function register(server: Fanfare, fields: object): Promise<void> {
  const body = { bundleIdentifier: 'com.example.app', ...fields };
  expect((await ask(server, 'POST', device('apns'), { body })).status).toBe(200);
}

describe.skipIf(release === undefined)('a further token', () => {
  it('gets no alert of an older server, which counts it as failed', async () => {
    await using first = await startFanfare({
      onlyOne: 'sqlite-file',
      config: { push: pushSettings({ instance: { apns: around.gateways.settings.apns } }) },
    });
    const interests = ['news'];
    await register(first, { token: ORDINARY, interests });
    await register(first, { token: FURTHER, kind: 'voip', interests });
    expect(await first.stop('SIGTERM')).toBe(0);

    const program = join(source.folder, 'src/main.ts');
    await using released = await startAgain(first, {
      spawn: (args, directory, environment) =>
        spawnFanfare(args, directory, environment, { program }),
    });
    const body = { interests, apns: { aps: { alert: 'Hi' } } };
    const { json } = await publish(released, '/interests', body);
    const { publishId } = json as { publishId: string };
    const headers = { authorization: `Bearer ${INSTANCE.secretKey}` };
    const path = `/publish_api/v1/instances/${INSTANCE.id}/publishes/${publishId}`;
    const status = await eventually(
      async () => (await ask(released, 'GET', path, { headers })).json,
      (found) => (found as { state: string }).state === 'finished',
    );
    expect(status).toMatchObject({
      platforms: { apns: { planned: 2, accepted: 1, failed: 1 } },
      reasons: [{ platform: 'apns', reason: 'no-apns-token', devices: 1 }],
    });
    const received = await fetch(`${around.gateways.controlUrl}/received`);
    const { received: all } = (await received.json()) as { received: { to: string }[] };
    expect(all.map(({ to }) => to)).toEqual([ORDINARY]);
  }, 120_000);
});
