import { expect, it } from 'bun:test';
import { appWith, channelName, FakeClock } from '../../channels/hub.fixture.ts';
import type { RuleEvent } from '../../channels/push-rules/push-rule.ts';
import { RuleEventRelay } from './rule-event-relay.ts';

function relay() {
  const clock = new FakeClock();
  const sent: RuleEvent[] = [];
  const counted: string[] = [];
  const meter = { count: (_: string, __: number, result: string) => void counted.push(result) };
  const lines: unknown[] = [];
  const log = { warn: (_: string, fields?: object) => void lines.push(fields) };
  const note = new RuleEventRelay({
    send: (event) => sent.push(event),
    charactersMax: 8 * 1024 * 1024,
    clock,
    log,
    meter,
  });
  return { clock, sent, counted, lines, relay: note };
}

const appWithRule = (id: string, perSecond = 10_000) =>
  appWith({
    id,
    pushRules: [{ channels: 'a*', events: ['e'], instance: '', interest: 'i', perSecond }],
  });
const event = (appId: string, name = 'e', channel = 'abc', data = '{}'): RuleEvent => ({
  appId,
  channel: channelName(channel).text,
  name,
  data,
  idempotencyKey: undefined,
});

it('sends only events that fit a rule', () => {
  const { relay: to, sent } = relay();
  const app = appWithRule('1');
  to.note(app, event('1', 'other'));
  to.note(app, event('1', 'e', 'b'));
  to.note(app, event('1'));
  expect(sent).toEqual([event('1')]);
});

it('leaves out what is over the rate of the rule, counts it, and logs it once a minute', () => {
  const { relay: to, sent, counted, lines, clock } = relay();
  const app = appWithRule('1', 2);
  for (let n = 0; n < 5; n++) to.note(app, event('1'));
  expect([sent.length, counted]).toEqual([2, ['over-rate', 'over-rate', 'over-rate']]);
  const why = 'the rule has reached `perSecond`';
  const line = { app: '1', setting: 'pushRules.0', channel: 'abc', event: 'e', why };
  expect(lines).toEqual([line]);
  clock.advance(500);
  to.note(app, event('1'));
  expect(sent).toHaveLength(3);
});

it('gives an app half of what is free until events are done', () => {
  const { relay: to, sent, counted } = relay();
  const [loud, quiet] = [appWithRule('loud'), appWithRule('quiet')];
  for (let n = 0; n < 3_000; n++) to.note(loud, event('loud'));
  const ofLoud = sent.length;
  expect(ofLoud).toBeWithin(600, 1_001);
  expect(counted).toHaveLength(3_000 - ofLoud);
  to.note(quiet, event('quiet'));
  expect(sent.at(-1)).toEqual(event('quiet'));
  for (let n = 0; n < 2; n++) to.done({ appId: 'loud', dataLength: 2 });
  to.note(loud, event('loud'));
  expect(sent.at(-1)).toEqual(event('loud'));
});

it('bounds the characters too', () => {
  const { relay: to, sent } = relay();
  const app = appWithRule('1');
  for (let n = 0; n < 10; n++) to.note(app, event('1', 'e', 'abc', 'x'.repeat(1024 * 1024)));
  expect(sent.length).toBeWithin(2, 5);
});
