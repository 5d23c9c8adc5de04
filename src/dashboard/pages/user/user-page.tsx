import type { User } from '../../api/answers.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card, Fact } from '../../parts/card.tsx';
import { Button } from '../../parts/controls.tsx';
import { count, counted, moment } from '../../parts/formats.ts';
import { Empty, FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { AwayServers, namesOf } from '../../parts/servers.tsx';
import { useOutcome } from '../../parts/use-outcome.ts';
import { address, inApp, inInstance, pathTo, setQuery } from '../../routing/router.ts';
import { knownApps } from '../../shell/apps.ts';
import { instances } from '../../shell/instances.ts';
import { type Named, nameOf } from '../../shell/tenants.ts';
import { ConnectionTable } from '../connections/connection-table.tsx';
import { DeviceTable } from '../devices/device-table.tsx';
import { LastPublishes } from '../devices/outcomes.tsx';
import { RevokeButton } from './revoke-button.tsx';

const POLL_MS = 5000;

/** What of this one person, in both products? */
export default function UserPage({ user }: { readonly user: string }) {
  const { app = '', channel = '', instance = '' } = address.value.query;
  const isAsked = app !== '' || instance !== '';
  const { value, failed, reload } = useAnswer(
    'GET /users/{user}',
    { path: { user }, query: { app, channel: app === '' ? '' : channel, instance } },
    { everyMs: POLL_MS, skip: !isAsked },
  );
  const { failed: wrong, attempt } = useOutcome();
  return (
    <div class="page">
      <PageHead
        title={`User ${user}`}
        failed={failed}
        says={isAsked ? value && sentence(value) : 'Choose an app, a push instance, or both.'}
        actions={
          isAsked && (
            <>
              <Button onClick={reload}>Refresh</Button>
              <RevokeButton app={app} user={user} attempt={attempt} />
            </>
          )
        }
      />
      <div class="toolbar">
        <Choice
          label="App"
          none="No app"
          of={knownApps.all.value}
          chosen={app}
          name="app"
          also={{ channel: '' }}
        />
        <Choice
          label="Push instance"
          none="No push instance"
          of={instances.all.value}
          chosen={instance}
          name="instance"
        />
      </div>
      <FailureNotice failed={failed} retry={reload} />
      <FailureNotice failed={wrong} />
      {value?.app != null && <InApp user={user} value={value.app} />}
      {value?.push != null && <InInstance user={user} value={value.push} />}
    </div>
  );
}

function Choice({
  label,
  none,
  of,
  chosen,
  name,
  also,
}: {
  readonly label: string;
  readonly none: string;
  readonly of: readonly Named[] | undefined;
  readonly chosen: string;
  readonly name: 'app' | 'instance';
  /** Filters that belong to another choice. */
  readonly also?: Readonly<Record<string, string>>;
}) {
  const known = of ?? [];
  return (
    <select
      class="input"
      aria-label={label}
      value={chosen}
      onChange={({ currentTarget: { value } }) => setQuery({ [name]: value, ...also })}
    >
      <option value="">{none}</option>
      {!known.some(({ id }) => id === chosen) && chosen !== '' && (
        <option value={chosen}>{chosen}</option>
      )}
      {known.map((each) => (
        <option key={each.id} value={each.id}>
          {label} {nameOf(each)}
        </option>
      ))}
    </select>
  );
}

function sentence({ app, push }: User): string {
  const parts = [];
  if (app !== null) {
    const { connections, moreConnections } = app;
    const words = counted(connections.length, 'connection');
    parts.push(`${words}${moreConnections ? ' and more' : ''} now`);
  }
  if (push !== null) {
    const { devices, moreDevices } = push;
    parts.push(`${counted(devices.length, 'device')}${moreDevices ? ' and more' : ''}`);
  }
  return `${parts.join(', ')}.`;
}

function InApp({
  user,
  value: { id, servers, connections, moreConnections, ...status },
}: {
  readonly user: string;
  readonly value: NonNullable<User['app']>;
}) {
  const channels = [...new Set(connections.flatMap(({ channelNames }) => channelNames))];
  return (
    <>
      <AwayServers servers={servers} />
      <OnlineCard {...status} />
      <Card
        title="Connections"
        aside={
          moreConnections ? (
            <a class="small" href={pathTo(inApp(id, 'connections'), { user })}>
              Show all
            </a>
          ) : (
            <span class="muted small">on {namesOf(servers)}</span>
          )
        }
      >
        {connections.length > 0 ? (
          <ConnectionTable app={id} connections={connections} servers={servers} />
        ) : (
          <Empty icon="connection" title="No connection of this user">
            <p>
              Connections of {namesOf(servers)} were searched. Clients that have not called signin()
              are known in presence channels only: come from the members of one.
            </p>
          </Empty>
        )}
      </Card>
      {channels.length > 0 && (
        <Card title="Channels" aside={<span class="muted small">{count(channels.length)}</span>}>
          <ul class="inside stack tight">
            {channels.toSorted().map((name) => (
              <li key={name} class="line-of">
                <a href={pathTo(inApp(id, 'channels', name))}>{name}</a>
                {name.startsWith('presence-') && <span class="tag">presence</span>}
              </li>
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}

type OnlineStatus = Pick<NonNullable<User['app']>, 'online' | 'sinceMs' | 'lastSeenMs'>;

/** Is this user here, and since when or until when? */
function OnlineCard({ online, sinceMs, lastSeenMs }: OnlineStatus) {
  return (
    <Card title={onlineWord(online)}>
      <dl class="inside facts">
        <Fact word="Since">{sinceMs !== null && moment(sinceMs)}</Fact>
        <Fact word="Last seen">{online === false && seenWords(lastSeenMs)}</Fact>
      </dl>
    </Card>
  );
}

function onlineWord(online: boolean | null): string {
  if (online === null) return 'Not known while Redis is away';
  return online ? 'Online' : 'Offline';
}

function seenWords(lastSeenMs: number | null): string {
  return lastSeenMs === null ? 'not known; it is kept for seven days' : moment(lastSeenMs);
}

function InInstance({
  user,
  value: { id, devices, moreDevices, publishes, looked },
}: {
  readonly user: string;
  readonly value: NonNullable<User['push']>;
}) {
  return (
    <>
      <Card
        title="Devices"
        aside={
          moreDevices && (
            <a class="small" href={pathTo(inInstance(id, 'devices'), { user })}>
              Show all
            </a>
          )
        }
      >
        {devices.length > 0 ? (
          <DeviceTable instance={id} devices={devices} />
        ) : (
          <Empty icon="device" title="No device belongs to this user">
            <p>A device gets its user when the app calls setUserId. Upper and lower case differ.</p>
          </Empty>
        )}
      </Card>
      {devices.length > 0 && (
        <Card
          title="Last publishes"
          aside={
            <span class="muted small">
              of the last {counted(looked, 'publish', 'publishes')} of the instance
            </span>
          }
        >
          {publishes.length > 0 ? (
            <LastPublishes instance={id} publishes={publishes} showDevice />
          ) : (
            <Empty icon="publish" title="None was for these devices">
              <p>Each device has a page that looks further back.</p>
            </Empty>
          )}
        </Card>
      )}
    </>
  );
}
