import type { ClientResult } from '../http2/client.ts';
import { align, median, ratio, spread, whole } from '../report.ts';
import type { BesideRun, BesideStep, Placement } from './beside-channels.ts';
import type { DeliveryRun } from './delivery-run.ts';
import { OTHERS_MAX } from './quiet.ts';
import type { SinkKind } from './sink-calls.ts';

/** From this share of its core on, the gateway may be what was measured. */
const GATEWAY_BOUND_SHARE = 0.9;

/** What should be reached of what a bare client does. */
const APNS_RATIO_MIN = 0.75;
const PER_SECOND_MIN: Readonly<Record<'fcm' | 'web', number>> = { fcm: 8_000, web: 8_000 };

/** What the latency of channels may grow to, beside a publish. */
const P99_TIMES_MAX: Readonly<Record<Placement, number>> = { 'one core': 2, 'a core each': 1.3 };

const MEBIBYTE = 2 ** 20;

const tenths = (number: number): string => number.toFixed(1);
const percent = (share: number): string => `${whole(share * 100)} %`;
const verdict = (isReached: boolean): string => (isReached ? 'reached' : 'missed');

/** Processor time of the server for one notification, in microseconds. */
function serverUsEach({ cpu, seconds, devices }: DeliveryRun): number {
  return (cpu.server * seconds * 1e6) / devices;
}

/** What one core would deliver in a second if it did nothing else and waited for nothing. */
function perCore(run: DeliveryRun): number {
  return 1e6 / serverUsEach(run);
}

/** One run on one line, for whoever watches. */
export function printRun(name: string, run: DeliveryRun): string {
  const { seconds, perSecond, cpu, gatewayCpu } = run;
  return (
    `${name}: ${tenths(seconds)} s, ${whole(perSecond)}/s, server ${tenths(serverUsEach(run))} µs each, ` +
    `CPU: server ${percent(cpu.server)}, gateway ${percent(gatewayCpu)}, others ${percent(cpu.others)}`
  );
}

const head = ['', 'median /s', 'spread', 'server µs each', '/s and core', 'server CPU', 'gateway'];

function deliveryRow(name: string, runs: readonly DeliveryRun[]): string[] {
  const rates = runs.map((run) => run.perSecond);
  return [
    name,
    whole(median(rates)),
    spread(rates, whole),
    tenths(median(runs.map(serverUsEach))),
    whole(median(runs.map(perCore))),
    percent(median(runs.map((run) => run.cpu.server))),
    percent(median(runs.map((run) => run.gatewayCpu))),
  ];
}

function clientRow(name: string, runs: readonly ClientResult[]): string[] {
  const rates = runs.map((run) => run.perSecond);
  const us = median(runs.map((run) => run.cpuMicroseconds));
  return [name, whole(median(rates)), spread(rates, whole), tenths(us), whole(1e6 / us)];
}

/** Runs of the same index were made together. */
export interface ApnsComparison {
  readonly fetch: readonly ClientResult[];
  /** The gateway of Fanfare by itself: no store, no pipeline. */
  readonly gateway: readonly ClientResult[];
  /** By how many instances the devices were shared. */
  readonly fanfare: ReadonlyMap<number, readonly DeliveryRun[]>;
}

export function printApns(devices: number, { fetch, gateway, fanfare }: ApnsComparison): string {
  const rows = [...fanfare].flatMap(([instances, runs]) => {
    const name = `fanfare, ${instances} publish${instances === 1 ? '' : 'es'}`;
    const ratios = runs.map((run, index) => run.perSecond / (fetch[index]?.perSecond ?? 0));
    return [deliveryRow(name, runs), ['  ratio', ratio(median(ratios)), spread(ratios, ratio)]];
  });
  const verdicts = [...fanfare].map(([instances, runs]) => {
    const found = median(runs.map((run, index) => run.perSecond / (fetch[index]?.perSecond ?? 0)));
    return `target, ${instances}: ratio >= ${ratio(APNS_RATIO_MIN)}, ${verdict(found >= APNS_RATIO_MIN)}`;
  });
  return [
    `apns: ${whole(devices)} devices, ${fetch.length} runs`,
    ...align([
      head,
      clientRow('bare fetch, 200 at a time', fetch),
      clientRow('the gateway by itself', gateway),
      ...rows,
    ]),
    ...verdicts,
    ...notes([...fanfare.values()].flat()),
  ].join('\n');
}

