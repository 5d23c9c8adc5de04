import { type Answer, call } from '../../api/client.ts';
import { asCurl } from '../../api/command.ts';
import { Button } from '../../parts/controls.tsx';
import { counted, moment, shortId } from '../../parts/formats.ts';
import { More } from '../../parts/more.tsx';
import { Empty, FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { usePages } from '../../parts/use-pages.ts';
import { Words } from '../../parts/words.tsx';
import { address, inInstance, pathTo, setQuery } from '../../routing/router.ts';
import { instances } from '../../shell/instances.ts';
import { platformNames } from '../publishes/words.ts';

type Unreached = Answer<'GET /instances/{id}/publishes/{publish}/devices'>['devices'][number];

const looks: Readonly<Record<Unreached['state'], string>> = {
  retrying: 'warn',
  failed: 'bad',
  expired: 'bad',
  pruned: 'bad',
  cancelled: '',
};

/** Which devices did this publish not reach, and why? */
export function UnreachedPage({
  instance,
  publish,
}: {
  readonly instance: string;
  readonly publish: string;
}) {
  const { reason = '', platform = '', state = '' } = address.value.query;
  const filter = { reason, platform, state } as Readonly<Record<string, string | undefined>>;
  const path = { id: instance, publish };
  const asked = `${instance} ${publish} ${JSON.stringify(filter)}`;
  const { items, hasMore, failed, isAsking, more, reload } = usePages(asked, async (after) => {
    const { devices, next } = await call('GET /instances/{id}/publishes/{publish}/devices', {
      path,
      query: { ...filter, after, limit: '100' },
    });
    return { items: devices, next };
  });
  const [first] = items ?? [];
  const isFiltered = Object.values(filter).some(Boolean);
  return (
    <div class="page">
      <PageHead
        title={`Devices that ${shortId(publish)} did not reach`}
        of={instances.nameOfId(instance)}
        failed={failed}
        commands={[
          {
            name: 'curl',
            text: () =>
              asCurl('GET /instances/{id}/publishes/{publish}/devices', { path, query: filter }),
          },
        ]}
        says={
          items === undefined
            ? undefined
            : `${counted(items.length, 'device')}${hasMore ? ' and more' : ''}${reason !== '' && first !== undefined ? `: ${first.why}` : ''}.`
        }
        actions={
          <>
            <a class="button" href={pathTo(inInstance(instance, 'publishes', publish))}>
              The publish
            </a>
            <Button onClick={reload}>Refresh</Button>
          </>
        }
      />
      {isFiltered && (
        <p class="line-of">
          {Object.values(filter)
            .filter(Boolean)
            .map((text) => (
              <span key={text} class="tag accent">
                {text}
              </span>
            ))}
          <Button look="slim" onClick={() => setQuery({ reason: '', platform: '', state: '' })}>
            Remove the filter
          </Button>
        </p>
      )}
      {reason !== '' && first?.advice != null && (
        <p>
          → <Words text={first.advice} />
        </p>
      )}
      {failed !== undefined && <FailureNotice failed={failed} retry={reload} />}
      {items !== undefined && (
        <section class="card" aria-label="Devices">
          {items.length > 0 ? (
            <UnreachedTable instance={instance} publish={publish} devices={items} />
          ) : (
            <Empty icon="check" title={isFiltered ? 'No device fits' : 'None'}>
              <p>
                {hasMore
                  ? 'Some were searched, and there are more.'
                  : 'All devices that did not accept the publish at the first attempt were searched. Devices that still wait for their first attempt are not listed.'}
              </p>
            </Empty>
          )}
        </section>
      )}
      <More {...{ hasMore, isAsking, more }} />
    </div>
  );
}

function UnreachedTable({
  instance,
  publish,
  devices,
}: {
  readonly instance: string;
  readonly publish: string;
  readonly devices: readonly Unreached[];
}) {
  return (
    <table class="table cards">
      <TableHead columns={['Device', 'State', 'Why', { number: 'Attempts' }, { number: 'Last' }]} />
      <tbody>
        {devices.map((each, place) => (
          <tr key={each.id ?? place}>
            <td class="name">
              <div class="cut">
                {each.id === null ? (
                  <span class="muted">deleted since</span>
                ) : (
                  <a
                    class="mono"
                    href={pathTo(inInstance(instance, 'devices', each.id), { publish })}
                  >
                    {each.id}
                  </a>
                )}
              </div>
              <div class="cut muted small">
                {[each.platform === null ? null : platformNames[each.platform], each.userId]
                  .filter((part) => part !== null)
                  .join(' · ')}
              </div>
            </td>
            <td>
              <span class={`tag ${looks[each.state]}`}>{each.state}</span>
            </td>
            <td class="wide">
              <Words text={each.why} />
              {each.nextAttemptAt !== null && `; next attempt ${moment(each.nextAttemptAt)}`}
            </td>
            <td class="number" data-label="attempts">
              {each.attempts}
            </td>
            <td class="number">{moment(each.changedAt)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
