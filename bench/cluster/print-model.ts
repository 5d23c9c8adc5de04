import { align, tenths, whole } from '../report.ts';
import { costsOf, type FleetCosts, LOAD } from './model.ts';

interface Column {
  readonly title: string;
  readonly costs: FleetCosts;
}

interface Size {
  readonly connections: number;
  readonly servers: number;
  readonly threadsEach: number;
  readonly masters: number;
}

const SIZES: readonly Size[] = [
  { connections: 100_000, servers: 3, threadsEach: 1, masters: 1 },
  { connections: 1_000_000, servers: 11, threadsEach: 2, masters: 2 },
  { connections: 10_000_000, servers: 50, threadsEach: 16, masters: 8 },
];

const gigabytes = (bytes: number): string => tenths(bytes / 1e9);

/** What is printed of a fleet. */
const ROWS: readonly (readonly [what: string, print: (costs: FleetCosts, size: Size) => string])[] =
  [
    ['nodes', ({ nodes }) => whole(nodes)],
    [
      `nodes in a channel of ${LOAD.presenceMembers}`,
      ({ presenceHolders }) => tenths(presenceHolders),
    ],
    [
      `nodes in a channel of ${whole(LOAD.publicSubscribers)}`,
      ({ publicHolders }) => whole(publicHolders),
    ],
    [
      `servers that hear a channel of ${LOAD.presenceMembers}`,
      ({ presenceServers }) => tenths(presenceServers),
    ],
    ['events/s', ({ eventsPerSecond }) => whole(eventsPerSecond)],
    ['joins and leaves/s', ({ statementsPerSecond }) => whole(statementsPerSecond)],
    ['messages out of Redis/s', ({ messagesPerSecond }) => whole(messagesPerSecond)],
    ['cores of Redis', ({ redisCores }) => redisCores.toFixed(2)],
    ['of each master, %', ({ redisCores }, { masters }) => whole((redisCores / masters) * 100)],
    ['an event that all servers hear, in Redis, µs', ({ widestEventUs }) => whole(widestEventUs)],
    ['renewals of leases/s', ({ ticksPerSecond }) => whole(ticksPerSecond)],
    ['channels that a node states', ({ channelsOfNode }) => whole(channelsOfNode)],
    ['memory of each Redis, GB', ({ masterBytes }) => gigabytes(masterBytes)],
    [
      'network of each Redis, MB/s',
      ({ masterBytesPerSecond }) => tenths(masterBytesPerSecond / 1e6),
    ],
    ['memory of a server, GB', ({ serverBytes }) => gigabytes(serverBytes)],
    ['all of one master stated again, s', ({ restatingSeconds }) => tenths(restatingSeconds)],
  ];

/** The tables of the model: for each size a thread as a node, as it is, and a server as one. Either way a server hears a channel once. */
export function printModel(): string {
  return [
    'computed by bench/cluster/model.ts; nobody has run the larger fleets',
    `each connection is in a channel of ${LOAD.presenceMembers} and one of ${whole(LOAD.publicSubscribers)}, and stays ${LOAD.staySeconds} s; an event in each channel of ${LOAD.presenceMembers} every ${LOAD.eventSeconds} s`,
    ...SIZES.flatMap((size) => {
      const { connections, servers, threadsEach, masters } = size;
      const columns: Column[] = [
        { title: 'a thread is a node', costs: costsOf({ ...size, nodesEach: threadsEach }) },
        { title: 'a server is a node', costs: costsOf({ ...size, nodesEach: 1 }) },
      ];
      const rows = ROWS.map(([what, print]) => [
        what,
        ...columns.map(({ costs }) => print(costs, size)),
      ]);
      return [
        '',
        `${whole(connections)} connections, ${servers} servers × ${threadsEach} threads, ${masters} masters`,
        ...align([['', ...columns.map(({ title }) => title)], ...rows]),
      ];
    }),
  ].join('\n');
}
