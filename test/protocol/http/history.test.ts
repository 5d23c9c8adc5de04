import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { api, trigger } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { fresh } from '../websocket/conversation.ts';

/** `GET /channels/NAME/history` and `POST …/forget_history`; §3.5 of the specification of histories. */

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    app: { history: [{ channels: 'few-*', events: 3 }, { channels: 'kept-*' }] },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

async function publish(channel: string, name: string, more: object = {}): Promise<string> {
  const answer = JSON.parse(await trigger(server, { name, channel, data: name, ...more }));
  return answer.event_ids[channel];
}

async function ask(channel: string, query: Readonly<Record<string, string>> = {}) {
  const response = await api(server, 'GET', `/apps/${APP.id}/channels/${channel}/history`, {
    query,
  });
  const text = await response.text();
  return { status: response.status, text, json: response.status === 200 ? JSON.parse(text) : {} };
}

const namesOf = ({ json }: { readonly json: { readonly events: readonly { name: string }[] } }) =>
  json.events.map(({ name }) => name).join(' ');

describe('the history of a channel', () => {
  it('is listed with the newest event first', async () => {
    const channel = fresh('kept-');
    const first = await publish(channel, 'a');
    const second = await publish(channel, 'b', { socket_id: '1.1', data: '{"n": 1.0}' });
    const { json } = await ask(channel);
    const time_ms = expect.any(Number);
    expect(json).toEqual({
      events: [
        { id: second, name: 'b', data: '{"n": 1.0}', time_ms, socket_id: '1.1' },
        { id: first, name: 'a', data: 'a', time_ms },
      ],
      last_id: second,
      more: false,
    });
    expect(Math.abs(Date.now() - json.events[0].time_ms)).toBeLessThan(60_000);
  });

  it('is read page by page in both directions', async () => {
    const channel = fresh('kept-');
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) ids.push(await publish(channel, name));
    const newest = await ask(channel, { limit: '2' });
    expect([namesOf(newest), newest.json.more]).toEqual(['e d', true]);
    const older = await ask(channel, { limit: '2', before_id: ids[3] ?? '' });
    expect([namesOf(older), older.json.more]).toEqual(['c b', true]);
    const oldest = await ask(channel, { limit: '2', before_id: ids[1] ?? '' });
    expect([namesOf(oldest), oldest.json.more]).toEqual(['a', false]);
    const later = await ask(channel, { limit: '2', after_id: ids[1] ?? '' });
    expect([namesOf(later), later.json.more, later.json.complete]).toEqual(['c d', true, true]);
    const last = await ask(channel, { after_id: ids[4] ?? '' });
    expect(last.json).toEqual({ events: [], last_id: ids[4], more: false, complete: true });
    const none = await ask(channel, { limit: '0' });
    expect(none.json).toEqual({ events: [], last_id: ids[4], more: true });
  });

  it('reports whether everything since an event is there', async () => {
    const channel = fresh('few-');
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) ids.push(await publish(channel, name));
    const after = async (id = '') => {
      const answer = await ask(channel, { after_id: id });
      return [namesOf(answer), answer.json.complete];
    };
    expect(await after(ids[0])).toEqual(['c d e', false]);
    expect(await after(ids[1])).toEqual(['c d e', true]);
    expect(await after('5-abcdefgh')).toEqual(['c d e', false]);
    expect((await ask(channel, { before_id: ids[0] ?? '' })).json.events).toEqual([]);
  });

  it('has a place to resume after before the first event', async () => {
    const channel = fresh('kept-');
    expect((await ask(channel, { after_id: '1-abcdefgh' })).json.complete).toBe(false);
    const { json } = await ask(channel);
    expect(json).toEqual({ events: [], last_id: expect.stringMatching(/^0-/), more: false });
    await publish(channel, 'first');
    const since = await ask(channel, { after_id: json.last_id });
    expect([namesOf(since), since.json.complete]).toEqual(['first', true]);
  });

  it('becomes a gap for everybody when it is forgotten', async () => {
    const channel = fresh('kept-');
    const id = await publish(channel, 'secret');
    const response = await api(
      server,
      'POST',
      `/apps/${APP.id}/channels/${channel}/forget_history`,
      {
        body: '{}',
      },
    );
    expect([response.status, await response.text()]).toEqual([200, '{}']);
    expect((await ask(channel, { after_id: id })).json).toMatchObject({
      events: [],
      complete: false,
    });
  });
});

