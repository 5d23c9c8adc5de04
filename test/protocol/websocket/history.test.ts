import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { api, trigger } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import {
  type Client,
  channelData,
  confirmation,
  connect,
  error,
  fresh,
  join,
  member,
  unsubscribe,
} from './conversation.ts';

/** History and resume; §3.3 to §3.7 of its specification. */

/** Half of it is what one resume may send. */
const SEND_BUFFER_BYTES = 65_536;

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    app: {
      clientEvents: true,
      history: [
        { channels: 'few-*', events: 3 },
        { channels: 'replay-*', replay: 2 },
        { channels: 'none' },
        ...['', 'private-', 'presence-', 'private-encrypted-', 'cache-'].map((prefix) => ({
          channels: `${prefix}kept-*`,
        })),
        { channels: '#server-to-user-*' },
      ],
    },
    channels: { sendBufferBytes: SEND_BUFFER_BYTES },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const ID = /^\d{1,15}-[a-z0-9]{8}$/;

interface Place {
  readonly resume_after_id?: unknown;
  readonly resume_socket_ids?: unknown;
}

/** Subscribes with a place, and returns what the confirmation says of it. */
async function resume(client: Client, channel: string, place: Place, data?: string) {
  const signed = /^(private|presence)-/.test(channel) ? client.app.auth(client, channel, data) : {};
  client.send({ event: 'pusher:subscribe', data: { channel, ...signed, ...place } });
  const received = await client.receive();
  expect(received).toMatchObject({ event: 'pusher_internal:subscription_succeeded', channel });
  return JSON.parse(String(received.data)).resume;
}

/** Triggers an event and returns its id. */
async function publish(channel: string, name: string, more: object = {}): Promise<string> {
  const answer = JSON.parse(await trigger(server, { name, channel, data: name, ...more }));
  const id = answer.event_ids?.[channel];
  expect(id).toMatch(ID);
  return id;
}

async function post(path: string, body: object): Promise<unknown> {
  const call = { body: JSON.stringify(body) };
  return await (await api(server, 'POST', `/apps/${APP.id}${path}`, call)).json();
}

const kept = (channel: string, name: string, id: string) => ({
  event: name,
  channel,
  data: name,
  id,
});

describe('an event of a channel with a history', () => {
  it('has its id as the last member of the frame, and numbers that rise by one', async () => {
    const channel = fresh('kept-');
    await using client = await member(server, channel);
    const ids = [await publish(channel, 'a'), await publish(channel, 'b')];
    for (const id of ids) {
      const frame = await client.receiveText();
      expect(frame).toEndWith(`,"id":"${id}"}`);
    }
    expect(ids.map((id) => id.split('-')[0])).toEqual(['1', '2']);
  });

  it('has the id in batches and beside attributes too', async () => {
    const [channel, plain] = [fresh('kept-'), fresh()];
    const batch = [channel, plain].map((name) => ({ name: 'e', channel: name, data: '' }));
    const answer = await post('/batch_events', { batch });
    expect(answer).toEqual({ batch: [{ event_id: expect.stringMatching(ID) }, {}] });
    const channels = [fresh('presence-kept-'), fresh('presence-')];
    const [inside = '', outside = ''] = channels;
    const body = { name: 'e', channels, data: '', info: 'user_count' };
    expect(await post('/events', body)).toEqual({
      channels: { [inside]: { user_count: 0 }, [outside]: { user_count: 0 } },
      event_ids: { [inside]: expect.stringMatching(ID) },
    });
  });

  it('has none in other channels, where all bytes are as without histories', async () => {
    const channel = fresh();
    await using client = await connect(server);
    expect(await resume(client, channel, { resume_after_id: '' })).toBeUndefined();
    expect(await trigger(server, { name: 'e', channel, data: 'd' })).toBe('{}');
    expect(await client.receiveText()).toBe(`{"event":"e","channel":"${channel}","data":"d"}`);
  });

  it('has none if a client has sent it', async () => {
    const channel = fresh('private-kept-');
    await using one = await member(server, channel);
    await using other = await member(server, channel);
    one.send({ event: 'client-typing', channel, data: {} });
    expect(await other.receive()).toEqual({ event: 'client-typing', channel, data: '{}' });
    await using third = await connect(server);
    const { id } = await resume(third, channel, { resume_after_id: '' });
    expect(id).toStartWith('0-');
  });
});

