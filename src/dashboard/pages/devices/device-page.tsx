import { useState } from 'preact/hooks';
import { type Answer, call, Failed } from '../../api/client.ts';
import { asFanfare } from '../../api/command.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card } from '../../parts/card.tsx';
import { Button, CopyButton, Search } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { count, counted, duration, moment } from '../../parts/formats.ts';
import { Empty, FailureNotice, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { say } from '../../parts/toasts.tsx';
import { usePages } from '../../parts/use-pages.ts';
import { Words } from '../../parts/words.tsx';
import { address, inInstance, pathTo, setQuery } from '../../routing/router.ts';
import { instances } from '../../shell/instances.ts';
import { UserLink } from '../../shell/user-link.tsx';
import { platformNames } from '../publishes/words.ts';
import { shortDeviceId } from './device-table.tsx';
import { LastPublishes, Timeline } from './outcomes.tsx';

type Device = Answer<'GET /instances/{id}/devices/{device}'>;
type Registered = NonNullable<Device['registered']>;

/** Who accepts a token. */
const gatewayNames = { apns: 'Apple', fcm: 'FCM', web: 'The push service' } as const;

/** The part of the id that must be typed to remove the device. */
const TYPED = 12;

/** Why did this device not get it? */
export default function DevicePage({
  instance,
  device,
}: {
  readonly instance: string;
  readonly device: string;
}) {
  const path = { id: instance, device };
  const { value, failed, reload } = useAnswer('GET /instances/{id}/devices/{device}', { path });
  const [isRemoving, setRemoving] = useState(false);
  const [wrong, setWrong] = useState<Failed | undefined>(undefined);
  const remove = async () => {
    try {
      await call('DELETE /instances/{id}/devices/{device}', { path });
      say('Removed.');
      reload();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setWrong(error);
    }
  };
  const known = failed === undefined ? value : undefined;
  return (
    <div class="page">
      <PageHead
        title={`Device ${shortDeviceId(device)}`}
        of={instances.nameOfId(instance)}
        failed={failed}
        says={known && sentence(known)}
        actions={
          known?.registered != null && (
            <>
              <Button onClick={reload}>Refresh</Button>
              {may('admin') && (
                <Button look="danger" onClick={() => setRemoving(true)}>
                  Remove
                </Button>
              )}
            </>
          )
        }
      />
      {failed !== undefined && failed.status !== 404 && (
        <FailureNotice failed={failed} retry={reload} />
      )}
      {failed?.status === 404 && (
        <Notice
          level="warn"
          actions={
            <a class="button" href={pathTo(inInstance(instance, 'devices'))}>
              All devices
            </a>
          }
        >
          <p>{failed.message}.</p>
          <p class="mono muted">{device}</p>
        </Notice>
      )}
      {wrong !== undefined && <FailureNotice failed={wrong} />}
      {known?.removed != null && (
        <Notice level="bad">
          <p>
            The server removed it: <Words text={known.removed.why} />.
          </p>
          {known.removed.advice !== null && (
            <p class="advice">
              <Words text={known.removed.advice} />
            </p>
          )}
          <p class="mono muted">{device}</p>
        </Notice>
      )}
      {known !== undefined && <Explained instance={instance} device={device} />}
      {known !== undefined && <Publishes instance={instance} device={device} />}
      {known?.registered != null && (
        <div class="two">
          <Facts instance={instance} device={known.registered} />
          <Interests instance={instance} device={known.registered} />
        </div>
      )}
      {isRemoving && (
        <Confirm
          title="Remove this device?"
          typed={device.slice(0, TYPED)}
          action="Remove"
          act={remove}
          close={() => setRemoving(false)}
        >
          It gets no more notifications, and its interests are lost. If it is still in use, it
          registers again with another id.
        </Confirm>
      )}
    </div>
  );
}

function sentence({ registered, removed, platform, registeredAt }: Device): string {
  const name = platformNames[platform];
  if (registered === null) {
    return `${name}, registered ${moment(registeredAt)}, removed ${removed === null ? '' : moment(removed.at)}.`;
  }
  const { accepted, userId, seenAt } = registered;
  const whose = userId === null ? 'of no user' : `of ${userId}`;
  const seen = duration(Date.now() - Date.parse(seenAt));
  const gateway = gatewayNames[platform];
  const reached = accepted
    ? `${gateway} accepts its token`
    : `${gateway} has never accepted its token: nothing was sent to it yet, or the token is wrong`;
  return `${reached}. Registered ${moment(registeredAt)}, ${whose}, seen ${seen} ago.`;
}

/** The timeline of one publish at the device. */
function Explained({ instance, device }: { readonly instance: string; readonly device: string }) {
  const { publish = '' } = address.value.query;
  const [typed, setTyped] = useState(publish);
  const [shown, setShown] = useState(publish);
  // Another publish was chosen by a link.
  if (shown !== publish) {
    setShown(publish);
    setTyped(publish);
  }
  const { value, failed, reload } = useAnswer(
    'GET /instances/{id}/publishes/{publish}/devices/{device}',
    { path: { id: instance, publish, device } },
    { skip: publish === '' },
  );
  return (
    <Card
      title="Why did it get a publish, or not?"
      aside={
        value !== undefined && (
          <span class="line-of">
            <CopyButton text={asFanfare(['push', 'explain', publish, device], { instance })}>
              fanfare
            </CopyButton>
            <a class="small" href={pathTo(inInstance(instance, 'publishes', publish))}>
              The publish
            </a>
          </span>
        )
      }
    >
      <form
        class="inside toolbar"
        onSubmit={(event) => {
          event.preventDefault();
          setQuery({ publish: typed.trim() });
          if (typed.trim() === publish) reload();
        }}
      >
        <Search label="A publish: pubid-…" value={typed} onInput={setTyped} />
        <Button type="submit" disabled={typed.trim() === ''}>
          Explain
        </Button>
      </form>
      {failed !== undefined && (
        <div class="inside">
          {failed.status === 404 ? (
            <Notice level="warn">{failed.message}.</Notice>
          ) : (
            <FailureNotice failed={failed} retry={reload} />
          )}
        </div>
      )}
      {publish !== '' && value !== undefined && <Timeline events={value.events} />}
    </Card>
  );
}

/** Its last publishes. Each request searches a limited number of publishes, and may find none for the device. */
function Publishes({ instance, device }: { readonly instance: string; readonly device: string }) {
  const [looked, setLooked] = useState(0);
  const { items, hasMore, failed, isAsking, more, reload } = usePages(
    `${instance} ${device}`,
    async (after) => {
      const answer = await call('GET /instances/{id}/devices/{device}/publishes', {
        path: { id: instance, device },
        query: { after },
      });
      setLooked((before) => (after === undefined ? 0 : before) + answer.looked);
      return { items: answer.publishes, next: answer.next };
    },
  );
  return (
    <Card
      title="Last publishes for it"
      aside={
        items !== undefined && (
          <span class="line-of">
            <span class="muted small">
              {hasMore
                ? `The last ${count(looked)} of the instance were searched.`
                : `All ${counted(looked, 'publish', 'publishes')} of the last 30 days were searched.`}
            </span>
            {hasMore && (
              <Button look="slim" onClick={more} disabled={isAsking}>
                Search further back
              </Button>
            )}
          </span>
        )
      }
    >
      {failed !== undefined && (
        <div class="inside">
          <FailureNotice failed={failed} retry={reload} />
        </div>
      )}
      {items !== undefined &&
        (items.length > 0 ? (
          <LastPublishes instance={instance} publishes={items} />
        ) : (
          <Empty icon="publish" title="No publish was for this device">
            <p>
              {hasMore
                ? 'The publishes searched so far went to other devices.'
                : 'A publish is for the devices that have one of its interests, or belong to one of its users, when it is sent.'}
            </p>
          </Empty>
        ))}
    </Card>
  );
}

function Facts({ instance, device }: { readonly instance: string; readonly device: Registered }) {
  const { userId, platform, acceptedAt, accepted, bundleId, pushService, token } = device;
  const metadata = Object.entries(device.metadata);
  return (
    <Card title="Facts" aside={<CopyButton text={device.id}>Copy id</CopyButton>}>
      <dl class="inside facts">
        <dt>Id</dt>
        <dd class="mono">{device.id}</dd>
        <dt>User</dt>
        <dd>
          {userId === null ? (
            <span class="muted">none: the app has not called setUserId</span>
          ) : (
            <UserLink user={userId} instance={instance} />
          )}
        </dd>
        <dt>Platform</dt>
        <dd>{platformNames[platform]}</dd>
        {bundleId !== null && (
          <>
            <dt>App</dt>
            <dd class="mono">{bundleId}</dd>
          </>
        )}
        {pushService !== null && (
          <>
            <dt>Push service</dt>
            <dd class="mono">{pushService}</dd>
          </>
        )}
        <dt>First accepted</dt>
        <dd>
          {acceptedAt === null ? (accepted ? 'long ago' : 'never') : moment(acceptedAt)}
          {accepted && (
            <div class="muted small">Later acceptances are only kept with each publish, below.</div>
          )}
        </dd>
        <dt>Token</dt>
        <dd>
          {token.begins !== '' && <span class="mono">{token.begins}… </span>}
          {counted(token.length, 'character')}
        </dd>
        <dt>SDK</dt>
        <dd>{device.client === '' ? <span class="muted">unknown</span> : device.client}</dd>
        {metadata.flatMap(([name, text]) => [
          <dt key={`${name} name`}>{name}</dt>,
          <dd key={name}>{text}</dd>,
        ])}
      </dl>
    </Card>
  );
}

function Interests({
  instance,
  device: { interests, moreInterests },
}: {
  readonly instance: string;
  readonly device: Registered;
}) {
  return (
    <Card
      title="Interests"
      aside={
        <span class="muted small">
          {counted(interests.length, 'interest')}
          {moreInterests && ' and more'}
        </span>
      }
    >
      <ul class="inside stack tight">
        {interests.length === 0 && (
          <li class="muted">None: only publishes to its user reach it.</li>
        )}
        {interests.map((name) => (
          <li key={name} class="cut">
            <a href={pathTo(inInstance(instance, 'devices'), { interest: name })}>{name}</a>
          </li>
        ))}
      </ul>
    </Card>
  );
}
