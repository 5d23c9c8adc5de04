import { describe, expect, it } from 'bun:test';
import type { App } from '../../../channels/app.ts';
import { appWith, type FakeHub, hubWith } from '../../../channels/hub.fixture.ts';
import { readBatch, readTrigger } from './read-event.ts';
import {
  chargeRefused,
  refuseEvents,
  refuseTrigger,
  refuseWeight,
  textOfOne,
  textsOfBatch,
} from './trigger-rate.ts';

const RATE = 200;
const DATA_MAX = 10_240;

function appAt(triggersPerSecond: number): App {
  const app = appWith();
  return { ...app, limits: { ...app.limits, triggersPerSecond } };
}

/** How much of its rate an app has left. */
function leftOf(hub: FakeHub, app: App): number {
  let left = 0;
  while (hub.usage.takeTriggers(app, 1)) left++;
  return left;
}

/** What a body costs of a rate, read as the endpoints do. */
function costOf(json: string, kind: 'one' | 'batch' = 'one'): number {
  const hub = hubWith();
  const app = appAt(RATE);
  const sent = { hub, app, body: Buffer.from(json) };
  expect(refuseTrigger(hub.usage, app)).toBeUndefined();
  if (refuseWeight(sent) === undefined) {
    const read = kind === 'one' ? readTrigger(app, sent.body, []) : readBatch(app, sent.body);
    if ('problem' in read) chargeRefused(sent);
    else if ('name' in read) refuseEvents(sent, [read], textOfOne);
    else refuseEvents(sent, read, textsOfBatch);
  }
  const left = leftOf(hub, app);
  // What is owed is seen only when time has passed.
  hub.clock.advance(1000);
  return left > 0 ? RATE - left : RATE + RATE - leftOf(hub, app);
}

const escaped = (text: string) =>
  text.replace(/[^a-z]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
const event = (data: string) => `{"name":"e","channel":"c","data":${data}}`;
const batch = (data: string, events: number) =>
  `{"batch":[${Array(events).fill(event(data)).join()}]}`;

const keys = (count: number) => Array.from({ length: count }, (_, n) => `,"k${n}":1`).join('');

describe('an event with as much data as possible', () => {
  const largest: readonly (readonly [how: string, data: string])[] = [
    ['plain', `"${'x'.repeat(DATA_MAX)}"`],
    ['with escapes of two characters', `"${'\\"'.repeat(DATA_MAX)}"`],
    ['with escapes of six characters', `"${escaped('"'.repeat(DATA_MAX))}"`],
    ['of Cyrillic letters, escaped', `"${escaped('я'.repeat(DATA_MAX / 2))}"`],
    ['as JSON', `[${'[],'.repeat(3000)}[]]`],
  ];

  it.each(largest)('costs one, and ten of them in a batch cost ten: %s', (_, data) => {
    expect(costOf(event(data))).toBe(1);
    expect(costOf(batch(data, 10), 'batch')).toBe(10);
  });

  it('costs one with names of a hundred channels', () => {
    const channels = Array.from({ length: 100 }, (_, n) => `${n}`.padStart(200, 'x'));
    const data = 'x'.repeat(DATA_MAX);
    expect(costOf(JSON.stringify({ name: 'e', channels, data }))).toBe(1);
  });
});

describe('a body that holds something else', () => {
  it('costs one for each 10 KiB of it', () => {
    const json = `{"name":"e","channel":"c","data":"d"${keys(70_000)}}`;
    expect(costOf(json)).toBe(Math.floor(json.length / 10_240));
    const inBatch = `{"batch":[${event('"d"')}],"z":[${'1,'.repeat(50_000)}1]}`;
    expect(costOf(inBatch, 'batch')).toBe(Math.floor(inBatch.length / 10_240));
  });

  it('costs the same if it is refused, and one if it is small', () => {
    const json = `{"name":"e","data":"d"${keys(70_000)}}`;
    expect(costOf(json)).toBe(Math.floor(json.length / 10_240));
    expect(costOf(`{"name":"e","channel":"c","data":"${'x'.repeat(100_000)}"}`)).toBe(9);
    expect(costOf('{')).toBe(1);
  });
});

it('costs nothing in an app without a rate', () => {
  const hub = hubWith();
  const app = appAt(0);
  const body = Buffer.from('x'.repeat(1_000_000));
  expect(refuseTrigger(hub.usage, app)).toBeUndefined();
  expect(refuseWeight({ hub, app, body })).toBeUndefined();
  chargeRefused({ hub, app, body });
  expect(refuseTrigger(hub.usage, app)).toBeUndefined();
});

it('refuses a batch that exceeds the rest of the rate before it is read', () => {
  const hub = hubWith();
  const app = appAt(10);
  const body = Buffer.from(batch(`"${escaped('"'.repeat(DATA_MAX))}"`, 10));
  hub.usage.takeTriggers(app, 6);
  expect(refuseTrigger(hub.usage, app)).toBeUndefined();
  expect(refuseWeight({ hub, app, body })).toMatchObject({ problem: 'rate-limited' });
  // Nothing is owed: after a second there is room for all of it.
  hub.clock.advance(1000);
  expect(refuseTrigger(hub.usage, app)).toBeUndefined();
  expect(refuseWeight({ hub, app, body })).toBeUndefined();
});
