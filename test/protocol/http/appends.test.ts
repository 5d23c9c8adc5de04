import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../../testing/clients/admin-api.ts';
import { EventReader } from '../../../testing/clients/event-reader.ts';
import { signedTarget } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp } from '../../../testing/servers/test-app.ts';
import { type Client, cacheMiss, connect, fresh, join, member } from '../websocket/conversation.ts';
import { type Answered, batches, EMPTY, gets, json, refused, triggers } from './exchange.ts';

/** Values that grow: `append` of `POST /events`. */

const BYTES_MAX = 2000;
const ID = /^\d{1,15}-[a-z0-9]{8}$/;

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    app: {
      clientEvents: true,
      history: [{ channels: 'private-cache-kept-*' }],
      limits: { appendBytes: BYTES_MAX, clientEventsPerSecond: 0 },
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

function append(channel: string, data: string, piece: object): Promise<Answered> {
  return triggers(server, { name: 'answer', channel, data, append: { id: 'm1', ...piece } });
}

const length = (value: number) => json(`{"length":${value}}`);

/** The data of the next event. */
async function dataOf(client: Client): Promise<string> {
  return String((await client.receive()).data);
}

describe('a value that grows', () => {
  it('is sent in pieces, whose data the server makes', async () => {
    const channel = fresh('private-cache-');
    await using client = await member(server, channel);
    expect(await client.receive()).toEqual(cacheMiss(channel));
    expect(await append(channel, 'Hel', { at: 0 })).toEqual(length(3));
    expect(await append(channel, 'lo "é\n', { at: 3, end: true })).toEqual(length(9));
    const event = (data: string) => ({ event: 'answer', channel, data });
    expect(await client.receive()).toEqual(event('{"id":"m1","at":0,"text":"Hel"}'));
    expect(await client.receive()).toEqual(
      event('{"id":"m1","at":3,"text":"lo \\"é\\n","end":true}'),
    );
    const { text } = await gets(server, `/channels/${channel}`, { info: 'cache' });
    expect(JSON.parse(text).cache).toMatchObject({
      data: '{"id":"m1","at":0,"text":"Hello \\"é\\n","end":true}',
    });
    // A value that is empty is sent to nobody.
    expect(await append(channel, '', { at: 0 })).toEqual(length(0));
    await client.receiveNothing();
  });

  it('is answered by its positions', async () => {
    const channel = fresh('cache-');
    const unknown = refused(404, 'append: no value m1, send it again from 0');
    expect(await append(channel, 'x', { at: 1 })).toEqual(unknown);
    expect(await append(channel, 'abc', { at: 0 })).toEqual(length(3));
    expect(await append(channel, 'bc', { at: 1 })).toEqual(length(3));
    expect(await append(channel, 'bcd', { at: 1 })).toEqual(length(4));
    const ahead = refused(400, 'append.at: m1 has 4 characters');
    expect(await append(channel, 'x', { at: 5 })).toEqual(ahead);
    expect(await append(channel, '👍', { at: 4 })).toEqual(length(6));
    const within = 'append.at: the end of m1 is within a character of this piece';
    expect(await append(channel, 'xx👍', { at: 3 })).toEqual(refused(400, within));
    expect(await append(channel, '', { at: 6, end: true })).toEqual(length(6));
    expect(await append(channel, '', { at: 6, end: true })).toEqual(length(6));
    const ended = refused(409, 'append: m1 has ended');
    expect(await append(channel, 'x', { at: 6 })).toEqual(ended);
    expect(await append(channel, 'y', { id: 'm2', at: 0 })).toEqual(length(1));
    const replaced = refused(409, 'append: m2 has replaced m1');
    expect(await append(channel, 'x', { at: 6 })).toEqual(replaced);
  });

  it('is whole for whoever comes late, comes back or reads, at each of 40 points', async () => {
    const channel = fresh('private-cache-kept-');
    const stays = await member(server, channel);
    await stays.receive();
    const path = `/apps/${APP.id}/channels/${channel}/stream`;
    let place = JSON.parse((await triggers(server, { name: 'before', channel, data: '' })).text)
      .event_ids[channel];
    let [value, joined] = ['', ''];
    await stays.receive();
    for (let n = 0; n < 40; n++) {
      const piece = ['tok', '"é\\', ' 👍\n'][n % 3] ?? '';
      const end = n === 39;
      const { text } = await append(channel, piece, { at: value.length, end });
      value += piece;
      const { at, text: added } = JSON.parse(await dataOf(stays));
      joined = joined.slice(0, at) + added;
      const whole = JSON.stringify({ id: 'm1', at: 0, text: value, ...(end && { end }) });

      await using late = await member(server, channel);
      expect(await dataOf(late)).toBe(whole);
      await using resuming = await connect(server);
      const signed = resuming.app.auth(resuming, channel);
      const data = { channel, ...signed, resume_after_id: place };
      resuming.send({ event: 'pusher:subscribe', data });
      const { resume } = JSON.parse(await dataOf(resuming));
      expect(resume).toMatchObject({ ok: true, missed: end ? 1 : 0 });
      expect(await dataOf(resuming)).toBe(whole);
      await using reader = await EventReader.open(server, signedTarget('GET', path), {
        'last-event-id': place,
      });
      await reader.confirmed();
      expect(JSON.parse((await reader.event()).data).data).toBe(whole);
      if (!end) continue;
      place = JSON.parse(text).event_ids[channel];
      expect(place).toMatch(ID);
      // What has ended is one event of the history: it came once.
      await resuming.receiveNothing();
    }
    expect(joined).toBe(value);
    const { text } = await gets(server, `/channels/${channel}/history`);
    expect(JSON.parse(text).events.map(({ name }: { name: string }) => name)).toEqual([
      'answer',
      'before',
    ]);
    await stays.leave();
  });

  it('has at most the bytes of its limit, and stays as it was', async () => {
    const channel = fresh('cache-');
    const text = 'é'.repeat(BYTES_MAX / 2);
    expect(await append(channel, text, { at: 0 })).toEqual(length(BYTES_MAX / 2));
    expect(await append(channel, 'x', { at: BYTES_MAX / 2 })).toMatchObject({
      status: 413,
      text: `append: a value may have at most ${BYTES_MAX} bytes, and four times as many in a frame`,
    });
    await using client = await connect(server);
    await join(client, channel);
    expect(JSON.parse(await dataOf(client)).text).toBe(text);
  });

  it('stops on request of a backend or a client, and then says so in each answer', async () => {
    const channel = fresh('private-cache-');
    const stop = (id: string) =>
      triggers(server, { name: 'answer', channel, data: '', append: { id, stop: true } });
    const stopped = (value: number) => json(`{"length":${value},"stop":true}`);
    const unknown = refused(404, 'append: no value m1 that grows');
    expect(await stop('m1')).toEqual(unknown);
    await append(channel, 'a', { at: 0 });
    expect(await stop('m1')).toEqual(stopped(1));
    expect(await append(channel, 'b', { at: 1 })).toEqual(stopped(2));
    expect(await append(channel, 'a', { at: 0 })).toEqual(stopped(1));
    expect(await append(channel, 'c', { id: 'm2', at: 0 })).toEqual(length(1));

    await using one = await member(server, channel);
    await using other = await member(server, channel);
    for (const client of [one, other]) await client.receive();
    for (const data of ['x', '[]', '{"id":"m1"}', '{"id":2}']) {
      one.send({ event: 'client-stop', channel, data });
      expect(await other.receive()).toEqual({ event: 'client-stop', channel, data });
    }
    expect(await append(channel, 'd', { id: 'm2', at: 1 })).toEqual(length(2));
    for (const client of [one, other]) await client.receive();
    // SDKs send objects as they are.
    one.send({ event: 'client-stop', channel, data: { id: 'm2' } });
    expect(await other.receive()).toMatchObject({ event: 'client-stop', data: '{"id":"m2"}' });
    expect(await append(channel, 'e', { id: 'm2', at: 2, end: true })).toEqual(stopped(3));
    expect(await stop('m2')).toEqual(refused(404, 'append: no value m2 that grows'));
  });
});

describe('an append', () => {
  const channel = 'cache-refused';
  const at0 = { id: 'm1', at: 0 };
  const cases: readonly (readonly [event: object, why: string])[] = [
    [{ append: 'x' }, 'append: must be an object'],
    [{ append: [] }, 'append: must be an object'],
    [{ channel: undefined, channels: ['cache-a', 'cache-b'] }, 'append: only to one channel'],
    [{ channel: 'news' }, 'append: news is no cache channel, or is encrypted'],
    [
      { channel: 'private-encrypted-cache-a' },
      'append: private-encrypted-cache-a is no cache channel, or is encrypted',
    ],
    [{ socket_id: '1.1' }, 'append: not together with socket_id'],
    [{ idempotency_key: 'k' }, 'append: not together with idempotency_key'],
    [{ info: 'user_count' }, 'append: not together with info'],
    [{ data: { a: 1 } }, 'data: with append, it must be text without unpaired surrogates'],
    [{ append: { at: 0 } }, 'append.id: must be 1 to 64 of A-Z a-z 0-9 _ -'],
    [{ append: { id: 'a b', at: 0 } }, 'append.id: must be 1 to 64 of A-Z a-z 0-9 _ -'],
    [{ append: { id: 'x'.repeat(65), at: 0 } }, 'append.id: must be 1 to 64 of A-Z a-z 0-9 _ -'],
    [{ append: { id: 'm' } }, 'append.at: must be a whole number, 0 or more'],
    [{ append: { id: 'm', at: '0' } }, 'append.at: must be a whole number, 0 or more'],
    [{ append: { id: 'm', at: -1 } }, 'append.at: must be a whole number, 0 or more'],
    [{ append: { id: 'm', at: 0.5 } }, 'append.at: must be a whole number, 0 or more'],
    [{ append: { ...at0, end: 'yes' } }, 'append.end: must be true or false'],
    [{ append: { ...at0, stop: 1 } }, 'append.stop: must be true or false'],
    [
      { append: { id: 'm', stop: true } },
      'append.stop: not together with data, append.at or append.end',
    ],
    [
      { data: '', append: { ...at0, stop: true } },
      'append.stop: not together with data, append.at or append.end',
    ],
  ];
  it.each(cases)('is refused: %j', async (event, why) => {
    const whole = { name: 'n', channel, data: 'x', append: at0, ...event };
    expect(await triggers(server, whole)).toEqual({ ...refused(400, why) });
  });

  it('is refused with half of a surrogate pair', async () => {
    const event = `{"name":"n","channel":"${channel}","data":"\\ud83d","append":{"id":"m","at":0}}`;
    const why = 'data: with append, it must be text without unpaired surrogates';
    expect(await triggers(server, event)).toEqual(refused(400, why));
  });

  it('is refused in a batch, and where values may have no bytes', async () => {
    const event = { name: 'n', channel, data: 'x', append: at0 };
    const inBatch = refused(400, 'batch[0].append: not in a batch');
    expect(await batches(server, [event])).toEqual(inBatch);
    const none = await newApp(server, { limits: { appendBytes: 0 } });
    const off = refused(400, 'append: limits.appendBytes of the app is 0');
    expect(await triggers(none, event)).toEqual(off);
    // Nothing of all that was remembered.
    await using client = await connect(server);
    await join(client, channel);
    expect(await client.receive()).toEqual(cacheMiss(channel));
  });

  it('may be null, and is an ordinary event then', async () => {
    const event = { name: 'n', channel: fresh('cache-'), data: 'x', append: null };
    expect(await triggers(server, event)).toEqual(EMPTY);
  });

  it('is counted by its result', async () => {
    const count = async (result: string) => {
      const { text } = await admin(server, 'GET', '//metrics');
      const [, value] =
        new RegExp(`^fanfare_appends_total\\{result="${result}"\\} (\\d+)$`, 'm').exec(text) ?? [];
      return Number(value);
    };
    const before = await Promise.all(['sent', 'repeated', 'refused'].map(count));
    const name = fresh('cache-');
    await append(name, 'ab', { at: 0 });
    await append(name, 'b', { at: 1 });
    await append(name, 'x', { at: 3 });
    const after = await Promise.all(['sent', 'repeated', 'refused'].map(count));
    expect(after).toEqual(before.map((value) => value + 1));
  });
});
