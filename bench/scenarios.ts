import { canMeasureCluster, measureCluster } from './cluster/cluster.ts';
import { printCluster } from './cluster/print.ts';
import { connectScenarios, measureConnect, printConnect } from './connections/connect.ts';
import { idleScenarios, measureIdle, printIdle } from './connections/idle.ts';
import { measureFallback, printFallback } from './fallback/fallback.ts';
import { type FanOut, fanOuts } from './fan-out/fan-outs.ts';
import { measureIngest, printIngest } from './fan-out/ingest.ts';
import { compareFanOut } from './fan-out/measure.ts';
import { median, printComparison, ratios } from './report.ts';
import type { Scenario } from './scenario.ts';
import { measureThreads, printThreads } from './threads/threads.ts';
import { measureWatch, printWatch } from './watch/watch.ts';

/** Everything that `npm run bench` measures, in this order. */
export const scenarios: readonly Scenario[] = [
  ...fanOuts.map(fanOutScenario),
  {
    name: 'ingest',
    description: 'signed triggers to channels that nobody listens to, single and in batches of 10',
    async run(bench) {
      const figures = await measureIngest(bench);
      return { text: printIngest(figures), figures };
    },
  },
  ...connectScenarios.map(
    (scenario): Scenario => ({
      name: scenario.name,
      description: scenario.description,
      async run(bench) {
        const figures = await measureConnect(bench, scenario);
        return { text: printConnect(figures), figures };
      },
    }),
  ),
  ...idleScenarios.map(
    (scenario): Scenario => ({
      name: scenario.name,
      description: scenario.description,
      needs: 'a process whose memory is ours to read',
      async run(bench) {
        const figures = await measureIdle(bench, scenario);
        return { text: printIdle(figures), figures };
      },
    }),
  ),
  {
    name: 'fallback',
    description:
      'clients over the HTTP transports: processor time, memory, and latency of WebSockets beside them',
    needs: 'settings of the server',
    async run(bench) {
      const figures = await measureFallback(bench);
      return { text: printFallback(figures), figures };
    },
  },
  {
    name: 'threads',
    description: 'several realtime threads beside one: processor time, latency, memory',
    needs: 'settings of the server',
    async run(bench) {
      const figures = await measureThreads(bench);
      return { text: printThreads(figures), figures };
    },
  },
  {
    name: 'watch',
    description: 'a hot channel with no, one and eight readers of live streams',
    needs: 'settings of the server',
    async run(bench) {
      const figures = await measureWatch(bench);
      return { text: printWatch(figures), figures };
    },
  },
  {
    name: 'cluster',
    description: 'several servers over one Redis beside one server; needs Redis and PostgreSQL',
    needs: 'settings of the server',
    async run(bench) {
      // The scenarios before it may have taken an hour, so this is no error.
      if (!canMeasureCluster()) {
        return { text: 'cluster: left out, Redis or PostgreSQL is not installed', figures: null };
      }
      const figures = await measureCluster(bench);
      return { text: printCluster(figures), figures };
    },
  },
];

function fanOutScenario(fanOut: FanOut): Scenario {
  return {
    name: fanOut.name,
    description: fanOut.description,
    ...(fanOut.app === undefined ? {} : { needs: 'an app with other limits than by default' }),
    async run(bench) {
      const comparison = await compareFanOut(bench, fanOut);
      const figures = { ...comparison, ratio: median(ratios(comparison)) };
      return { text: printComparison(comparison), figures };
    },
  };
}
