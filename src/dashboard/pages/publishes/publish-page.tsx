import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, call, Failed } from '../../api/client.ts';
import { may, session } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card } from '../../parts/card.tsx';
import { Sparkline } from '../../parts/charts/charts.tsx';
import { Button, CopyButton, Search } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { count, counted, duration, moment, shortId } from '../../parts/formats.ts';
import { parsedJson } from '../../parts/json/json.ts';
import { JsonTree } from '../../parts/json/json-tree.tsx';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { AwayServers } from '../../parts/servers.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { say } from '../../parts/toasts.tsx';
import { Words } from '../../parts/words.tsx';
import { go, inInstance, pathTo } from '../../routing/router.ts';
import { instances } from '../../shell/instances.ts';
import { Funnel } from './funnel.tsx';
import { LiveUsers } from './live-users.tsx';
import { isOver, platformNames, states, sumOf, targetWords, waiting } from './words.ts';

type Details = Answer<'GET /instances/{id}/publishes/{publish}'>;

const POLL_MS = 2000;

/** Two minutes. */
const RATES_SHOWN = 60;

/** The result of one publish. */
export default function PublishPage({
  instance,
  publish,
}: {
  readonly instance: string;
  readonly publish: string;
}) {
  const path = { id: instance, publish };
  const [isDone, setDone] = useState(false);
  const { value, failed, atMs, reload } = useAnswer(
    'GET /instances/{id}/publishes/{publish}',
    { path },
    isDone ? {} : { everyMs: POLL_MS },
  );
  useEffect(() => {
    setDone(value === undefined ? failed?.status === 404 : isOver(value.state));
  }, [value, failed]);
  const rates = useRates(value, atMs);
  const [isAsked, setAsked] = useState(false);
  const [wrong, setWrong] = useState<Failed | undefined>(undefined);
  const cancel = async () => {
    try {
      const { cancelled } = await call('POST /instances/{id}/publishes/{publish}/cancel', { path });
      say(cancelled ? 'Cancelled.' : 'It was over already.');
      reload();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setWrong(error);
    }
  };
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
      {failed !== undefined && (
        <FailureNotice failed={failed} retry={failed.status === 404 ? undefined : reload} />
      )}
      {failed?.status === 404 && (
        <p class="muted">
          Publishes are kept for 30 days after their end.{' '}
          <a href={pathTo(inInstance(instance, 'publishes'))}>All publishes</a>
        </p>
      )}
      {wrong !== undefined && <FailureNotice failed={wrong} />}
      {value !== undefined && (
        <>
          <AwayServers servers={value.servers} />
          {value.pauses.map((pause) => (
            <Pause key={`${pause.platform} ${pause.origin} ${pause.reason}`} pause={pause} />
          ))}
          <div class="two">
            <Funnel publish={value} />
            <Facts publish={value} rates={rates} />
          </div>
          {value.live !== null && <LiveUsers path={path} live={value.live} />}
          {value.reasons.length > 0 && (
            <Reasons instance={instance} publish={publish} reasons={value.reasons} />
          )}
          <AskDevice instance={instance} publish={publish} />
          <Payloads payloads={value.payloads} state={value.state} />
        </>
      )}
      {isAsked && (
        <Confirm
          title="Cancel this publish?"
          typed="cancel"
          action="Cancel publish"
          act={cancel}
          close={() => setAsked(false)}
        >
          Devices that still wait do not get it. What gateways have accepted cannot be called back.
        </Confirm>
      )}
    </div>
  );
}

const totalOf = ({ platforms: { apns, fcm, web } }: Details) => sumOf([apns, fcm, web]);

function Sentence({ publish }: { readonly publish: Details }) {
  const { state, sendAtMs, dueAtMs, finishedAtMs } = publish;
  const sum = totalOf(publish);
  const reached = `gateways accepted ${count(sum.accepted)} of ${counted(sum.planned, 'device')}`;
  const words = {
    scheduled: `Goes out ${sendAtMs === null ? '' : moment(sendAtMs)}.`,
    planning: `Reading which devices it is for: ${counted(sum.planned, 'device')} so far, ${count(sum.accepted)} accepted.`,
    delivering: `${counted(waiting(sum), 'device')} ${waiting(sum) === 1 ? 'waits' : 'wait'}; ${reached}.`,
    finished: `Over after ${secondsText(((finishedAtMs ?? dueAtMs) - dueAtMs) / 1000)}: ${reached}.`,
    cancelled: `Cancelled ${finishedAtMs === null ? '' : moment(finishedAtMs)}: ${reached}.`,
  };
  return (
    <span class="line-of">
      <span class={`tag ${states[state].look}`} title={states[state].means}>
        {state}
      </span>
      {words[state]}
    </span>
  );
}

