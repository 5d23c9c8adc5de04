/**
 * What a fleet of servers over Redis costs, computed. The comments say where each constant comes from; nobody has run the larger
 * fleets. `test/contracts/redis-costs.test.ts` compares the numbers of commands with counted ones.
 */

/** Servers over the masters of a Redis Cluster, or over independent Redis servers. */
export interface Fleet {
  readonly connections: number;
  readonly servers: number;
  readonly threadsEach: number;
  readonly masters: number;
  /** The parts of a server that hold a lease and state what they hold: its threads. All of them hear a channel over one connection. */
  readonly nodesEach: number;
}

/** What everybody does: each connection is in a presence channel and in a public one. */
export const LOAD = {
  presenceMembers: 10,
  publicSubscribers: 1000,
  /** Between two events of a presence channel. */
  eventSeconds: 10,
  /** How long a connection stays. */
  staySeconds: 600,
} as const;

const PARTITIONS = 64;
const TICK_SECONDS = 2;

/**
 * Processor time of Redis, in microseconds. Version 0.1.0 took 13 for an event and 17 for a join or leave, by `npm run bench -- cluster`
 * on a core that was free. What this version takes is that, times ratios to 0.1.0 from a busy machine: a third for an event in a call of a hundred,
 * one and a half for a join or leave. `npm run bench -- cluster --beside d234ebde` measures such ratios again.
 */
const REDIS_US = {
  /** One of a hundred events in one call, without those who hear it: a third. */
  event: 4,
  /** For each server that hears it. */
  holder: 0.35,
  /** One join or leave: one and a half times that of 0.1.0. */
  statement: 25,
  /** One renewal of the lease of a node in one partition: as many commands as a join. */
  tick: 20,
  /** One channel of many that are stated again in one call: half a join of 0.1.0. */
  restatement: 8,
} as const;

/** Memory of Redis. By `npm run bench -- cluster`. MiB. */
const REDIS_MIB = {
  channelsPer100k: 50,
  /** For each node with subscribers of them after the first. */
  holdersPer100k: 18,
  membersPer100k: 23,
} as const;

const MESSAGE_BYTES = 350;
/** Of a server. By `npm run bench -- million --in-uml`, with what the kernel keeps. */
const SERVER_BYTES = { process: 0.3e9, connection: 10e3 } as const;

/**
 * Commands of Redis for one of something, with those inside scripts. Of an app without webhooks, subscription counts and histories.
 */
const COMMANDS = {
  /** A call of events: itself, and whether servers of earlier releases run. */
  call: 2,
  /** An event in a call: its number, and telling those who hear it. */
  event: 2,
  /** The events of one app in one partition, in a call: kept for who misses them. */
  group: 2,
  /** A user who enters a presence channel. */
  join: 21,
  /** The first user of a node in addition: its members are read, and its stream is followed. */
  firstOfNode: 3,
  /** The first user of all in addition. */
  firstOfChannel: 4,
  /** A renewal of the lease of a node in one partition, with one app that has recent events. */
  tick: 22,
} as const;

/** How many of `parts` have at least one of `subscribers`, who are spread evenly over them. */
function holdersOf(subscribers: number, parts: number): number {
  return parts * (1 - (1 - 1 / parts) ** subscribers);
}

/** Commands of events in calls, each with events of as many groups. */
export function commandsOfEvents(
  events: number,
  { calls, groups }: { readonly calls: number; readonly groups: number },
): number {
  return calls * COMMANDS.call + events * COMMANDS.event + groups * COMMANDS.group;
}

/** Commands of presence channels that fill up, each with members on as many nodes. */
export function commandsOfJoins(
  joins: number,
  { channels, nodesEach }: { readonly channels: number; readonly nodesEach: number },
): number {
  const { join, firstOfNode, firstOfChannel } = COMMANDS;
  return joins * join + channels * (firstOfChannel + nodesEach * firstOfNode);
}

/** Commands of nodes that do nothing else. */
export function commandsOfIdling(nodes: number, seconds: number): number {
  return nodes * ticksPerSecond(1) * seconds * COMMANDS.tick;
}

function ticksPerSecond(nodes: number): number {
  return (nodes * PARTITIONS) / TICK_SECONDS;
}

/** What the parts of a fleet carry. */
export interface FleetCosts {
  readonly nodes: number;
  /** Nodes that have subscribers of one channel. */
  readonly presenceHolders: number;
  readonly publicHolders: number;
  /** Servers that have subscribers of a presence channel. */
  readonly presenceServers: number;
  readonly eventsPerSecond: number;
  readonly statementsPerSecond: number;
  /** Out of all masters. */
  readonly messagesPerSecond: number;
  readonly redisCores: number;
  /** An event to a channel that all servers hear. */
  readonly widestEventUs: number;
  readonly ticksPerSecond: number;
  /** Channels that one node states. */
  readonly channelsOfNode: number;
  readonly masterBytes: number;
  readonly masterBytesPerSecond: number;
  readonly serverBytes: number;
  /** Until all that one master held is stated again. */
  readonly restatingSeconds: number;
}

export function costsOf({ connections, servers, nodesEach, masters }: Fleet): FleetCosts {
  const nodes = servers * nodesEach;
  const presence = connections / LOAD.presenceMembers;
  const open = connections / LOAD.publicSubscribers;
  const presenceHolders = holdersOf(LOAD.presenceMembers, nodes);
  const publicHolders = holdersOf(LOAD.publicSubscribers, nodes);
  const presenceServers = holdersOf(LOAD.presenceMembers, servers);
  const eventsPerSecond = presence / LOAD.eventSeconds;
  // Each connection enters two channels and leaves them.
  const statementsPerSecond = (4 * connections) / LOAD.staySeconds;
  const memberChangesPerSecond = statementsPerSecond / 2;
  const messagesPerSecond = (eventsPerSecond + memberChangesPerSecond) * presenceServers;
  const ticks = ticksPerSecond(nodes);
  const heldChannels = presence * presenceHolders + open * publicHolders;
  const redisUsPerSecond =
    eventsPerSecond * (REDIS_US.event + REDIS_US.holder * presenceServers) +
    statementsPerSecond * REDIS_US.statement +
    ticks * REDIS_US.tick;
  const redisMib =
    ((presence + open) * REDIS_MIB.channelsPer100k +
      (heldChannels - presence - open) * REDIS_MIB.holdersPer100k +
      connections * REDIS_MIB.membersPer100k) /
    100_000;
  return {
    nodes,
    presenceHolders,
    publicHolders,
    presenceServers,
    eventsPerSecond,
    statementsPerSecond,
    messagesPerSecond,
    redisCores: redisUsPerSecond / 1e6,
    widestEventUs: REDIS_US.event + REDIS_US.holder * servers,
    ticksPerSecond: ticks,
    channelsOfNode: heldChannels / nodes,
    masterBytes: (redisMib * 2 ** 20) / masters,
    masterBytesPerSecond: (messagesPerSecond * MESSAGE_BYTES) / masters,
    serverBytes: SERVER_BYTES.process + (SERVER_BYTES.connection * connections) / servers,
    restatingSeconds: (heldChannels / masters) * (REDIS_US.restatement / 1e6),
  };
}
