import { useState } from 'preact/hooks';
import type { DeviceKind } from '../../api/answers.ts';
import { Button, Search, StateChoice } from '../../parts/controls.tsx';
import { counted } from '../../parts/formats.ts';
import { PagedCard } from '../../parts/more.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { useList } from '../../parts/use-pages.ts';
import { address, go, inInstance, pathTo, setQuery } from '../../routing/router.ts';
import { instances } from '../../shell/instances.ts';
import { platformNames, platforms } from '../publishes/words.ts';
import { DeviceTable } from './device-table.tsx';
import { UnreachedPage } from './unreached.tsx';

const fields = ['user', 'interest', 'import', 'id'] as const;
type Filter = (typeof fields)[number] | 'platform' | 'kind' | 'paused';
const states = ['paused'] as const;
const tokenKinds: readonly DeviceKind[] = [
  'liveactivity-start',
  'liveactivity',
  'voip',
  'widgets',
  'controls',
  'complication',
  'location',
  'fileprovider',
  'pushtotalk',
  'channel',
  'channel-latest',
];
const WHOLE_ID = /^(apns|fcm|web)-[\da-f-]{36}$/i;
/** The shortest prefix of an id that the server accepts. */
const PART_OF_ID = /^(apns|fcm|web)-[\da-f]{6}[\da-f-]*$/i;

/** Lists all devices, or those that a publish did not reach. */
export default function DevicesPage({ instance }: { readonly instance: string }) {
  const { publish = '' } = address.value.query;
  return publish === '' ? (
    <AllDevices instance={instance} />
  ) : (
    <UnreachedPage instance={instance} publish={publish} />
  );
}

function AllDevices({ instance }: { readonly instance: string }) {
  const {
    user = '',
    interest = '',
    id = '',
    platform = '',
    kind = '',
    import: imported = '',
    paused = '',
  } = address.value.query;
  const filter = { user, interest, id, platform, kind, import: imported, paused };
  const pages = useList('GET /instances/{id}/devices', 'devices', {
    path: { id: instance },
    query: { ...filter, limit: '100' } as Readonly<Record<string, string | undefined>>,
  });
  const { items, hasMore, failed, reload } = pages;
  const [typed, setTyped] = useState(() => {
    if (imported !== '') return `import:${imported}`;
    return id || (interest === '' ? user : `interest:${interest}`);
  });
  const drop = () => {
    setTyped('');
    setQuery({ user: '', interest: '', id: '', platform: '', kind: '', import: '', paused: '' });
  };
  const isFiltered = Object.values(filter).some(Boolean);
  const many = items && `${counted(items.length, 'device')}${hasMore ? ' and more' : ''}`;
  return (
    <div class="page">
      <PageHead
        title="Devices"
        of={instances.nameOfId(instance)}
        failed={failed}
        says={many && `${many}${sayFilter(filter)}.`}
        actions={<Button onClick={reload}>Refresh</Button>}
      />
      <DeviceFilter
        {...{ instance, platform, kind, isPaused: paused === 'true', typed, setTyped }}
      />
      <PagedCard
        label="Devices"
        pages={pages}
        below={
          user !== '' && (
            <p>
              <a href={pathTo(`/users/${encodeURIComponent(user)}`, { instance })}>
                All about this user
              </a>
            </p>
          )
        }
        none={<NoDevices isFiltered={isFiltered} hasMore={hasMore} drop={drop} />}
      >
        {(devices) => <DeviceTable instance={instance} devices={devices} />}
      </PagedCard>
    </div>
  );
}

function DeviceFilter({
  instance,
  platform,
  kind,
  isPaused,
  typed,
  setTyped,
}: {
  readonly instance: string;
  readonly platform: string;
  readonly kind: string;
  readonly isPaused: boolean;
  readonly typed: string;
  readonly setTyped: (typed: string) => void;
}) {
  const search = (text: string) => {
    setTyped(text);
    const [field, value] = readSearch(text.trim());
    if (field === undefined) return;
    setQuery({ user: '', interest: '', id: '', import: '', [field]: value });
  };
  return (
    <form
      class="toolbar"
      onSubmit={(event) => {
        event.preventDefault();
        const wanted = typed.trim();
        if (WHOLE_ID.test(wanted)) go(inInstance(instance, 'devices', wanted));
      }}
    >
      <Search
        label="A user, interest:news, import:NAME, a device id"
        value={typed}
        onInput={search}
      />
      <select
        class="input"
        aria-label="Platform"
        value={platform}
        onChange={({ currentTarget: { value } }) => setQuery({ platform: value })}
      >
        <option value="">All platforms</option>
        {platforms.map((each) => (
          <option key={each} value={each}>
            {platformNames[each]}
          </option>
        ))}
      </select>
      <select
        class="input"
        aria-label="Kind of token"
        value={kind}
        onChange={({ currentTarget: { value } }) => setQuery({ kind: value })}
      >
        <option value="">All kinds</option>
        {tokenKinds.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
      <StateChoice
        states={states}
        state={isPaused ? 'paused' : undefined}
        choose={(chosen) => setQuery({ paused: chosen === '' ? '' : 'true' })}
      />
    </form>
  );
}

/** The field in which a text is searched; none while the text is incomplete. */
function readSearch(text: string): readonly [field?: (typeof fields)[number], value?: string] {
  const [, named, value] = /^(user|interest|import|id):\s*(.*)$/.exec(text) ?? [];
  const field = fields.find((each) => each === named);
  if (field !== undefined && field !== 'id') return [field, value ?? ''];
  const id = field === 'id' ? (value ?? '') : text;
  if (PART_OF_ID.test(id)) return ['id', id];
  return field === 'id' || /^(apns|fcm|web)-[\da-f]*$/i.test(text) ? [] : ['user', text];
}

function sayFilter(filter: Readonly<Record<Filter, string>>) {
  const { user, interest, id, platform, kind, import: imported, paused } = filter;
  return [
    user === '' ? '' : ` of user ${user}`,
    interest === '' ? '' : ` with the interest ${interest}`,
    id === '' ? '' : ` with ids that begin with ${id}`,
    platform === ''
      ? ''
      : ` on ${platformNames[platform as keyof typeof platformNames] ?? platform}`,
    kind === '' ? '' : ` with a token for ${kind}`,
    imported === '' ? '' : ` of the import ${imported}`,
    paused === 'true' ? ' that nothing is sent to for now' : '',
  ].join('');
}

function NoDevices({
  isFiltered,
  hasMore,
  drop,
}: {
  readonly isFiltered: boolean;
  readonly hasMore: boolean;
  readonly drop: () => void;
}) {
  if (isFiltered) {
    return (
      <Empty icon="device" title="No device fits">
        <p>
          {hasMore
            ? 'Some devices were searched, and there are more.'
            : 'Upper and lower case differ. A removed device has a page for 30 days: type its full id.'}
        </p>
        <Button onClick={drop}>Remove the filter</Button>
      </Empty>
    );
  }
  return (
    <Empty icon="device" title="No device is registered">
      <p>
        A device registers when the app or site calls start() of a Beams SDK with this instance.
      </p>
    </Empty>
  );
}
