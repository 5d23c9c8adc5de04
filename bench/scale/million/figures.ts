import type { EvidenceResult } from '../../../testing/evidence/rows.ts';
import { align, median, tenths as oneDigit, verdict, whole } from '../../report.ts';
import type { Broadcast, Took } from '../crowd/idle-crowd.ts';

/** What a connection may take at the server's end. */
const SERVER_BYTES_MAX = 2000;
const KERNEL_BYTES_MAX = 4500;
/** How much more it may take at the last tenth than at the second: what repeated measurements differ by. */
const GROWTH_MAX = 1.02;

/** When a tenth of all connections had come. Bytes are an average of all connections so far. */
export interface Tenth {
  readonly connections: number;
  readonly perSecond: number;
  readonly serverBytes: number;
  readonly kernelBytes: number;
  readonly clientBytes: number;
  readonly loopP99Ms: number;
}

export interface MeasuredMillion {
  /** What limited the number of connections. */
  readonly why: string;
  /** Whether the machine ran out of memory. */
  readonly endedEarly: boolean;
  readonly tenths: readonly Tenth[];
  readonly broadcasts: readonly Broadcast[];
  /** Processor time of the server. */
  readonly secondsPerDelivery: number;
  readonly listing: Took & { readonly channels: number };
  readonly dollarsPerCoreHour?: number;
}

export interface MillionFigures extends MeasuredMillion {
  /** Load average of the machine before. */
  readonly load: number;
}

/** What a connection must not exceed, and whether it does. */
function judge({
  tenths,
}: MeasuredMillion): readonly (readonly [target: string, isHeld: boolean])[] {
  const [, second] = tenths;
  const last = tenths.at(-1);
  if (second === undefined || last === undefined) return [['two tenths', false]];
  return [
    [`server <= ${whole(SERVER_BYTES_MAX)} B each`, last.serverBytes <= SERVER_BYTES_MAX],
    [`kernel <= ${whole(KERNEL_BYTES_MAX)} B each`, last.kernelBytes <= KERNEL_BYTES_MAX],
    [
      'no more each at the last tenth than at the second',
      last.serverBytes <= second.serverBytes * GROWTH_MAX &&
        last.kernelBytes <= second.kernelBytes * GROWTH_MAX,
    ],
  ];
}

export function isHeld(figures: MeasuredMillion): boolean {
  return !figures.endedEarly && judge(figures).every(([, holds]) => holds);
}

const seconds = (number: number): string => number.toFixed(number < 10 ? 3 : 1);

const columns: readonly (readonly [head: string, print: (tenth: Tenth) => string])[] = [
  ['connections', ({ connections }) => whole(connections)],
  ['new/s', ({ perSecond }) => whole(perSecond)],
  ['server B', ({ serverBytes }) => whole(serverBytes)],
  ['kernel B', ({ kernelBytes }) => whole(kernelBytes)],
  ['client B', ({ clientBytes }) => whole(clientBytes)],
  ['loop p99 ms', ({ loopP99Ms }) => oneDigit(loopP99Ms)],
];

/** What an event to everybody took, the median of several. */
function broadcastOf({ broadcasts }: MeasuredMillion) {
  return {
    seconds: median(broadcasts.map((each) => each.seconds)),
    loopP99Ms: median(broadcasts.map((each) => each.loopP99Ms)),
    delivered: broadcasts[0]?.delivered ?? 0,
    duplicated: broadcasts.reduce((sum, { duplicated }) => sum + duplicated, 0),
  };
}

function dollarsPerMillion({ dollarsPerCoreHour, secondsPerDelivery }: MeasuredMillion) {
  if (dollarsPerCoreHour === undefined) return undefined;
  return (dollarsPerCoreHour * secondsPerDelivery * 1e6) / 3600;
}

/** The table, for people. */
export function printMillion(figures: MeasuredMillion): string {
  const { tenths, listing, endedEarly, secondsPerDelivery, dollarsPerCoreHour } = figures;
  const event = broadcastOf(figures);
  const dollars = dollarsPerMillion(figures);
  return [
    'Memory is what each connection has taken on average: of the server (Rss), of the kernel for one end (half of what Slab and',
    'the sockets grew by), of the process with the clients. loop: how long a frame of another client waits, meanwhile',
    ...align([
      columns.map(([head]) => head),
      ...tenths.map((tenth) => columns.map(([, print]) => print(tenth))),
    ]),
    ...(endedEarly ? ['ended early: less than 4 GiB of memory are available'] : []),
    `one event to all ${whole(event.delivered)}: ${seconds(event.seconds)} s until the last has it, loop p99 ${oneDigit(event.loopP99Ms)} ms, ${event.duplicated} twice`,
    `list of ${whole(listing.channels)} channels: ${seconds(listing.seconds)} s, loop p99 ${oneDigit(listing.loopP99Ms)} ms`,
    `processor time of the server: ${oneDigit(secondsPerDelivery * 1e6)} µs for a delivery`,
    ...(dollars === undefined
      ? []
      : [
          `$${dollars.toFixed(6)} for a million deliveries: ${dollarsPerCoreHour} $/core hour × ${oneDigit(secondsPerDelivery * 1e6)} s / 3,600 s`,
        ]),
    ...judge(figures).map(([target, holds]) => verdict(target, holds)),
  ].join('\n');
}

/** The row that is kept. */
export function evidenceOf(
  figures: MillionFigures,
  { asked, inUml }: { readonly asked: number; readonly inUml: boolean },
): EvidenceResult {
  const last = figures.tenths.at(-1);
  const event = broadcastOf(figures);
  const missed = judge(figures).flatMap(([target, holds]) => (holds ? [] : [target]));
  return {
    section: 'scale',
    name: inUml ? 'million, in user-mode Linux' : 'million',
    command: `npm run bench -- million --connections ${asked}${inUml ? ' --in-uml' : ''}`,
    result: isHeld(figures) ? 'held' : 'broken',
    ...(missed.length === 0 ? {} : { why: `missed: ${missed.join('; ')}` }),
    figures: {
      connections: last?.connections ?? 0,
      'server memory each': `${whole(last?.serverBytes ?? 0)} B`,
      'kernel memory each': `${whole(last?.kernelBytes ?? 0)} B`,
      'new connections per second': Math.round(
        median(figures.tenths.map((each) => each.perSecond)),
      ),
      'one event to all': `${seconds(event.seconds)} s`,
      'list of channels': `${seconds(figures.listing.seconds)} s`,
      'load average before': figures.load.toFixed(1),
    },
  };
}
