import { useState } from 'preact/hooks';
import type { AskedServer } from '../../api/answers.ts';
import type { Answer } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { counted, duration } from '../../parts/formats.ts';
import { FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { namesOf } from '../../parts/servers.tsx';
import { apps as knownApps } from '../../shell/apps.ts';
import { nameOf } from '../../shell/tenants.ts';
import { ConditionList, conditionsSentence } from './conditions.tsx';
import { Figures } from './figures.tsx';
import { FirstSteps } from './first-steps.tsx';
import { RoomLine } from './room.tsx';
import { AppsTable, InstancesTable, ServersTable } from './tables.tsx';

const POLL_MS = 2000;

/** The state of the server, and what to do about problems. */
export default function HomePage() {
  const conditions = useAnswer('GET /conditions', {}, { everyMs: POLL_MS });
  const live = useAnswer('GET /live', {}, { everyMs: POLL_MS });
  const instances = useAnswer('GET /instances');
  const [begun, setBegun] = useState<string | undefined>(undefined);
  const apps = knownApps.value;
  // The steps stay until the user leaves the page, although their events count as traffic.
  const first = begun ?? newApp(apps, live.value);
  const failed = live.failed ?? conditions.failed;
  return (
    <div class="page">
      <PageHead
        title={conditionsSentence(conditions.value)}
        failed={failed}
        says={
          conditions.value === undefined
            ? undefined
            : `${counted(conditions.value.checked, 'thing')} checked${onServers(conditions.value.servers)} ${duration(Date.now() - conditions.value.checkedAtMs)} ago.`
        }
      />
      <FailureNotice failed={failed} retry={live.reload} />
      {conditions.value !== undefined && <ConditionList {...conditions.value} />}
      {first !== undefined && (
        <FirstSteps
          key={first}
          app={first}
          title={`Connect ${nameOf(apps?.find(({ id }) => id === first) ?? { id: first, name: '' })}`}
          begin={() => setBegun(first)}
        />
      )}
      <Figures />
      <RoomLine />
      <AppsTable apps={apps} live={live.value} />
      <div class="two">
        <InstancesTable instances={instances.value?.instances} />
        {(live.value?.servers.length ?? 0) > 1 && <ServersTable live={live.value} />}
      </div>
    </div>
  );
}

/** ` on 3 servers`, if there are several. */
function onServers(servers: readonly AskedServer[]): string {
  return servers.length > 1 ? ` on ${namesOf(servers)}` : '';
}

/** The only app, if it had no traffic today. */
function newApp(
  apps: Answer<'GET /apps'>['apps'] | undefined,
  live: Answer<'GET /live'> | undefined,
): string | undefined {
  const [app] = apps ?? [];
  if (app === undefined || apps?.length !== 1 || live === undefined) return undefined;
  const figures = live.apps.find(({ id }) => id === app.id);
  const isUsed = figures !== undefined && figures.connections + figures.messagesToday > 0;
  return isUsed ? undefined : app.id;
}
