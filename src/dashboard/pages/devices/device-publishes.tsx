import { useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { asFanfare } from '../../api/command.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card } from '../../parts/card.tsx';
import { Button, CopyButton, Search } from '../../parts/controls.tsx';
import { count, counted } from '../../parts/formats.ts';
import { Empty, FailureNotice, Notice } from '../../parts/notices.tsx';
import { usePages } from '../../parts/use-pages.ts';
import { address, inInstance, pathTo, setQuery } from '../../routing/router.ts';
import { LastPublishes, Timeline } from './outcomes.tsx';

interface DeviceProps {
  readonly instance: string;
  /** The id of the device. */
  readonly device: string;
}

/** The timeline of one publish at the device. */
export function Explained({ instance, device }: DeviceProps) {
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

/** The last publishes to the device. Each request searches a limited number of publishes, and may find none for the device. */
export function Publishes({ instance, device }: DeviceProps) {
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
