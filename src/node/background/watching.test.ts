import { expect, it } from 'bun:test';
import { appWith } from '../../channels/hub.fixture.ts';
import { TableMeter } from '../../observability/meter.ts';
import { InstanceTaps } from '../../push/watching/push-tap.ts';
import { systemTimers } from '../../runtime/system-timers.ts';
import { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import { INSTANCE } from '../../transports/push-api/endpoints/endpoints.fixture.ts';
import { AppTap } from '../../watching/app-tap.ts';
import { watchedInstance } from '../../watching/records.ts';
import { keptLog } from '../../webhooks/webhooks.fixture.ts';
import type { BackgroundToLoop } from '../link/messages.ts';
import { RealtimeClient } from '../link/realtime-client.ts';
import { openWatching } from './watching.ts';

/** A background loop whose realtime loop answers when the test wants it. */
function stage() {
  const received: BackgroundToLoop[] = [];
  const realtime = new RealtimeClient([(message) => void received.push(message)], systemTimers);
  const apps = new MemoryAppDirectory();
  apps.replace([appWith()]);
  const instances = new Map([[INSTANCE.id, INSTANCE]]);
  const instanceTaps = new InstanceTaps();
  const log = keptLog();
  const meter = new TableMeter();
  const watching = openWatching({
    node: 'a',
    isOneOfCluster: false,
    apps,
    instances: { byId: (id) => instances.get(id) },
    instanceTaps,
    realtime,
    meter,
    log,
  });
  const reader = new AbortController();
  const open = (appId = 'app') =>
    watching.open(
      { appId, filter: {}, showsPayloads: true },
      {
        caller: { how: 'proxy', user: 'ann', groups: [] },
        rights: { role: 'admin', apps: '*', instances: '*', seesPayloads: false },
        signal: reader.signal,
      },
    );
  const answers = () => {
    for (const message of received) {
      if (message.type === 'ask') realtime.settle(0, message.number, 'pong');
    }
  };
  return { received, reader, open, answers, log, watching, instances, instanceTaps };
}

it('a live stream begins once all loops watch, and ends with the session of its reader', async () => {
  const { received, reader, open, answers, log } = stage();
  const opened = open();
  expect(received.map(({ type }) => type)).toEqual(['watch', 'ask']);
  answers();
  const body = await opened;
  reader.abort('session-over');
  expect(await new Response(body).text()).toEndWith(
    'event: end\ndata: {"why":"session-ended"}\n\n',
  );
  expect(received.at(-1)).toEqual({ type: 'watch', apps: [] });
  expect(log.lines).toEqual([
    'info Live stream opened {"app":"app","by":"ann"}',
    'info Live stream closed {"app":"app","by":"ann"}',
  ]);
});

it('more live streams than there may be are refused', async () => {
  const { open, answers, watching } = stage();
  for (let n = 0; n < 4; n++) void open();
  const refused = open();
  await expect(refused).rejects.toBeInstanceOf(OperationRefused);
  await expect(refused).rejects.toThrow('at most 8, and 4 of one app or instance');
  answers();
  watching[Symbol.dispose]();
});

it('an instance has a tap while somebody watches it, and its streams end when it is gone', async () => {
  const { received, open, answers, log, watching, instances, instanceTaps } = stage();
  const opened = open(watchedInstance(INSTANCE.id));
  expect(received[0]).toEqual({ type: 'watch', apps: [] });
  expect([...(instanceTaps.watched ?? [])]).toEqual([[INSTANCE.number, expect.any(AppTap)]]);
  answers();
  const body = await opened;
  instances.clear();
  watching.tenantsChanged([]);
  expect(await new Response(body).text()).toEndWith(
    'event: end\ndata: {"why":"instance-gone"}\n\n',
  );
  expect(instanceTaps.watched).toBeUndefined();
  expect(log.lines[0]).toBe(`info Live stream opened {"instance":"${INSTANCE.id}","by":"ann"}`);
});
