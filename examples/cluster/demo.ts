import { hasPostgres, throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { startRedis } from '../../testing/servers/redis.ts';
import { LoadBalancer } from './load-balancer.ts';
import { DemoNode } from './nodes.ts';
import { serveSite } from './site.ts';

const NODES = 3;

/** A cluster on one machine, with a page that shows what happens in it. */
export interface Demo extends AsyncDisposable {
  readonly pagePort: number;
  readonly balancerPort: number;
  readonly nodes: readonly DemoNode[];
}

/** Names the programs that are missing here. */
export function missingPrograms(): readonly string[] {
  return [
    ...(Bun.which('redis-server') === null ? ['redis-server'] : []),
    ...(hasPostgres() ? [] : ['PostgreSQL (initdb)']),
  ];
}

/** Starts it all: Redis, PostgreSQL, three servers, a load balancer, and the page. The page takes `port`, the balancer the next. */
export async function startDemo(port: number): Promise<Demo> {
  await using parts = new AsyncDisposableStack();
  const redis = parts.use(await startRedis());
  const store = parts.use(await throwAwayPostgres());
  const shared = { redisUrl: redis.url, storeUrl: store.url };
  const nodes = Array.from({ length: NODES }, (_, n) => parts.use(new DemoNode(n + 1, shared)));
  // At the same time, as after a power failure: they agree on who prepares the database.
  await Promise.all(nodes.map((node) => node.start()));
  const balancer = parts.use(
    await LoadBalancer.start(port === 0 ? 0 : port + 1, () =>
      nodes.flatMap(({ number, port }) => (port === undefined ? [] : [{ number, port }])),
    ),
  );
  const site = parts.use(serveSite({ port, nodes, balancer, redis }));
  const running = parts.move();
  return {
    pagePort: site.port,
    balancerPort: balancer.port,
    nodes,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
