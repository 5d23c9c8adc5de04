import type { Answer } from '../../api/client.ts';
import { asCurl } from '../../api/command.ts';
import { Button } from '../../parts/controls.tsx';
import { counted, moment, shortId } from '../../parts/formats.ts';
import { PagedCard } from '../../parts/more.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Table } from '../../parts/table-head.tsx';
import { useList } from '../../parts/use-pages.ts';
import { Words } from '../../parts/words.tsx';
import { address, inInstance, pathTo, setQuery } from '../../routing/router.ts';
import { instances } from '../../shell/instances.ts';
import { platformNames } from '../publishes/words.ts';

const OPERATION = 'GET /instances/{id}/publishes/{publish}/devices';

type Unreached = Answer<typeof OPERATION>['devices'][number];

const looks: Readonly<Record<Unreached['state'], string>> = {
  retrying: 'warn',
  failed: 'bad',
  expired: 'bad',
  pruned: 'bad',
  cancelled: '',
};

interface UnreachedProps {
  readonly instance: string;
  readonly publish: string;
}

/** Which devices did this publish not reach, and why? */
export function UnreachedPage({ instance, publish }: UnreachedProps) {
  const { reason = '', platform = '', state = '' } = address.value.query;
  const filter = { reason, platform, state } as Readonly<Record<string, string | undefined>>;
  const path = { id: instance, publish };
  const pages = useList(OPERATION, 'devices', { path, query: { ...filter, limit: '100' } });
  const { items, hasMore, failed, reload } = pages;
  const first = reason === '' ? undefined : items?.[0];
  const many = items && `${counted(items.length, 'device')}${hasMore ? ' and more' : ''}`;
  const texts = Object.values(filter).filter(Boolean);
  return (
    <div class="page">
      <PageHead
        title={`Devices that ${shortId(publish)} did not reach`}
        of={instances.nameOfId(instance)}
        failed={failed}
        commands={[{ name: 'curl', text: () => asCurl(OPERATION, { path, query: filter }) }]}
        says={many && <Words text={`${many}${first === undefined ? '' : `: ${first.why}`}.`} />}
        actions={
          <>
            <a class="button" href={pathTo(inInstance(instance, 'publishes', publish))}>
              The publish
            </a>
            <Button onClick={reload}>Refresh</Button>
          </>
        }
      />
      {texts.length > 0 && (
        <p class="line-of">
          {texts.map((text) => (
            <span key={text} class="tag accent">
              {text}
            </span>
          ))}
          <Button look="slim" onClick={() => setQuery({ reason: '', platform: '', state: '' })}>
            Remove the filter
          </Button>
        </p>
      )}
      {first?.advice != null && (
        <p>
          → <Words text={first.advice} />
        </p>
      )}
      <PagedCard
        label="Devices"
        pages={pages}
        none={<NoneUnreached isFiltered={texts.length > 0} hasMore={hasMore} />}
      >
        {(devices) => <UnreachedTable {...{ instance, publish, devices }} />}
      </PagedCard>
    </div>
  );
}

function NoneUnreached({
  isFiltered,
  hasMore,
}: {
  readonly isFiltered: boolean;
  readonly hasMore: boolean;
}) {
  return (
    <Empty icon="check" title={isFiltered ? 'No device fits' : 'None'}>
      <p>
        {hasMore
          ? 'Some were searched, and there are more.'
          : 'All devices were searched that did not accept it at the first attempt. Those that still wait for that are not listed.'}
      </p>
    </Empty>
  );
}

function UnreachedTable({
  instance,
  publish,
  devices,
}: UnreachedProps & { readonly devices: readonly Unreached[] }) {
  return (
    <Table columns={['Device', 'State', 'Why', { number: 'Attempts' }, { number: 'Last' }]}>
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
    </Table>
  );
}