/** Accepted devices per second between two answers, newest last. Empty once the publish is finished. */
function useRates(value: Details | undefined, atMs: number): readonly number[] {
  const before = useRef<{ readonly accepted: number; readonly atMs: number } | undefined>(
    undefined,
  );
  const [rates, setRates] = useState<readonly number[]>([]);
  useEffect(() => {
    if (value === undefined) return;
    const { accepted } = totalOf(value);
    const last = before.current;
    before.current = { accepted, atMs };
    if (isOver(value.state)) setRates([]);
    else if (last !== undefined && atMs > last.atMs) {
      const rate = ((accepted - last.accepted) * 1000) / (atMs - last.atMs);
      setRates((known) => [...known, rate].slice(-RATES_SHOWN));
    }
  }, [value, atMs]);
  return rates;
}

function Facts({
  publish,
  rates,
}: {
  readonly publish: Details;
  readonly rates: readonly number[];
}) {
  const { id, target, createdAtMs, sendAtMs, finishedAtMs, dueAtMs, seconds } = publish;
  const took = ((finishedAtMs ?? dueAtMs) - dueAtMs) / 1000;
  const { accepted } = totalOf(publish);
  const rate = rates.at(-1);
  return (
    <Card title="Facts" aside={<CopyButton text={id}>Copy id</CopyButton>}>
      <dl class="inside facts">
        <dt>Id</dt>
        <dd class="mono">{id}</dd>
        <dt>To</dt>
        <dd>{targetWords(target)}</dd>
        {publish.rule !== null && (
          <>
            <dt>By a rule</dt>
            <dd>
              {publish.rule.event} in {publish.rule.channel}
            </dd>
          </>
        )}
        <dt>Published</dt>
        <dd>{moment(createdAtMs)}</dd>
        {sendAtMs !== null && (
          <>
            <dt>Scheduled for</dt>
            <dd>{moment(sendAtMs)}</dd>
          </>
        )}
        {finishedAtMs !== null && (
          <>
            <dt>Over</dt>
            <dd>{moment(finishedAtMs)}</dd>
          </>
        )}
        {rate !== undefined && (
          <>
            <dt>Now</dt>
            <dd>
              {count(rate)} accepted per second
              {rates.length > 1 && (
                <Sparkline
                  values={rates}
                  label={`Accepted per second, highest ${count(Math.max(...rates))}`}
                />
              )}
            </dd>
          </>
        )}
        {took >= 1 && accepted > 0 && (
          <>
            <dt>Speed</dt>
            <dd>{count(accepted / took)} accepted per second, from its time to its end</dd>
          </>
        )}
        {seconds !== null && (
          <>
            <dt>First tried after</dt>
            <dd>
              {seconds.half === seconds.most
                ? `${secondsText(seconds.half)} for all devices`
                : `${secondsText(seconds.half)} for half of the devices, ${secondsText(seconds.most)} for 95 %`}
            </dd>
          </>
        )}
      </dl>
    </Card>
  );
}

function secondsText(seconds: number): string {
  if (seconds < 0.1) return 'less than 0.1 s';
  return seconds < 10 ? `${seconds.toFixed(1)} s` : duration(seconds * 1000);
}

function Pause({ pause }: { readonly pause: Details['pauses'][number] }) {
  const { platform, origin, why, advice, devices, sinceMs, servers } = pause;
  const gateway = origin ?? { apns: 'Apple', fcm: 'Firebase', web: 'push services' }[platform];
  return (
    <Notice level={pause.cause === 'credential' ? 'bad' : 'warn'}>
      <p>
        {servers.length === 1 ? 'Server' : 'Servers'} {servers.join(', ')}{' '}
        {servers.length === 1 ? 'has' : 'have'} paused {gateway} since {moment(sinceMs)}: {why}.
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
  instance,
  publish,
  reasons,
}: {
  readonly instance: string;
  readonly publish: string;
  readonly reasons: Details['reasons'];
}) {
  return (
    <Card title="Why not">
      <table class="table cards">
        <TableHead columns={['Why', 'Platform', { number: 'Devices' }]} />
        <tbody>
          {reasons.map(({ platform, reason, devices, why, advice }) => (
            <tr key={`${platform} ${reason}`}>
              <td class="wide">
                <div class="sentence">{why}</div>
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
                <a href={pathTo(inInstance(instance, 'devices'), { publish, reason, platform })}>
                  {count(devices)}
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

/** A link to the result of the publish at one device. */
function AskDevice({ instance, publish }: { readonly instance: string; readonly publish: string }) {
  const [typed, setTyped] = useState('');
  return (
    <form
      class="toolbar"
      onSubmit={(event) => {
        event.preventDefault();
        go(inInstance(instance, 'devices', typed.trim()), { publish });
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
  readonly state: Details['state'];
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
