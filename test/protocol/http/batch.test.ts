import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { batches, EMPTY, posts, refused, subscriber } from './exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

describe('POST /batch_events', () => {
  it('answers with an empty JSON object', async () => {
    expect(await batches(server, [{ name: 'n', channel: 'a', data: 'd' }])).toEqual(EMPTY);
  });

  it('accepts an empty batch', async () => {
    expect(await batches(server, [])).toEqual(EMPTY);
  });

  it('sends its events in their order', async () => {
    await using client = await subscriber(server, 'order-1', 'order-2');
    const batch = Array.from({ length: 10 }, (_, at) => ({
      name: `n${at}`,
      channel: at % 3 === 0 ? 'order-1' : 'order-2',
      data: `d${at}`,
    }));
    expect(await batches(server, batch)).toEqual(EMPTY);
    for (const { name, channel, data } of batch) {
      expect(await client.receive()).toEqual({ event: name, channel, data });
    }
    await client.receiveNothing();
  });

  it('sends two equal events twice', async () => {
    await using client = await subscriber(server, 'same');
    const event = { name: 'n', channel: 'same', data: 'd' };
    await batches(server, [event, event]);
    expect(await client.receive()).toMatchObject({ event: 'n' });
    expect(await client.receive()).toMatchObject({ event: 'n' });
    await client.receiveNothing();
  });

  it('excludes a connection only from the event that names it', async () => {
    await using publisher = await subscriber(server, 'except');
    await using listener = await subscriber(server, 'except');
    const { socketId: socket_id } = publisher;
    await batches(server, [
      { name: 'first', channel: 'except', data: '', socket_id },
      { name: 'second', channel: 'except', data: '' },
    ]);
    expect(await publisher.receive()).toMatchObject({ event: 'second' });
    await publisher.receiveNothing();
    expect(await listener.receive()).toMatchObject({ event: 'first' });
    expect(await listener.receive()).toMatchObject({ event: 'second' });
  });

  it('passes on data that is not a string as its JSON text', async () => {
    await using client = await subscriber(server, 'texts');
    const texts = ['{ "b":1, "a":12345678901234567890 }', 'null', '"s"', '[1e1, "]"]', 'false'];
    const events = texts.map((text) => `{"data":${text},"channel":"texts","name":"n"}`);
    expect(await posts(server, '/batch_events', `{"batch": [${events.join(' , ')}]}`)).toEqual(
      EMPTY,
    );
    for (const text of [
      '{ "b":1, "a":12345678901234567890 }',
      'null',
      's',
      '[1e1, "]"]',
      'false',
    ]) {
      expect(await client.receive()).toEqual({ event: 'n', channel: 'texts', data: text });
    }
  });

  it('uses the last of two batches in one body', async () => {
    await using client = await subscriber(server, 'last-batch');
    const batch = (data: number) =>
      `"batch":[{"name":"n","channel":"last-batch","data":[${data}]}]`;
    await posts(server, '/batch_events', `{${batch(1)},${batch(2)}}`);
    expect(await client.receive()).toMatchObject({ data: '[2]' });
    await client.receiveNothing();
  });

  const good = { name: 'n', channel: 'refused', data: 'd' };
  const cases: readonly (readonly [what: string, body: unknown, text: string])[] = [
    ['an empty object', {}, 'batch: required'],
    ['a batch that is null', { batch: null }, 'batch: must be an array'],
    ['a batch that is an object', { batch: good }, 'batch: must be an array'],
    ['an event that is null', { batch: [good, null] }, 'batch[1]: must be an object'],
    ['an event that is an array', { batch: [good, []] }, 'batch[1]: must be an object'],
    ['an event that is a string', { batch: [good, 'x'] }, 'batch[1]: must be an object'],
    ['no name', { batch: [good, { ...good, name: undefined }] }, 'batch[1].name: required'],
    ['no data', { batch: [good, { ...good, data: undefined }] }, 'batch[1].data: required'],
    ['no channel', { batch: [good, { name: 'n', data: 'd' }] }, 'batch[1].channel: required'],
    [
      'several channels',
      { batch: [good, { name: 'n', data: 'd', channels: ['refused'] }] },
      'batch[1].channel: required',
    ],
    [
      'a bad channel',
      { batch: [good, { ...good, channel: 'no!' }] },
      'batch[1].channel: Invalid channel name "no!"',
    ],
    [
      'a bad socket_id',
      { batch: [good, { ...good, socket_id: 'x' }] },
      'batch[1].socket_id: must be',
    ],
    [
      'a reserved name',
      { batch: [good, { ...good, name: 'pusher:x' }] },
      'batch[1].name: names that begin with pusher:',
    ],
    [
      'an unknown attribute',
      { batch: [good, { ...good, info: 'x' }] },
      'info should be a comma separated list of attributes',
    ],
    ['info that is a number', { batch: [good, { ...good, info: 1 }] }, 'batch[1].info: must be'],
  ];
  it.each(cases)('refuses %s, and sends none of its events', async (_, body, text) => {
    await using client = await subscriber(server, 'refused');
    expect(await posts(server, '/batch_events', Object(body))).toEqual(
      refused(400, expect.stringContaining(text)),
    );
    await client.receiveNothing();
  });
});
