import { OTHERS_MAX } from '../machine/cpu-usage.ts';
import { align, median, percent, ratio, spread, tenths, verdict, whole } from '../report.ts';
import type { ClientResult } from './bare-client.ts';
import type { DeliveryRun } from './delivery-run.ts';

/** From this share of its core on, the gateway may have been the bottleneck. */
const GATEWAY_BOUND_SHARE = 0.9;

/** The share of a bare client's rate that should be reached. */
const APNS_RATIO_MIN = 0.75;
const PER_SECOND_MIN: Readonly<Record<'fcm' | 'web', number>> = { fcm: 8_000, web: 8_000 };

/** Processor time of the server for one notification, in microseconds. */
function serverUsEach({ cpu, seconds, devices }: DeliveryRun): number {
  return (cpu.server * seconds * 1e6) / devices;
}

/** What one core would deliver in a second if it did nothing else and waited for nothing. */
function perCore(run: DeliveryRun): number {
  return 1e6 / serverUsEach(run);
}

/** Prints one run on one line, as progress. */
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
  /** By how many instances the devices were shared. */
  readonly fanfare: ReadonlyMap<number, readonly DeliveryRun[]>;
}

export function printApns(devices: number, { fetch, fanfare }: ApnsComparison): string {
  const rows = [...fanfare].flatMap(([instances, runs]) => {
    const name = `fanfare, ${instances} publish${instances === 1 ? '' : 'es'}`;
    const ratios = runs.map((run, index) => run.perSecond / (fetch[index]?.perSecond ?? 0));
    return [deliveryRow(name, runs), ['  ratio', ratio(median(ratios)), spread(ratios, ratio)]];
  });
  const verdicts = [...fanfare].map(([instances, runs]) => {
    const found = median(runs.map((run, index) => run.perSecond / (fetch[index]?.perSecond ?? 0)));
    return verdict(`${instances}: ratio >= ${ratio(APNS_RATIO_MIN)}`, found >= APNS_RATIO_MIN);
  });
  return [
    `apns: ${whole(devices)} devices, ${fetch.length} runs`,
    ...align([head, clientRow('bare fetch, 200 at a time', fetch), ...rows]),
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
    verdict(`>= ${whole(min)}/s`, found >= min),
    ...notes(runs),
  ].join('\n');
}

/** What may have distorted the figures. */
function notes(runs: readonly DeliveryRun[]): string[] {
  const disturbed = runs.filter(({ cpu }) => cpu.others > OTHERS_MAX).length;
  return [
    runs.some(({ gatewayCpu }) => gatewayCpu > GATEWAY_BOUND_SHARE)
      ? ['note: the gateway had no CPU left and may be what was measured']
      : [],
    disturbed > 0 ? [`note: in ${disturbed} runs others used this machine`] : [],
  ].flat();
}
