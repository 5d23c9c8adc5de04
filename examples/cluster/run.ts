/** `npm run cluster-demo`: three servers, Redis, PostgreSQL and a load balancer on this machine, and a page that shows them. */
import { parseArgs } from 'node:util';
import { APP } from '../../testing/servers/fanfare.ts';
import { missingPrograms, startDemo } from './demo.ts';

const DEFAULT_PORT = 6100;
const PORT_MAX = 65_534;

const usage = `npm run cluster-demo -- [--port N]

  --port N   the port of the page (${DEFAULT_PORT}); the load balancer takes the next one; 0 takes any two
`;

function portOf(args: string[]): number | undefined {
  try {
    const { values } = parseArgs({ args, options: { port: { type: 'string' } } });
    const port = Number(values.port ?? DEFAULT_PORT);
    return Number.isInteger(port) && port >= 0 && port <= PORT_MAX ? port : undefined;
  } catch {
    return undefined;
  }
}

async function run(): Promise<number> {
  const port = portOf(process.argv.slice(2));
  if (port === undefined) {
    console.error(usage);
    return 2;
  }
  const missing = missingPrograms();
  if (missing.length > 0) {
    console.error(
      `cluster-demo: ${missing.join(' and ')} not found. Install Redis 7 and PostgreSQL: apt-get install redis-server postgresql, or brew install redis postgresql`,
    );
    return 1;
  }
  const stopped = Promise.withResolvers<void>();
  let isStopping = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      isStopping = true;
      stopped.resolve();
    });
  }
  console.log('Starting Redis, PostgreSQL and three servers ...');
  // A signal during the start is obeyed once all that was started can be stopped. Ctrl-C may have ended a part of it already.
  await using demo = await startDemo(port).catch((error) => {
    if (isStopping) return undefined;
    throw error;
  });
  if (demo === undefined) return 0;
  console.log(`
Page      http://127.0.0.1:${demo.pagePort}
Channels  http://127.0.0.1:${demo.balancerPort}  (load balancer; app ${APP.id}, key ${APP.key}, secret ${APP.secret})
${demo.nodes.map(({ number, port }) => `Server ${number}  http://127.0.0.1:${port}`).join('\n')}

Ctrl-C stops everything and removes its data.`);
  await stopped.promise;
  console.log('Stopping ...');
  return 0;
}

try {
  process.exitCode = await run();
} catch (error) {
  console.error(`cluster-demo: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