describe('a client that resumes', () => {
  const PREFIXES = ['kept-', 'private-kept-', 'presence-kept-', 'private-encrypted-kept-'];

  it.each(PREFIXES)(
    'gets what it missed after the confirmation, in %s channels',
    async (prefix) => {
      const channel = fresh(prefix);
      const data = prefix.startsWith('presence') ? channelData('1') : undefined;
      const first = await publish(channel, 'first');
      const missed = [await publish(channel, 'a'), await publish(channel, 'b')];
      await using client = await connect(server);
      const answer = await resume(client, channel, { resume_after_id: first }, data);
      expect(answer).toEqual({ ok: true, id: missed[1], missed: 2 });
      expect(await client.receive()).toEqual(kept(channel, 'a', missed[0] ?? ''));
      expect(await client.receive()).toEqual(kept(channel, 'b', missed[1] ?? ''));
      const live = await publish(channel, 'c');
      expect(await client.receive()).toEqual(kept(channel, 'c', live));
    },
  );

  it('begins with the newest event when it has no place yet', async () => {
    const channel = fresh('kept-');
    const newest = await publish(channel, 'a');
    await using client = await connect(server);
    const answer = await resume(client, channel, { resume_after_id: '' });
    expect(answer).toEqual({ ok: true, id: newest, missed: 0 });
    await client.receiveNothing();
  });

  it('may resume in a channel without any event', async () => {
    const channel = fresh('kept-');
    await using first = await connect(server);
    const { id } = await resume(first, channel, { resume_after_id: '' });
    await using client = await connect(server);
    expect(await resume(client, channel, { resume_after_id: id })).toEqual({
      ok: true,
      id,
      missed: 0,
    });
  });

  it('learns that its place is forgotten, made up, of another channel or in the future', async () => {
    const channel = fresh('few-');
    const [old = '', ...later] = await Promise.all(
      ['a', 'b', 'c', 'd', 'e'].map(async (name) => await publish(channel, name)),
    );
    const newest = [old, ...later].toSorted(
      (one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10),
    );
    const foreign = await publish(fresh('kept-'), 'a');
    const bad = [newest[0], foreign, '6-abcdefgh', `5-${newest[4]?.slice(3)}x`, 'x', '5', ' ', 'é'];
    for (const resume_after_id of bad) {
      await using client = await connect(server);
      expect(await resume(client, channel, { resume_after_id })).toEqual({
        ok: false,
        id: newest[4],
        missed: 0,
        why: 'forgotten',
      });
      await client.receiveNothing();
    }
  });

  it('does not get what excluded one of its connections', async () => {
    const channel = fresh('kept-');
    await using client = await connect(server);
    const first = await publish(channel, 'first');
    await publish(channel, 'by an old one', { socket_id: '1.1' });
    await publish(channel, 'by itself', { socket_id: client.socketId });
    const seen = await publish(channel, 'by another', { socket_id: '2.2' });
    const place = { resume_after_id: first, resume_socket_ids: ['1.1', 7, null] };
    expect(await resume(client, channel, place)).toEqual({ ok: true, id: seen, missed: 1 });
    expect(await client.receive()).toEqual(kept(channel, 'by another', seen));
  });

  it('gets all or nothing when it missed more than may be sent at once', async () => {
    const channel = fresh('kept-');
    const first = await publish(channel, 'first');
    const data = 'x'.repeat(8_000);
    for (let n = 0; n < 4; n++) await publish(channel, 'big', { data });
    await using fits = await connect(server);
    const { ok, missed, id } = await resume(fits, channel, { resume_after_id: first });
    expect({ ok, missed }).toEqual({ ok: true, missed: 4 });
    const newest = await publish(channel, 'big', { data });
    await using client = await connect(server);
    expect(await resume(client, channel, { resume_after_id: first })).toEqual({
      ok: false,
      id: newest,
      missed: 0,
      why: 'too-much',
    });
    await client.receiveNothing();
    expect(id).not.toBe(newest);
  });

  it('starts anew after it has unsubscribed, and is refused with a place that is no text', async () => {
    const channel = fresh('kept-');
    await using client = await member(server, channel);
    unsubscribe(client, channel);
    for (const resume_after_id of [1, {}, [], true]) {
      client.send({ event: 'pusher:subscribe', data: { channel, resume_after_id } });
      expect(await client.receive()).toEqual(
        error('Invalid pusher:subscribe message: resume_after_id must be a string'),
      );
    }
  });
});

describe('a client that does not resume', () => {
  it.each([undefined, null])('gets the confirmation of before with the place %p', async (place) => {
    const channel = fresh('kept-');
    await publish(channel, 'a');
    await using client = await connect(server);
    client.send({ event: 'pusher:subscribe', data: { channel, resume_after_id: place } });
    expect(await client.receive()).toEqual(confirmation(channel));
    await client.receiveNothing();
  });

  it('gets the last events after each confirmation where the rule says so', async () => {
    const channel = fresh('replay-');
    for (const name of ['a', 'b', 'c']) await publish(channel, name);
    await using client = await connect(server);
    await join(client, channel);
    expect([await client.receive(), await client.receive()]).toMatchObject([
      { event: 'b' },
      { event: 'c' },
    ]);
    unsubscribe(client, channel);
    await join(client, channel);
    expect([await client.receive(), await client.receive()]).toMatchObject([
      { event: 'b' },
      { event: 'c' },
    ]);
    await client.receiveNothing();
  });
});

describe('a cache channel with a history', () => {
  it('sends neither the cached event nor a miss to a client that has all events', async () => {
    const channel = fresh('cache-kept-');
    const first = await publish(channel, 'a');
    await using client = await connect(server);
    expect((await resume(client, channel, { resume_after_id: first })).ok).toBe(true);
    await client.receiveNothing();
  });

  it('sends the cached event with its id to one whose place is forgotten', async () => {
    const channel = fresh('cache-kept-');
    const first = await publish(channel, 'a');
    await using client = await connect(server);
    expect((await resume(client, channel, { resume_after_id: '7-abcdefgh' })).ok).toBe(false);
    expect(await client.receive()).toEqual(kept(channel, 'a', first));
  });
});
