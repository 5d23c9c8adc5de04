import { useEffect, useState } from 'preact/hooks';
import type { PublishDetails, PublishPause } from '../../api/answers.ts';
import { call } from '../../api/client.ts';
import { may, session } from '../../api/session.ts';
import { type Asked, useAnswer } from '../../api/use-answer.ts';
import { Card } from '../../parts/card.tsx';
import { Button, CopyButton, Search } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { count, counted, moment, shortId } from '../../parts/formats.ts';
import { parsedJson } from '../../parts/json/json.ts';
import { JsonTree } from '../../parts/json/json-tree.tsx';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { AwayServers } from '../../parts/servers.tsx';
import { Table } from '../../parts/table-head.tsx';
import { say } from '../../parts/toasts.tsx';
import { useOutcome } from '../../parts/use-outcome.ts';
import { Words } from '../../parts/words.tsx';
import { go, inInstance, pathTo } from '../../routing/router.ts';
import { instances } from '../../shell/instances.ts';
import { Funnel } from './funnel.tsx';
import { LiveUsers } from './live-users.tsx';
import { Facts, Sentence } from './publish-facts.tsx';
import { isOver, platformNames } from './words.ts';

const POLL_MS = 2000;

/** The result of one publish. */
export default function PublishPage({
  instance,
  publish,
}: {
  readonly instance: string;
  readonly publish: string;
}) {
  const path = { id: instance, publish };
  const { value, failed, atMs, reload } = useWhileMoving(path);
  const { failed: wrong, attempt } = useOutcome();
  const [isAsked, setAsked] = useState(false);
  const cancel = async () => {
    const { cancelled } = await call('POST /instances/{id}/publishes/{publish}/cancel', { path });
    say(cancelled ? 'Cancelled.' : 'It was over already.');
    reload();
  };
  const isUnknown = failed?.status === 404;
  return (
    <div class="page">
      <PageHead
        title={`Publish ${shortId(publish)}`}
        of={instances.nameOfId(instance)}
        failed={failed}
        says={value && <Sentence publish={value} />}
        actions={
          value !== undefined &&
          !isOver(value.state) && (
            <>
              {may('support') && (
                <a class="button" href={pathTo(inInstance(instance, 'live'), { publish })}>
                  Watch live
                </a>
              )}
              {may('operator') && (
                <Button look="danger" onClick={() => setAsked(true)}>
                  Cancel publish
                </Button>
              )}
            </>
          )
        }
      />
      <FailureNotice failed={failed} retry={isUnknown ? undefined : reload} />
      {isUnknown && (
        <p class="muted">
          <a href={pathTo(inInstance(instance, 'publishes'))}>All publishes</a>
        </p>
      )}
      <FailureNotice failed={wrong} />
      {value !== undefined && <Results path={path} value={value} atMs={atMs} />}
      {isAsked && (
        <Confirm
          title="Cancel this publish?"
          typed="cancel"
          action="Cancel publish"
          act={() => attempt(cancel)}
          close={() => setAsked(false)}
        >
          Devices that still wait do not get it. What gateways have accepted cannot be called back.
        </Confirm>
      )}
    </div>
  );
}

interface PublishPath {
  readonly id: string;
  readonly publish: string;
}

/** A publish, requested again and again until it is over or unknown. */
function useWhileMoving(path: PublishPath): Asked<PublishDetails> {
  const [isDone, setDone] = useState(false);
  const asked = useAnswer(
    'GET /instances/{id}/publishes/{publish}',
    { path },
    isDone ? {} : { everyMs: POLL_MS },
  );
  const { value, failed } = asked;
  useEffect(() => {
    setDone(value === undefined ? failed?.status === 404 : isOver(value.state));
  }, [value, failed]);
  return asked;
}

function Results({
  path,
  value,
  atMs,
}: {
  readonly path: PublishPath;
  readonly value: PublishDetails;
  readonly atMs: number;
}) {
  const { servers, pauses, live, reasons, payloads, state } = value;
  return (
    <>
      <AwayServers servers={servers} />
      {pauses.map((pause) => (
        <Pause key={`${pause.platform} ${pause.origin} ${pause.reason}`} pause={pause} />
      ))}
      <div class="two">
        <Funnel publish={value} />
        <Facts publish={value} atMs={atMs} />
      </div>
      {live !== null && <LiveUsers path={path} live={live} />}
      {reasons.length > 0 && <Reasons path={path} reasons={reasons} />}
      <AskDevice path={path} />
      <Payloads payloads={payloads} state={state} />
    </>
  );
}

function Pause({ pause }: { readonly pause: PublishPause }) {
  const { platform, origin, why, advice, devices, sinceMs, servers } = pause;
  const gateway = origin ?? { apns: 'Apple', fcm: 'Firebase', web: 'push services' }[platform];
  return (
    <Notice level={pause.cause === 'credential' ? 'bad' : 'warn'}>
      <p>
        {servers.length === 1 ? 'Server' : 'Servers'} {servers.join(', ')}{' '}
        {servers.length === 1 ? 'has' : 'have'} paused {gateway} since {moment(sinceMs)}:{' '}
        <Words text={why} />.
        {devices !== null &&
          ` ${counted(devices, 'device')} ${devices === 1 ? 'waits' : 'wait'} for it.`}
      </p>
      {advice !== null && (
        <p class="advice">
          <Words text={advice} />
        </p>
      )}
    </Notice>
  );
}

function Reasons({
  path: { id, publish },
  reasons,
}: {
  readonly path: PublishPath;
  readonly reasons: PublishDetails['reasons'];
}) {
  return (
    <Card title="Why not">
      <Table columns={['Why', 'Platform', { number: 'Devices' }]}>
        {reasons.map(({ platform, reason, devices, why, advice }) => (
          <tr key={`${platform} ${reason}`}>
            <td class="wide">
              <div class="sentence">
                <Words text={why} />
              </div>
              {advice !== null && (
                <div class="muted small">
                  <Words text={advice} />
                </div>
              )}
            </td>
            <td>
              <span class="tag">{platformNames[platform]}</span>
            </td>
            <td class="number" data-label="devices">
              <a href={pathTo(inInstance(id, 'devices'), { publish, reason, platform })}>
                {count(devices)}
              </a>
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

/** A link to the result of the publish at one device. */
function AskDevice({ path: { id, publish } }: { readonly path: PublishPath }) {
  const [typed, setTyped] = useState('');
  return (
    <form
      class="toolbar"
      onSubmit={(event) => {
        event.preventDefault();
        go(inInstance(id, 'devices', typed.trim()), { publish });
      }}
    >
      <Search label="One device: its id" value={typed} onInput={setTyped} />
      <Button type="submit" disabled={typed.trim() === ''}>
        What became of it there?
      </Button>
    </form>
  );
}

function Payloads({
  payloads,
  state,
}: {
  readonly payloads: string | null;
  readonly state: PublishDetails['state'];
}) {
  return (
    <Card title="Payloads" aside={payloads !== null && <CopyButton text={payloads} />}>
      <div class="inside">
        {payloads !== null ? (
          <JsonTree value={parsedJson(payloads) ?? payloads} />
        ) : (
          <p class="muted">
            {session.value?.payloads === false || !isOver(state)
              ? 'Payloads are hidden from you.'
              : 'They are deleted once the publish is over.'}
          </p>
        )}
      </div>
    </Card>
  );
}
