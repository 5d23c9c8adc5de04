import { useEffect, useRef, useState } from 'preact/hooks';
import type { PublishDetails } from '../../api/answers.ts';
import { Card, Fact } from '../../parts/card.tsx';
import { Sparkline } from '../../parts/charts/charts.tsx';
import { CopyButton } from '../../parts/controls.tsx';
import { count, counted, duration, moment } from '../../parts/formats.ts';
import { isOver, states, sumOf, targetWords, waiting } from './words.ts';

/** Two minutes. */
const RATES_SHOWN = 60;

const totalOf = ({ platforms }: PublishDetails) => sumOf(Object.values(platforms));

export function StateTag({ state }: Pick<PublishDetails, 'state'>) {
  const { look, means } = states[state];
  return (
    <span class={`tag ${look}`} title={means}>
      {state}
    </span>
  );
}

/** The state of a publish in one sentence. */
export function Sentence({ publish }: { readonly publish: PublishDetails }) {
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
      <StateTag state={state} />
      {words[state]}
    </span>
  );
}

/** What is known of a publish besides its results, and how fast it goes. */
export function Facts({
  publish,
  atMs,
}: {
  readonly publish: PublishDetails;
  readonly atMs: number;
}) {
  const { id, target, rule, sendAtMs, nextAtMs, lastAtMs, finishedAtMs, dueAtMs, seconds } =
    publish;
  const rates = useRates(publish, atMs);
  const took = ((finishedAtMs ?? dueAtMs) - dueAtMs) / 1000;
  const { accepted } = totalOf(publish);
  return (
    <Card title="Facts" aside={<CopyButton text={id}>Copy id</CopyButton>}>
      <dl class="inside facts">
        <Fact word="Id" look="mono">
          {id}
        </Fact>
        <Fact word="To">{targetWords(target)}</Fact>
        <Fact word="By a rule">{rule && `${rule.event} in ${rule.channel}`}</Fact>
        <Fact word="Published">{moment(publish.createdAtMs)}</Fact>
        <Fact word="Scheduled for">{sendAtMs !== null && moment(sendAtMs)}</Fact>
        <Fact word="Next devices are due">{nextAtMs !== null && moment(nextAtMs)}</Fact>
        <Fact word="Sends until">{lastAtMs !== null && moment(lastAtMs)}</Fact>
        <Fact word="Over">{finishedAtMs !== null && moment(finishedAtMs)}</Fact>
        <Fact word="Now">{rates.length > 0 && <Rate rates={rates} />}</Fact>
        <Fact word="Speed">
          {took >= 1 &&
            accepted > 0 &&
            `${count(accepted / took)} accepted per second, from its time to its end`}
        </Fact>
        <Fact word="First tried after">{seconds && firstTriedAfter(seconds)}</Fact>
      </dl>
    </Card>
  );
}

/** Accepted devices per second between two answers, newest last. Empty once the publish is finished. */
function useRates(value: PublishDetails, atMs: number): readonly number[] {
  const before = useRef<{ readonly accepted: number; readonly atMs: number } | undefined>(
    undefined,
  );
  const [rates, setRates] = useState<readonly number[]>([]);
  useEffect(() => {
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

function Rate({ rates }: { readonly rates: readonly number[] }) {
  return (
    <>
      {count(rates.at(-1) ?? 0)} accepted per second
      {rates.length > 1 && (
        <Sparkline
          values={rates}
          label={`Accepted per second, highest ${count(Math.max(...rates))}`}
        />
      )}
    </>
  );
}

function firstTriedAfter({ half, most }: NonNullable<PublishDetails['seconds']>): string {
  return half === most
    ? `${secondsText(half)} for all devices`
    : `${secondsText(half)} for half of the devices, ${secondsText(most)} for 95 %`;
}

function secondsText(seconds: number): string {
  if (seconds < 0.1) return 'less than 0.1 s';
  return seconds < 10 ? `${seconds.toFixed(1)} s` : duration(seconds * 1000);
}
