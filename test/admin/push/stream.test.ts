import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { pushStreamEvents } from '../../../src/admin/push/stream-shapes.ts';
import { admin } from '../../../testing/clients/admin-api.ts';
import { LiveStream } from '../../../testing/clients/live-stream.ts';
import { eventually } from '../../../testing/eventually.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import { fanfare } from '../../cli/run-fanfare.ts';
import {
  ask,
  beamsToken,
  device,
  events,
  newInstance,
  planned,
  published,
  registered,
  setUser,
  startPush,
  TO_USERS,
} from '../../protocol/push/exchange.ts';

/** What a push instance shows live. Its instances have no credentials, so no gateway is asked. */

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

/** A device of Ann, whose token begins with `secret`. */
async function deviceOfAnn(instance: Awaited<ReturnType<typeof newInstance>>): Promise<string> {
  const iss = `https://${instance.id}.pushnotifications.pusher.com`;
  const id = await registered(instance, 'fcm', { token: `secret-${'x'.repeat(40)}` });
  const { status } = await setUser(instance, id, beamsToken({ iss }, instance.secretKey));
  expect(status).toBe(200);
  return id;
}

describe('the live stream of an instance', () => {
  it('shows a publish from its acceptance to its end, and each device, without its token', async () => {
    const instance = await newInstance(server);
    await using stream = await LiveStream.ofInstance(server, instance.id);
    const ann = await deviceOfAnn(instance);
    const publish = await published(instance, TO_USERS);
    await planned(instance, publish, 1);
    await ask(instance, 'POST', events(instance.id), {
      headers: { 'content-type': 'application/json' },
      body: { event: 'open', publishId: publish, deviceId: ann, timestampSecs: 1 },
    });
    await stream.record({ kind: 'finished', publish });
    await ask(instance, 'DELETE', device(`fcm/${ann}`, instance.id));
    // What happened at another server may be shown earlier or later.
    for (const kind of ['removed', 'registered', 'published', 'planned', 'failed']) {
      await stream.record({ kind });
    }
    const shown = (kind: string) => stream.records.filter((one) => one.kind === kind);
    expect(shown('registered')).toMatchObject([{ device: ann, platform: 'fcm' }]);
    expect(shown('published')).toMatchObject([{ publish, target: 'users: ann' }]);
    expect(shown('planned')).toMatchObject([{ publish, platform: 'fcm', devices: 1 }]);
    expect(shown('failed')).toMatchObject([
      { publish, device: ann, user: 'ann', platform: 'fcm', reason: 'no-gateway' },
    ]);
    expect(shown('removed')).toMatchObject([{ device: ann, user: 'ann', devices: 1 }]);
    const counted = (kind: string) =>
      (stream.events.get('counts') ?? []).reduce<number>(
        (sum, counts) => sum + (Object(counts).kinds[kind] ?? 0),
        0,
      );
    await stream.event('counts', () => counted('removed') === 1);
    expect([counted('published'), counted('failed'), counted('finished')]).toEqual([1, 1, 1]);
    expect(JSON.stringify([...stream.events])).not.toContain('secret-');
    for (const [name, all] of stream.events) {
      for (const data of all) {
        expect(pushStreamEvents[name]?.safeParse(data)).toMatchObject({ success: true });
      }
    }
  });

  it('shows only what its filters ask for, also as a command', async () => {
    const instance = await newInstance(server);
    const opened = server.logsNext(/Live stream opened/);
    const tail = fanfare(server.directory, [
      ...['push', 'tail', instance.id, '--kinds', 'published,cancelled', '--text', 'shop'],
      ...['--url', `http://127.0.0.1:${server.adminPort}`],
      ...['--config', join(server.directory, 'config.json')],
    ]);
    await opened;
    await using stream = await LiveStream.ofInstance(server, instance.id, '?kinds=published');
    const sendAt = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, '');
    const bodyOf = (interest: string) => ({ interests: [interest], sendAt, fcm: { data: {} } });
    const wanted = await published(instance, bodyOf('shop'));
    const other = await published(instance, bodyOf('news'));
    await admin(server, 'POST', `/instances/${instance.id}/publishes/${other}/cancel`);
    for (const publish of [wanted, other]) await stream.record({ publish });
    expect(stream.kinds()).toEqual(['published', 'published']);
    await eventually(
      () => admin(server, 'DELETE', `/instances/${instance.id}`),
      ({ status }) => status === 200 || status === 204,
    );
    const { exitCode, stdout, stderr } = await tail;
    expect(stdout.replace(/^[\d:.]{12}/gm, 'TIME')).toBe(
      `TIME  published       ${wanted}  interests: shop  due ${sendAt.replace('Z', '.000Z')}\n`,
    );
    expect([exitCode, stderr]).toEqual([
      1,
      'fanfare: the stream has ended: the instance was deleted\n',
    ]);
  });
});
