import type { App } from '../../api/answers.ts';
import type { Answer } from '../../api/client.ts';
import { asFanfare } from '../../api/command.ts';
import { may } from '../../api/session.ts';
import { Card } from '../../parts/card.tsx';
import { QuotaBar } from '../../parts/charts/charts.tsx';
import { count } from '../../parts/formats.ts';
import { Empty } from '../../parts/notices.tsx';
import { Table } from '../../parts/table-head.tsx';
import { inApp, inInstance, pathTo } from '../../routing/router.ts';
import { nameOf } from '../../shell/tenants.ts';

type Live = Answer<'GET /live'>;

/** The apps with their present activity, busiest first. */
export function AppsTable({
  apps,
  live,
}: {
  readonly apps: readonly App[] | undefined;
  readonly live: Live | undefined;
}) {
  if (apps === undefined) return null;
  const figures = new Map(live?.apps.map((app) => [app.id, app]));
  const sorted = apps.toSorted(
    (a, b) => (figures.get(b.id)?.connections ?? 0) - (figures.get(a.id)?.connections ?? 0),
  );
  return (
    <Card title="Apps">
      {sorted.length === 0 ? (
        <Empty icon="live" title="There is no app yet">
          <p>
            Create one: <code>{asFanfare(['apps', 'create'], { name: 'shop' })}</code>
          </p>
        </Empty>
      ) : (
        <Table
          columns={[
            'App',
            { number: 'Connections' },
            { number: 'Channels' },
            { number: 'Messages today' },
            'Quota',
          ]}
        >
          {sorted.map((app) => {
            const now = figures.get(app.id);
            const quota = app.limits.messagesPerDay;
            return (
              <tr key={app.id}>
                <td class="name">
                  <div class="cut">
                    <a href={pathTo(inApp(app.id, 'live'))}>{nameOf(app)}</a>
                  </div>
                  {app.name !== '' && <div class="cut muted small mono">{app.id}</div>}
                  {!app.enabled && <span class="tag warn">disabled</span>}
                </td>
                <td class="number" data-label="connections">
                  {count(now?.connections ?? 0)}
                </td>
                <td class="number" data-label="channels">
                  {count(now?.channels ?? 0)}
                </td>
                <td class="number" data-label="messages">
                  {count(now?.messagesToday ?? 0)}
                </td>
                <td>{quota > 0 && <QuotaBar used={counted(now)} of={quota} />}</td>
              </tr>
            );
          })}
        </Table>
      )}
    </Card>
  );
}

/** The messages of today that count against the quota: not those that clients caused. */
function counted(now: Live['apps'][number] | undefined): number {
  return now === undefined ? 0 : now.messagesToday - now.clientMessagesToday;
}

/** The push instances, and the ways to devices that each has. */
export function InstancesTable({
  instances,
}: {
  readonly instances: Answer<'GET /instances'>['instances'] | undefined;
}) {
  if (instances === undefined) return null;
  return (
    <Card title="Push instances">
      {instances.length === 0 ? (
        <Empty icon="send" title="There is no push instance yet">
          <p>
            Create one: <code>{asFanfare(['instances', 'create'], { name: 'shop' })}</code>
          </p>
        </Empty>
      ) : (
        <Table columns={['Instance', 'Reaches']}>
          {instances.map(({ id, name, apns, fcm, web }) => (
            <tr key={id}>
              <td class="name">
                <div class="cut">
                  <a href={pathTo(inInstance(id, 'publishes'))}>{nameOf({ id, name })}</a>
                </div>
                {name !== '' && <div class="cut muted small mono">{id}</div>}
              </td>
              <td>
                <span class="line-of">
                  {apns !== undefined && <span class="tag ok">Apple</span>}
                  {fcm !== undefined && <span class="tag ok">Android</span>}
                  {web !== undefined && <span class="tag ok">browsers</span>}
                  {apns === undefined && fcm === undefined && web === undefined && (
                    <span class="muted">nothing yet</span>
                  )}
                  {(apns === undefined || fcm === undefined) && may('admin') && (
                    <a class="small" href={pathTo(inInstance(id, 'credentials'))}>
                      Add {[apns ?? 'Apple', fcm ?? 'Android'].filter(isText).join(' and ')}
                    </a>
                  )}
                  {web !== undefined && may('operator') && (
                    <a class="small" href={pathTo(inInstance(id, 'compose'))}>
                      Try it in this browser
                    </a>
                  )}
                </span>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
}

const isText = (value: unknown) => typeof value === 'string';

/** The servers of the cluster. */
export function ServersTable({ live }: { readonly live: Live | undefined }) {
  return (
    <Card
      title="Servers"
      aside={
        <a class="small" href={pathTo('/nodes')}>
          Show how each does
        </a>
      }
    >
      <Table columns={['Server', { number: 'Connections' }, { number: 'Apps' }]}>
        {live?.servers.map(({ name, connections, apps }) => (
          <tr key={name}>
            <td class="name mono">{name}</td>
            <td class="number" data-label="connections">
              {count(connections)}
            </td>
            <td class="number" data-label="apps">
              {count(apps.length)}
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}