describe('an event with an idempotency key', () => {
  it('is sent once, and each repetition is answered with its id', async () => {
    const [channel, other] = [fresh('kept-'), fresh('kept-')];
    const more = { idempotency_key: fresh('!~') };
    const id = await publish(channel, 'a', more);
    expect(await publish(channel, 'a', more)).toBe(id);
    expect(await publish(channel, 'b', more)).toBe(id);
    expect(namesOf(await ask(channel))).toBe('a');
    // Another channel has an event of its own.
    await publish(other, 'c', more);
    expect(namesOf(await ask(other))).toBe('c');
    expect(await publish(channel, 'd', { idempotency_key: fresh('k-') })).not.toBe(id);
  });

  it('is sent to the channels that have not got it', async () => {
    const [first, second] = [fresh('kept-'), fresh('kept-')];
    const idempotency_key = fresh('k-');
    const id = await publish(first, 'a', { idempotency_key });
    const channels = [first, second];
    const body = { name: 'a', channels, data: 'a', idempotency_key };
    const { event_ids } = JSON.parse(await trigger(server, body));
    expect(event_ids).toEqual({ [first]: id, [second]: expect.stringMatching(/^1-/) });
  });

  it('is sent once in batches too, with keys of its own', async () => {
    const channel = fresh('kept-');
    const event = { name: 'a', channel, data: 'a' };
    const batch = [{ ...event, idempotency_key: 'x' }, event, { ...event, idempotency_key: 'x' }];
    const response = await api(server, 'POST', `/apps/${APP.id}/batch_events`, {
      body: JSON.stringify({ batch }),
    });
    const { batch: answers } = JSON.parse(await response.text());
    const [first, second, third] = answers;
    expect(third).toEqual(first);
    expect(second).not.toEqual(first);
    expect(namesOf(await ask(channel))).toBe('a a');
  });

  it('is sent once to a channel that keeps no history', async () => {
    const body = { name: 'a', channel: fresh('news-'), data: 'a', idempotency_key: 'k' };
    expect(await trigger(server, body)).toBe('{}');
    expect(await trigger(server, body)).toBe('{}');
  });

  it.each([[''], ['k'.repeat(256)], ['a b'], ['k\n'], ['é'], [1], [true], [['k']], [{}]])(
    'is refused if the key is %p',
    async (idempotency_key) => {
      const channel = fresh('kept-');
      const event = { name: 'a', channel, data: 'a', idempotency_key };
      const rule = 'idempotency_key: must be a string of 1 to 255 visible ASCII characters';
      const post = async (path: string, body: object) => {
        const response = await api(server, 'POST', `/apps/${APP.id}/${path}`, {
          body: JSON.stringify(body),
        });
        return [response.status, await response.text()];
      };
      expect(await post('events', event)).toEqual([400, rule]);
      expect(await post('batch_events', { batch: [event] })).toEqual([400, `batch[0].${rule}`]);
      expect((await ask(channel)).json.events).toEqual([]);
    },
  );
});

describe('a request for a history is refused', () => {
  const channel = 'kept-refused';
  const ID = 'must be the id of an event, like 1042-k3x9q2ab';
  const LIMIT = 'limit: must be a whole number of 0 to 1000';

  it.each([
    [{ limit: '-1' }, LIMIT],
    [{ limit: '1001' }, LIMIT],
    [{ limit: '1.5' }, LIMIT],
    [{ limit: '' }, LIMIT],
    [{ before_id: 'x' }, `before_id: ${ID}`],
    [{ after_id: '1-ABCDEFGH' }, `after_id: ${ID}`],
    [{ after_id: '1-abcdefgh', before_id: '1-abcdefgh' }, 'before_id: not together with after_id'],
    [{ since: '1' }, 'The following query string parameters are extraneous: since'],
  ])('with %p', async (query, text) => {
    expect(await ask(channel, query as Record<string, string>)).toMatchObject({
      status: 400,
      text,
    });
  });

  it('where the channel keeps none', async () => {
    const text = 'history: the channel news keeps none; see "history" in the settings of the app';
    expect(await ask('news')).toMatchObject({ status: 400, text });
    const path = `/apps/${APP.id}/channels/news/forget_history`;
    const response = await api(server, 'POST', path, { body: '' });
    expect([response.status, await response.text()]).toEqual([400, text]);
  });
});
