import { describe, expect, it } from 'bun:test';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RawClient } from '../../../testing/clients/raw-client.ts';
import { trigger } from '../../../testing/clients/sign.ts';
import { eventually } from '../../../testing/eventually.ts';
import {
  type Fanfare,
  type FanfareOptions,
  startFanfare,
} from '../../../testing/servers/fanfare.ts';
import { restart } from '../../../testing/servers/restart.ts';

/** Histories in memory over restarts; §3.9 of their specification. */

const start = (threads = 1, more: FanfareOptions = {}) =>
  startFanfare({
    threads,
    onlyOne: 'sqlite-file',
    app: { history: [{ channels: 'kept-*', seconds: 600 }] },
    ...more,
  });

/** Its push API never ends, so that it can be killed while it stops. */
const ENDLESS_STOP: FanfareOptions = {
  program: join(import.meta.dir, '../held-events-server.fixture.ts'),
  environment: { HELD: 'stop' },
};

const fileOf = ({ directory }: Fanfare) => join(directory, 'fanfare.db.history');

async function publish(server: Fanfare, channel: string, data: string): Promise<string> {
  const answer = JSON.parse(await trigger(server, { name: 'e', channel, data }));
  return answer.event_ids[channel];
}

/** What a client gets that was at a place: the data of the events after it, or why there are none. */
async function resumes(server: Fanfare, channel: string, place: string): Promise<unknown> {
  await using client = await RawClient.connect(server);
  client.send({ event: 'pusher:subscribe', data: { channel, resume_after_id: place } });
  const { data } = await client.receive();
  const { ok, missed, why } = JSON.parse(String(data)).resume;
  if (ok !== true) return why;
  const received: unknown[] = [];
  for (let n = 0; n < missed; n++) received.push((await client.receive()).data);
  return received;
}

const CHANNELS = Array.from({ length: 8 }, (_, n) => `kept-${n}`);

/** Publishes to all channels. Returns a place in each. */
async function filled(server: Fanfare): Promise<ReadonlyMap<string, string>> {
  const places = new Map<string, string>();
  for (const channel of CHANNELS) {
    places.set(channel, await publish(server, channel, 'first'));
    await publish(server, channel, 'missed');
  }
  return places;
}

async function allResume(server: Fanfare, places: ReadonlyMap<string, string>): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const [channel, place] of places) answers.push(await resumes(server, channel, place));
  return answers;
}

describe('a history in memory', () => {
  it('continues after a clean restart, and its file is gone before anybody is served', async () => {
    await using first = await start();
    const places = await filled(first);
    expect(existsSync(fileOf(first))).toBe(false);
    expect(await first.stop()).toBe(0);
    expect(statSync(fileOf(first)).mode & 0o777).toBe(0o600);
    await using second = await restart(first);
    expect(existsSync(fileOf(second))).toBe(false);
    expect(await allResume(second, places)).toEqual(CHANNELS.map(() => ['missed']));
    expect(await publish(second, 'kept-0', 'more')).toStartWith('3-');
  });

  it('continues with another number of threads', async () => {
    await using first = await start(2);
    const places = await filled(first);
    await first.stop();
    await using second = await restart(first);
    expect(await allResume(second, places)).toEqual(CHANNELS.map(() => ['missed']));
  });

  it.each([1, 2])(
    'continues after a stop that kill -9 cuts short, with %d threads',
    async (threads) => {
      await using first = await start(threads, ENDLESS_STOP);
      await using client = await RawClient.connect(first, { transport: 'ws' });
      let isClosed = false;
      void client.closed.then(() => {
        isClosed = true;
      });
      const places = await filled(first);
      first.process.kill('SIGTERM');
      await eventually(
        async () => await publish(first, 'kept-probe', 'too late').catch((error) => String(error)),
        (answer) => answer.includes('Server is stopping'),
      );
      await eventually(
        async () => existsSync(fileOf(first)),
        (isWritten) => isWritten,
      );
      expect(isClosed).toBe(false);
      await using second = await restart(first, 'SIGKILL');
      expect(await allResume(second, places)).toEqual(CHANNELS.map(() => ['missed']));
    },
  );

  it('is a gap after kill -9, whatever was saved before', async () => {
    await using first = await start();
    const places = await filled(first);
    await using second = await restart(await restart(first), 'SIGKILL');
    expect(await allResume(second, places)).toEqual(CHANNELS.map(() => 'forgotten'));
  });

  it('is a gap if its file is put back later, or damaged', async () => {
    let server = await start();
    const places = await filled(server);
    await server.stop();
    const saved = readFileSync(fileOf(server));
    server = await restart(server);
    await publish(server, 'kept-0', 'of the second run');
    await server.stop();
    const damaged = Buffer.from(readFileSync(fileOf(server)));
    damaged[damaged.length - 20] = 0x21;
    for (const bytes of [saved, damaged]) {
      writeFileSync(fileOf(server), bytes);
      server = await restart(server);
      expect(server.output.stderr).toContain('The histories of the last run cannot be used');
      expect(existsSync(fileOf(server))).toBe(false);
      expect(await resumes(server, 'kept-0', places.get('kept-0') ?? '')).toBe('forgotten');
      await publish(server, 'kept-0', 'again');
      await server.stop();
    }
    await server[Symbol.asyncDispose]();
  });
});
