import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { EventReader } from '../../../testing/clients/event-reader.ts';
import { RawClient } from '../../../testing/clients/raw-client.ts';
import { api, channelAuth, signedTarget, trigger } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { fresh } from '../websocket/conversation.ts';

/** What a reader gets: frames as on a WebSocket, ids, gaps. */

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    app: {
      clientEvents: true,
      history: [
        { channels: 'private-few-*', events: 2 },
        { channels: 'private-again-*', replay: 2 },
        { channels: 'private-*' },
        { channels: 'presence-kept-*' },
      ],
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const kept = () => fresh('private-');

function targetOf(channels: readonly string[], query: Readonly<Record<string, string>> = {}) {
  const [only = ''] = channels;
  return channels.length === 1
    ? signedTarget('GET', `/apps/${APP.id}/channels/${only}/stream`, { query })
    : signedTarget('GET', `/apps/${APP.id}/stream`, {
        query: { channels: channels.join(','), ...query },
      });
}

const reads = (channels: readonly string[], headers: Readonly<Record<string, string>> = {}) =>
  EventReader.open(server, targetOf(channels), headers);

const readsAfter = (channels: readonly string[], lastId: string) =>
  reads(channels, { 'last-event-id': lastId });

async function publish(channel: string, data: string, more: object = {}): Promise<string> {
  const answer = JSON.parse(await trigger(server, { name: 'e', channel, data, ...more }));
  return answer.event_ids?.[channel];
}

async function subscribed(channel: string, data: object = {}): Promise<RawClient> {
  const client = await RawClient.connect(server);
  const auth = channelAuth(client.socketId, channel);
  client.send({ event: 'pusher:subscribe', data: { channel, ...auth, ...data } });
  return client;
}

describe('a stream', () => {
  it('begins at once with its head, and the frames of a connection', async () => {
    const channel = kept();
    await using reader = await reads([channel]);
    const head = (name: string) => reader.response.headers.get(name);
    expect(
      ['content-type', 'cache-control', 'x-accel-buffering', 'access-control-allow-origin'].map(
        head,
      ),
    ).toEqual(['text/event-stream; charset=utf-8', 'no-cache, no-transform', 'no', '*']);
    expect(await reader.next()).toEqual({ retry: '2000' });
    expect(await reader.next()).toEqual({
      event: 'pusher',
      data: expect.stringMatching(
        /^\{"event":"pusher:connection_established","data":"\{\\"socket_id\\":\\"\d+\.\d+\\",\\"activity_timeout\\":120\}"\}$/,
      ),
    });
    const { event, id, data } = await reader.event();
    expect(event).toBe('pusher');
    expect(data).toBe(
      `{"event":"pusher_internal:subscription_succeeded","channel":"${channel}","data":"{\\"resume\\":{\\"ok\\":true,\\"id\\":\\"${id}\\",\\"missed\\":0}}"}`,
    );
  });

  it('has each frame byte for byte as a WebSocket gets it, and in that order', async () => {
    const [channel, encrypted] = [kept(), fresh('private-encrypted-')];
    const cached = fresh('private-cache-');
    for (const name of [channel, encrypted, cached]) {
      await using client = await subscribed(name, { resume_after_id: '' });
      await using other = await subscribed(name);
      const first = JSON.parse(await client.receiveText());
      expect(first.event).toBe('pusher_internal:subscription_succeeded');
      await using reader = await reads([name]);
      await reader.confirmed();
      const names = ['error', 'open', 'message', 'a\nb', '"'];
      for (const event of names) {
        const data = `{"a":"\n\u2028 id: x ${event}"}`;
        await trigger(server, { name: event, channel: name, data });
      }
      other.send({ event: 'client-x', channel: name, data: { a: '\n\n' } });
      const count = names.length + 1;
      const sent: string[] = [];
      // Cache misses depend on when each came.
      const isCompared = (frame: string) => !frame.startsWith('{"event":"pusher');
      while (sent.length < count) {
        const frame = await client.receiveText();
        if (isCompared(frame)) sent.push(frame);
      }
      const read: string[] = [];
      while (read.length < count) {
        const { event, data, id } = await reader.event();
        if (!isCompared(data)) continue;
        expect([event, id]).toEqual([undefined, JSON.parse(data).id]);
        read.push(data);
      }
      expect(read).toEqual(sent);
    }
  });

  it('has what the protocol says of a channel as events of its own', async () => {
    const cached = fresh('cache-');
    await using reader = await EventReader.open(
      server,
      `/apps/${APP.id}/channels/${cached}/stream?key=${APP.key}`,
    );
    await reader.confirmed();
    expect(await reader.event()).toEqual({
      event: 'pusher',
      data: `{"event":"pusher:cache_miss","channel":"${cached}","data":"{}"}`,
    });
  });

  it('has the members of a presence channel, of whom its reader is none', async () => {
    const channel = fresh('presence-kept-');
    const enter = async (user: string) => {
      const client = await RawClient.connect(server);
      await client.subscribe(
        channel,
        channelAuth(client.socketId, channel, `{"user_id":"${user}","user_info":{"n":1}}`),
      );
      return client;
    };
    await using ann = await enter('ann');
    await using reader = await reads([channel]);
    const { data, id } = await reader.confirmed();
    expect(JSON.parse(JSON.parse(data).data)).toEqual({
      presence: { count: 1, ids: ['ann'], hash: { ann: { n: 1 } } },
      resume: { ok: true, id, missed: 0 },
    });
    const bob = await enter('bob');
    expect((await reader.event()).data).toContain('pusher_internal:member_added');
    expect(await ann.receive()).toMatchObject({ event: 'pusher_internal:member_added' });
    await bob.leave();
    expect((await reader.event()).data).toBe(
      `{"event":"pusher_internal:member_removed","channel":"${channel}","data":"{\\"user_id\\":\\"bob\\"}"}`,
    );
    expect(await ann.receive()).toMatchObject({ event: 'pusher_internal:member_removed' });
    await ann.receiveNothing();
    const users = await api(server, 'GET', `/apps/${APP.id}/channels/${channel}/users`);
    expect(await users.json()).toEqual({ users: [{ id: 'ann' }] });
    const known = await api(server, 'GET', `/apps/${APP.id}/channels/${channel}`, {
      query: { info: 'user_count' },
    });
    expect(await known.json()).toMatchObject({ occupied: true, user_count: 1 });
  });

  it('has no event for all but its own connection, until it comes back', async () => {
    const channel = kept();
    await using reader = await reads([channel]);
    await reader.next();
    const { data = '' } = await reader.next();
    const socket_id = JSON.parse(JSON.parse(data).data).socket_id;
    const { id = '' } = await reader.confirmed();
    await publish(channel, 'not for it', { socket_id });
    await publish(channel, 'for it');
    expect(await reader.message()).toBe('for it');
    await using again = await readsAfter([channel], id);
    expect([await again.message(), await again.message()]).toEqual(['not for it', 'for it']);
  });

  it('has no id where no channel keeps a history', async () => {
    const [a, b] = [fresh(), fresh()];
    await using reader = await EventReader.open(
      server,
      `/apps/${APP.id}/stream?key=${APP.key}&channels=${a},${b}`,
    );
    const { id } = await reader.confirmed(2);
    await publish(b, 'x');
    const event = await reader.event();
    expect([id, event.id]).toEqual([undefined, undefined]);
  });
});

describe('a reader that comes back', () => {
  it('gets what it missed, once and in order, and then what comes', async () => {
    const channel = kept();
    await using reader = await reads([channel]);
    await reader.confirmed();
    await publish(channel, '1');
    expect(await reader.message()).toBe('1');
    reader.leave();
    for (const data of ['2', '3']) await publish(channel, data);
    await using again = await readsAfter([channel], reader.lastId ?? '');
    const confirmed = await again.confirmed();
    // The place is the given one until what was missed is there: otherwise a cut in between would lose it.
    expect(confirmed.id).toBe(reader.lastId);
    expect(JSON.parse(JSON.parse(confirmed.data).data).resume).toMatchObject({
      ok: true,
      missed: 2,
    });
    await publish(channel, '4');
    const read = [await again.message(), await again.message(), await again.message()];
    expect(read).toEqual(['2', '3', '4']);
  });

  it('may begin with the place that a page knows, and its header comes first', async () => {
    const channel = kept();
    const first = await publish(channel, '1');
    const second = await publish(channel, '2');
    await publish(channel, '3');
    const target = targetOf([channel], { after: first });
    await using reader = await EventReader.open(server, target);
    expect(await reader.message()).toBe('2');
    await using later = await EventReader.open(server, target, { 'last-event-id': second });
    expect(await later.message()).toBe('3');
  });

  it('gets nothing old if it is new, unless the rule replays', async () => {
    const [channel, again] = [kept(), fresh('private-again-')];
    for (const name of [channel, again]) {
      for (const data of ['1', '2', '3']) await publish(name, data);
    }
    await using reader = await reads([channel]);
    await reader.confirmed();
    await publish(channel, '4');
    expect(await reader.message()).toBe('4');
    await using replayed = await reads([again]);
    expect([await replayed.message(), await replayed.message()]).toEqual(['2', '3']);
  });

  it.each([
    ['is no id', 'what?', '0-00000000'],
    ['is of no event', '5-abcdefgh', '5-abcdefgh'],
    ['has another number of parts than it has channels', '5-abcdefgh,', '0-00000000'],
  ])('learns of a gap if its place %s', async (_, lastId, given) => {
    const channel = kept();
    const newest = await publish(channel, '1');
    await using reader = await readsAfter([channel], lastId);
    const confirmed = await reader.confirmed();
    expect(confirmed.id).toBe(given);
    const gap = await reader.event();
    expect(gap).toEqual({
      event: 'gap',
      id: newest,
      data: `{"channel":"${channel}","why":"forgotten","id":"${newest}"}`,
    });
    await publish(channel, '2');
    expect(await reader.message()).toBe('2');
  });

  it('learns of a gap if its place was forgotten, or is of another channel', async () => {
    const channel = fresh('private-few-');
    const first = await publish(channel, '1');
    for (const data of ['2', '3', '4']) await publish(channel, data);
    const foreign = await publish(kept(), 'x');
    for (const place of [first, foreign]) {
      await using reader = await readsAfter([channel], place);
      await reader.confirmed();
      expect((await reader.event()).event).toBe('gap');
    }
  });

  it('learns of no gap in a channel that keeps no history', async () => {
    const channel = fresh();
    await using reader = await readsAfter([channel], 'what?');
    expect((await reader.confirmed()).id).toBeUndefined();
    await publish(channel, '1');
    expect(await reader.event()).toMatchObject({ data: expect.stringContaining('"1"') });
  });
});

describe('a reader of several channels', () => {
  it('has for each channel its last id, or nothing', async () => {
    const [a, plain, b] = [kept(), fresh(), kept()];
    const [oldA, oldB] = [await publish(a, 'old'), await publish(b, 'old')];
    await using reader = await reads([a, plain, b]);
    const ids: (string | undefined)[] = [];
    for (let n = 0; n < 3; n++) ids.push((await reader.confirmed()).id);
    expect(ids).toEqual([`${oldA},,`, `${oldA},,`, `${oldA},,${oldB}`]);
    const newB = await publish(b, 'b');
    expect((await reader.event()).id).toBe(`${oldA},,${newB}`);
    await publish(plain, 'p');
    expect((await reader.event()).id).toBeUndefined();
    const newA = await publish(a, 'a');
    expect((await reader.event()).id).toBe(`${newA},,${newB}`);
  });

  it('keeps the given places until each channel has what was missed', async () => {
    const [a, b, c] = [kept(), kept(), kept()];
    const [a1, b1, c1] = [await publish(a, 'a1'), await publish(b, 'b1'), await publish(c, 'c1')];
    const [a2, b2] = [await publish(a, 'a2'), await publish(b, 'b2')];
    await using reader = await readsAfter([a, b, c], `${a1},${b1},${c1}`);
    const ids: (readonly [string | undefined, string])[] = [];
    for (let n = 0; n < 7; n++) {
      const block = await reader.next();
      const frame = block.data === undefined ? {} : JSON.parse(block.data);
      if (frame.event === 'pusher_internal:subscription_succeeded') ids.push([block.id, 'in']);
      else if (block.event === undefined && block.data !== undefined)
        ids.push([block.id, frame.data]);
    }
    expect(ids).toEqual([
      [`${a1},${b1},${c1}`, 'in'],
      [`${a2},${b1},${c1}`, 'a2'],
      [`${a2},${b1},${c1}`, 'in'],
      [`${a2},${b2},${c1}`, 'b2'],
      [`${a2},${b2},${c1}`, 'in'],
    ]);
  });

  it('learns of a gap for each channel with a history if the number of its places is another one', async () => {
    const [a, plain, b] = [kept(), fresh(), kept()];
    const [newA, newB] = [await publish(a, 'a'), await publish(b, 'b')];
    await using reader = await readsAfter([a, plain, b], `${newA},${newB}`);
    const gaps: (readonly [string | undefined, string])[] = [];
    while (gaps.length < 2) {
      const { event, id, data } = await reader.event();
      if (event === 'gap') gaps.push([id, JSON.parse(data).channel]);
    }
    expect(gaps).toEqual([
      [`${newA},0-00000000,0-00000000`, a],
      [`${newA},,${newB}`, b],
    ]);
  });
});
