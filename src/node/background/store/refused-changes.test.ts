import { expect, it } from 'bun:test';
import { TableMeter } from '../../../observability/meter.ts';
import { keptLog } from '../../../webhooks/webhooks.fixture.ts';
import { refusedChanges } from './refused-changes.ts';

it('counts each refused change, and logs the owner once a minute', () => {
  const meter = new TableMeter();
  const log = keptLog();
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const refused = refusedChanges({
    meter,
    log,
    clock,
    instanceId: (number) => (number === 7 ? 'the-id' : undefined),
  });
  for (const owner of [7, 7, 7, 8, 'admin', undefined] as const) refused(owner);
  clock.nowMs = 60_000;
  refused(7);

  const line = 'warn Store is overloaded: changes refused';
  expect(log.lines).toEqual([
    `${line} {"owner":"instance","instance":"the-id"}`,
    `${line} {"owner":"instance","instance":"number 8"}`,
    `${line} {"owner":"admin"}`,
    `${line} {"owner":"server"}`,
    `${line} {"owner":"instance","instance":"the-id","notLogged":2}`,
  ]);
  expect(meter.snapshot().get('storeChangesRefused')).toEqual(
    new Map([
      ['instance', 5],
      ['admin', 1],
      ['server', 1],
    ]),
  );
});