/** The highest rate counts: FCM's quota has to be approached for a minute. */
export function printKind(kind: 'fcm' | 'web', runs: readonly DeliveryRun[]): string {
  const best = runs.map((run) => run.bestPerSecond || run.perSecond);
  const found = median(best);
  const min = PER_SECOND_MIN[kind];
  return [
    `${kind}: ${whole(runs[0]?.devices ?? 0)} devices of one instance, ${runs.length} runs`,
    ...align([
      head,
      deliveryRow('fanfare', runs),
      ['  over 5 s', whole(found), spread(best, whole)],
    ]),
    `target: >= ${whole(min)}/s, ${verdict(found >= min)}`,
    ...notes(runs),
  ].join('\n');
}

export function printMillion(kind: SinkKind, run: DeliveryRun): string {
  const { start, half, most, end } = run.memory;
  const mebibytes = [start, half, most, end].map((bytes) => whole(bytes / MEBIBYTE)).join(', ');
  return [
    `${kind}: ${whole(run.devices)} devices of one instance, one publish`,
    ...align([head, deliveryRow('fanfare', [run])]),
    `${tenths(run.seconds)} s from the publish to the last delivery`,
    `memory of the server in MiB at start, half-way, most, at the end: ${mebibytes}`,
    ...notes([run]),
  ].join('\n');
}

/** The latency of channels beside publishes, and beside none. */
export function printBeside(placement: Placement, runs: readonly BesideRun[]): string {
  const counts = [...new Set(runs.flatMap(({ steps }) => steps.map(({ publishes }) => publishes)))];
  const alone = runs.map((run) => stepWith(run, 0)?.step.p99Ms ?? 0);
  const times = (publishes: number): readonly number[] =>
    runs.map((run, index) => (stepWith(run, publishes)?.step.p99Ms ?? 0) / (alone[index] ?? 0));
  const rows = counts.map((publishes) => {
    const steps = runs.flatMap((run) => stepWith(run, publishes) ?? []);
    const of = (read: (step: BesideStep) => number) => median(steps.map(read));
    return [
      `${publishes} publishes`,
      tenths(of(({ step }) => step.p50Ms)),
      tenths(of(({ step }) => step.p99Ms)),
      spread(
        steps.map(({ step }) => step.p99Ms),
        tenths,
      ),
      tenths(Math.max(...steps.map(({ step }) => step.maxMs))),
      publishes === 0 ? '' : ratio(median(times(publishes))),
      publishes === 0 ? '' : spread(times(publishes), ratio),
      whole(of(({ notificationsPerSecond }) => notificationsPerSecond)),
      percent(of(({ server }) => server)),
      tenths(of(({ step }) => step.pacingP99Ms)),
    ];
  });
  const max = P99_TIMES_MAX[placement];
  const verdicts = counts
    .filter((publishes) => publishes > 0)
    .map(
      (publishes) =>
        `target, ${publishes}: p99 <= ${max} times, ${verdict(median(times(publishes)) <= max)}`,
    );
  return [
    `channels beside publishes, both loops on ${placement}: 1,000 subscribers of one channel, 100,000 deliveries/s, ${runs.length} runs`,
    ...align([
      [
        '',
        'p50 ms',
        'p99',
        'spread',
        'max',
        'times',
        'spread',
        'notifications/s',
        'server CPU',
        'sent late ms',
      ],
      ...rows,
    ]),
    ...verdicts,
    ...besideNotes(runs),
  ].join('\n');
}

function stepWith({ steps }: BesideRun, publishes: number): BesideStep | undefined {
  return steps.find((step) => step.publishes === publishes);
}

function besideNotes(runs: readonly BesideRun[]): string[] {
  const steps = runs.flatMap((run) => run.steps);
  const faults = steps.reduce(
    (sum, { step }) => sum + step.missing + step.duplicated + step.refused + step.lost,
    0,
  );
  const disturbed = steps.filter(({ others }) => others > OTHERS_MAX).length;
  const uncovered = steps.filter(({ isCovered }) => !isCovered).length;
  return [
    faults > 0 ? [`note: ${faults} deliveries or triggers went wrong`] : [],
    uncovered > 0 ? [`note: in ${uncovered} steps, the publishes were over before the end`] : [],
    disturbed > 0 ? [`note: in ${disturbed} steps others used this machine`] : [],
    steps.some(({ step }) => step.cutShort) ? ['note: some steps were cut short'] : [],
  ].flat();
}

/** What takes away from the figures. */
function notes(runs: readonly DeliveryRun[]): string[] {
  const disturbed = runs.filter(({ cpu }) => cpu.others > OTHERS_MAX).length;
  return [
    runs.some(({ gatewayCpu }) => gatewayCpu > GATEWAY_BOUND_SHARE)
      ? ['note: the gateway had no CPU left and may be what was measured']
      : [],
    disturbed > 0 ? [`note: in ${disturbed} runs others used this machine`] : [],
  ].flat();
}
