import { align, median, percent, ratio, spread, tenths, verdict, whole } from '../report.ts';
import type { ClusterFigures } from './cluster.ts';

const ADDED_P50_MS_MAX = 1;
const ADDED_P99_MS_MAX = 5;
const PUBLISHED_RATIO_MAX = 1.3;
const RECEIVED_RATIO_MAX = 0.6;
const JOINS_MIN = 20_000;
const GONE_SECONDS_MAX = 15;
const SCRIPT_MS_MAX = 10;

const hundredths = (number: number): string => number.toFixed(2);
const mebibytes = (bytes: number): string => tenths(bytes / 2 ** 20);

/** The tables of this scenario. */
export function printCluster(figures: ClusterFigures): string {
  return [
    'cluster: several servers over one Redis beside one server; all servers share one core, Redis is not pinned',
    ...printLatency(figures),
    '',
    ...printCosts(figures),
    '',
    ...printOneRedis(figures),
  ].join('\n');
}

function printLatency({ latencyRate, latency }: ClusterFigures): string[] {
  const row = (name: string, key: 'loop' | 'redis') => [
    name,
    hundredths(median(latency[key].map(({ p50Ms }) => p50Ms))),
    hundredths(median(latency[key].map(({ p99Ms }) => p99Ms))),
  ];
  const added = (figure: 'p50Ms' | 'p99Ms') =>
    median(
      latency.redis.map((found, round) => found[figure] - (latency.loop[round]?.[figure] ?? NaN)),
    );
  const [p50Ms, p99Ms] = [added('p50Ms'), added('p99Ms')];
  return [
    `from trigger to delivery, ${whole(latencyRate)} events/s`,
    ...align([
      ['', 'p50 ms', 'p99'],
      row('one loop', 'loop'),
      row('over Redis', 'redis'),
      ['added', hundredths(p50Ms), hundredths(p99Ms)],
    ]),
    verdict(`added p50 <= ${ADDED_P50_MS_MAX} ms`, p50Ms <= ADDED_P50_MS_MAX),
    verdict(`added p99 <= ${ADDED_P99_MS_MAX} ms`, p99Ms <= ADDED_P99_MS_MAX),
  ];
}

function printCosts({ costs }: ClusterFigures): string[] {
  const rows: string[][] = [];
  const verdicts: string[] = [];
  for (const { eventsPerSecond, trigger, published, received } of costs) {
    const rate = `${whole(eventsPerSecond)}/s`;
    rows.push([`${rate}, trigger on one loop without a subscriber`, tenths(median(trigger))]);
    const add = (name: string, each: readonly number[], ratioMax: number) => {
      const ratios = each.map((found, round) => found / (trigger[round] ?? Number.NaN));
      const middle = median(ratios);
      rows.push([`${rate}, ${name}`, tenths(median(each)), ratio(middle), spread(ratios, ratio)]);
      const target = `${rate}, ${name}: ratio <= ${ratio(ratioMax)}`;
      verdicts.push(verdict(target, middle <= ratioMax));
    };
    add('published by a node', published, PUBLISHED_RATIO_MAX);
    if (received !== undefined)
      add('received by one client of another node', received, RECEIVED_RATIO_MAX);
  }
  return [
    'processor time of one event; with a subscriber, the delivery is included',
    ...align([['', 'CPU µs', 'ratio', 'spread'], ...rows]),
    ...verdicts,
  ];
}

function printOneRedis({ oneRedis }: ClusterFigures): string[] {
  const { rates, deadNode, memory } = oneRedis;
  const joins = rates[0]?.perSecond ?? 0;
  return [
    'one Redis, whose nodes are engines without sockets; they share the cores with it',
    ...align([
      ['', 'per second', 'CPU of Redis', 'Redis µs each', 'if Redis had a core'],
      ...rates.map(({ name, perSecond, redisUs, redisShare }) => [
        name,
        whole(perSecond),
        percent(redisShare),
        tenths(redisUs),
        whole(1e6 / redisUs),
      ]),
    ]),
    verdict(`joins and leaves >= ${whole(JOINS_MIN)}/s`, joins >= JOINS_MIN),
    '',
    `20,000 members of a killed node are gone after ${tenths(deadNode.seconds)} s; the longest script took ${tenths(deadNode.slowestScriptMs)} ms`,
    verdict(`gone <= ${GONE_SECONDS_MAX} s`, deadNode.seconds <= GONE_SECONDS_MAX),
    verdict(`no script > ${SCRIPT_MS_MAX} ms`, deadNode.slowestScriptMs <= SCRIPT_MS_MAX),
    '',
    ...align([
      ['memory of Redis', 'MiB'],
      ['100,000 members of 1,000 presence channels', mebibytes(memory.members)],
      ['100,000 channels with one subscriber each', mebibytes(memory.channels)],
    ]),
  ];
}
