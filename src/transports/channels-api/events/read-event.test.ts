import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { appSettings } from '../../../config/settings/channels-settings.ts';
import { ApiRefusal } from '../problems.ts';
import { readQuery } from '../query.ts';
import { readBatch, readRawEvent, readTrigger, type Trigger } from './read-event.ts';

const app = appSettings.parse({ id: '3', keys: [{ key: 'k', secret: 's' }] });
const bytes = (text: string) => Buffer.from(text);

function trigger(body: string, query = ''): Trigger {
  const read = readTrigger(app, bytes(body), readQuery(query));
  if (read instanceof ApiRefusal) throw new Error(read.text);
  return read;
}

/** What the code that continues with a trigger may rely on. */
function expectTrigger(read: Trigger): void {
  expect(read.name.length).toBeWithin(1, 201);
  expect(Buffer.byteLength(read.data)).toBeLessThanOrEqual(10_240);
  expect(read.channels.length).toBeWithin(1, 101);
  for (const { text } of read.channels) expect(text).toMatch(/^(#server-to-user-)?[\w\-=@,.;]+$/);
  expect(new Set(read.channels.map(({ text }) => text)).size).toBe(read.channels.length);
}

function expectAnswer(read: Trigger | readonly Trigger[] | ApiRefusal): void {
  if (read instanceof ApiRefusal) {
    expect(['invalid', 'data-too-large']).toContain(read.problem);
    expect(read.text).toBeString();
    expect(read.text.length).toBeWithin(1, 2000);
    return;
  }
  for (const one of 'name' in read ? [read] : read) expectTrigger(one);
}

/** Values in the shape of an event, with anything at all in their fields. */
const anything = fc.jsonValue({ maxDepth: 3 });
const channelTexts = fc.oneof(fc.constantFrom('a', 'presence-a', 'a b', ''), fc.string());
const nearly = fc.record(
  {
    name: fc.oneof(fc.constantFrom('n', 'pusher:x', '', null, '__proto__'), fc.string(), anything),
    data: fc.oneof(fc.string(), anything),
    channel: fc.oneof(channelTexts, anything),
    channels: fc.oneof(fc.array(channelTexts), anything),
    socket_id: fc.oneof(fc.constantFrom('1.1', '', null), anything),
    info: fc.oneof(fc.constantFrom('user_count', 'subscription_count', 'x', ''), anything),
  },
  { requiredKeys: [] },
);

describe('a trigger', () => {
  it('is read, or refused with a short reason, whatever JSON the body is', () => {
    const bodies = fc.oneof(
      anything,
      nearly,
      fc.record({ batch: fc.oneof(anything, fc.array(nearly)) }),
    );
    const queries = fc.oneof(fc.constant(''), fc.webQueryParameters());
    fc.assert(
      fc.property(bodies, queries, (body, query) => {
        const text = bytes(JSON.stringify(body));
        expectAnswer(readTrigger(app, text, readQuery(query)));
        expectAnswer(readBatch(app, text));
        expectAnswer(readRawEvent(app, 'a', text, readQuery(query)));
      }),
      { numRuns: 1000 },
    );
  });

  it('is read, or refused with a short reason, whatever bytes the body is', () => {
    const cut = fc
      .tuple(fc.json(), fc.nat(), fc.nat())
      .map(
        ([text, a, b]) => text.slice(a % (text.length + 1)) + text.slice(0, b % (text.length + 1)),
      );
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), cut.map(bytes)), fc.string(), (body, channel) => {
        expectAnswer(readTrigger(app, body, []));
        expectAnswer(readBatch(app, body));
        expectAnswer(readRawEvent(app, channel, body, readQuery('name=n')));
      }),
      { numRuns: 1000 },
    );
  });

  it('has the exact JSON of data that is not a string', () => {
    const spaces = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 3 });
    const values = fc
      .tuple(fc.json(), fc.nat({ max: 4 }))
      .map(([text, indent]) => JSON.stringify(JSON.parse(text), undefined, indent))
      .filter((text) => !text.startsWith('"'));
    fc.assert(
      fc.property(values, spaces, spaces, (value, before, after) => {
        const event = `{"data":${before}${value}${after},"name":"n","channel":"a"}`;
        expect(trigger(event).data).toBe(value);
        const batch = readBatch(app, bytes(`{"batch":[${before}${event}${after}]}`));
        expect(batch).toMatchObject([{ data: value }]);
      }),
    );
  });

  it('takes each field from the body, or from the query if the body has none', () => {
    const fields = ['name', 'data', 'channel', 'socket_id', 'info'] as const;
    const values = { name: 'n', data: 'd', channel: 'c', socket_id: '1.1', info: 'user_count' };
    fc.assert(
      fc.property(fc.subarray([...fields]), fc.subarray([...fields]), (inBody, onlyInBody) => {
        const body = Object.fromEntries(inBody.map((name) => [name, values[name]]));
        const query = fields
          .filter((name) => !(inBody.includes(name) && onlyInBody.includes(name)))
          .map((name) => `${name}=${inBody.includes(name) ? 'pusher:loses!' : values[name]}`);
        expect(trigger(JSON.stringify(body), query.join('&'))).toMatchObject({
          name: 'n',
          data: 'd',
          channels: [{ text: 'c' }],
          except: '1.1',
          attributes: ['user_count'],
        });
      }),
    );
  });

  it('that is null counts as absent, except for data', () => {
    const event =
      '{"name":null,"data":null,"channels":null,"channel":"c","socket_id":null,"info":null}';
    expect(trigger(event, 'name=n')).toMatchObject({ name: 'n', data: 'null', asked: false });
    expect(trigger(event, 'name=n&data=d')).toMatchObject({ data: 'd', except: undefined });
  });

  it('goes to the channel of the body, though the query has several', () => {
    const { channels } = trigger(
      '{"name":"n","data":"d","channel":"c"}',
      'channels[]=a&channels[]=b',
    );
    expect(channels).toMatchObject([{ text: 'c' }]);
  });

  it('is read at any depth', () => {
    const depth = 5000;
    const deep = '['.repeat(depth) + ']'.repeat(depth);
    expect(trigger(`{"name":"n","channel":"c","data":${deep}}`).data).toBe(deep);
    const deeper = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    expect(trigger(`{"name":"n","channel":"c","data":"d","more":${deeper}}`).data).toBe('d');
    expect(readTrigger(app, bytes('['.repeat(1_000_000)), [])).toBeInstanceOf(ApiRefusal);
  });
});
