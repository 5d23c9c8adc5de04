import { metricRows } from '../../../observability/metrics-table.ts';
import { type ConditionRule, type Situation, when } from './rule.ts';
import { total } from './samples.ts';

const MINUTE_MS = 60_000;

/** A loop counts as late if its timers were late in this many consecutive steps. */
const LATE_SECONDS = 0.2;
const LATE_STEPS = 3;

/** The limit of the 99th percentile of Redis' response times. Seconds. */
const SLOW_SECONDS = 0.1;

const REPAIR_REFUSAL =
  'Redis answers, but refuses commands: repair what it says (a full memory or disk, missing replicas, a right of the user). `fanfare doctor --redis` names it.';

/** Rules about the realtime loops and about Redis. */
export const realtimeRules: readonly ConditionRule[] = [
  {
    id: 'loop-silent',
    check: ({ readiness, sample }) => {
      const silent = Array.from(readiness.silent, (name) => `The ${name} loop does not answer.`);
      const texts = silent.length > 0 || sample.why === undefined ? silent : [`${sample.why}.`];
      return texts.map((text) => ({
        key: text,
        level: 'bad',
        text,
        advice:
          'Its clients receive nothing. If it lasts for a minute, restart the server, and report the error with the log.',
      }));
    },
  },
  {
    id: 'engine-away',
    alert: 'FanfareEngineAway',
    check: ({ readiness }) => {
      const [first, ...others] = readiness.awayEngines.values();
      if (first === undefined) return [];
      const sinceMs = Math.min(first.sinceMs, ...others.map((away) => away.sinceMs));
      const isRefused = [first, ...others].some((away) => away.isRefused);
      return [
        {
          level: 'bad',
          sinceMs,
          text: `Redis cannot be used: ${first.why}.`,
          advice: `${isRefused ? REPAIR_REFUSAL : 'Start Redis, or repair the network to it.'} Connections stay open. Until then, backends get 503, and clients cannot subscribe to new channels.`,
        },
      ];
    },
  },
  {
    id: 'engine-unsteady',
    alert: 'FanfareEngineUnsteady',
    check: ({ samples }) => {
      const outages = samples.increase('engineOutages', 10 * MINUTE_MS);
      return when(outages > 3, () => ({
        level: 'warn',
        text: `Redis was lost ${outages} times in ten minutes.`,
        advice: 'Look at the network, at the load of Redis and at its log.',
      }));
    },
  },
  {
    id: 'messages-unreadable',
    alert: 'FanfareUnreadableMessages',
    check: ({ samples }) => {
      const dropped = samples.increase('messagesUnreadable', 10 * MINUTE_MS);
      return when(dropped > 0, () => ({
        level: 'warn',
        text: `${dropped} messages from Redis, other servers or other threads could not be read in ten minutes.`,
        advice:
          'The log names their streams. Something else publishes on this Redis, or servers of different releases do not understand each other.',
      }));
    },
  },
  {
    id: 'engine-slow',
    alert: 'FanfareEngineSlow',
    check: (situation) =>
      when(isEngineSlow(situation), () => ({
        level: 'warn',
        text: `The slowest hundredth of the answers of Redis, or of other threads, takes more than ${SLOW_SECONDS * 1_000} ms.`,
        advice:
          'Redis or a core is overloaded. One more Redis server (engine.urls) takes a share of the load.',
      })),
  },
  {
    id: 'events-refused',
    alert: 'FanfarePublishesRefused',
    check: ({ samples }) => {
      const refused = samples.increase('enginePublishesRefused', 5 * MINUTE_MS);
      return when(refused > 0, () => ({
        level: 'bad',
        text: `${refused} events were refused in five minutes, because Redis did not answer.`,
        advice: 'Backends got 503 and clients 4301: they must send again. Look at Redis.',
      }));
    },
  },
  {
    id: 'messages-missed',
    alert: 'FanfareMessagesMissed',
    check: ({ samples }) => {
      const gaps = samples.increase('engineGaps', 10 * MINUTE_MS);
      return when(gaps > 5, () => ({
        level: 'warn',
        text: `Messages of Redis were missed ${gaps} times in ten minutes, and read again.`,
        advice:
          'Connections to Redis are cut, or this server reads too slowly. Look at the network and at the load of this server.',
      }));
    },
  },
  {
    id: 'events-lost',
    alert: 'FanfareEventsLost',
    check: ({ samples }) =>
      when(samples.increase('engineLosses', 10 * MINUTE_MS) > 0, () => ({
        level: 'bad',
        text: 'Clients may have missed events in the last ten minutes.',
        advice:
          'Connections to Redis were cut for so long that not all could be read again. Look at the network and at Redis.',
      })),
  },
  {
    id: 'server-fenced',
    alert: 'FanfareServerFenced',
    check: ({ samples }) =>
      when(samples.increase('engineLeasesLost', 5 * MINUTE_MS) > 0, () => ({
        level: 'warn',
        text: 'Other servers took this one for dead within the last five minutes.',
        advice:
          'It did not reach Redis for 10 s, or did not run. Its presence members were reported as removed, and then added again. Check the machine and the network.',
      })),
  },
  {
    id: 'redis-data-lost',
    alert: 'FanfareRedisDataLost',
    check: ({ samples }) =>
      when(samples.increase('engineDataLost', 5 * MINUTE_MS) > 0, () => ({
        level: 'warn',
        text: 'Redis was restarted or replaced, and this server has stated its data again.',
        advice: 'Nothing is to be done.',
      })),
  },
  {
    id: 'loop-late',
    alert: 'FanfareLoopDelayed',
    check: ({ samples }) => {
      const last = samples.last(LATE_STEPS);
      const names = [...(last[0]?.metrics?.get('loopDelay')?.keys() ?? [])];
      return names.flatMap((name) => {
        const delays = last.map((sample) => total(sample, 'loopDelay', name));
        const isLate = delays.length === LATE_STEPS && Math.min(...delays) > LATE_SECONDS;
        return when(isLate, () => ({
          key: name,
          level: 'warn',
          text: `The ${name} loop is late by up to ${Math.round(Math.max(...delays) * 1_000)} ms.`,
          advice:
            'It has too much to do, or another process takes its core. More realtime threads or another server take a share.',
        }));
      });
    },
  },
  {
    id: 'slow-clients',
    alert: 'FanfareSlowClients',
    check: ({ samples }) => {
      const closed = samples.increase('slowConnectionsClosed', 10 * MINUTE_MS);
      return when(closed > 100, () => ({
        level: 'warn',
        text: `${closed} connections were closed in ten minutes because they read too slowly.`,
        advice:
          'Clients are sent more than their network takes: send less to each, or in fewer events. The log names their apps.',
      }));
    },
  },
  {
    // The condition that new developers look for. It belongs to no app, so it cannot be on an app's page.
    id: 'unknown-key',
    check: ({ samples }) => {
      const refused = samples.increase('connectionsRefused', 10 * MINUTE_MS, '4001');
      return when(refused > 0, () => ({
        level: 'warn',
        text: `${refused === 1 ? '1 connection' : `${refused} connections`} in ten minutes had a key that no app has.`,
        advice:
          'Compare the key in the client with the keys of its app. Clients of a deleted app do this too. The log names their addresses.',
      }));
    },
  },
  {
    id: 'connections-refused',
    alert: 'FanfareConnectionsRefused',
    check: ({ samples }) => {
      const refused = samples.increase('connectionsRefused', 10 * MINUTE_MS, '4100');
      return when(refused > 100, () => ({
        level: 'warn',
        text: `${refused} connections were refused in ten minutes because the server is full.`,
        advice:
          'Raise `channels.maxConnections` or the limit of open files, or add a server. The log shows which limit it was.',
      }));
    },
  },
];

function isEngineSlow({ samples }: Situation): boolean {
  const { buckets } = metricRows.engineAnswers;
  const answersWithin = (label: string) => samples.increase('engineAnswers', 5 * MINUTE_MS, label);
  let [all, fast] = [answersWithin('+Inf'), 0];
  for (const bound of buckets) {
    const answers = answersWithin(String(bound));
    all += answers;
    if (bound <= SLOW_SECONDS) fast += answers;
  }
  return all > 0 && fast / all < 0.99;
}
