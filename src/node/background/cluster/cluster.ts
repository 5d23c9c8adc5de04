import type {
  AskedServer,
  ConnectionDetails,
  ConnectionFilter,
  OfAllServers,
  OfServer,
} from '../../../admin/channels/inspecting.ts';
import type { LogPage, LogQuery, ShownLine } from '../../../admin/log/server-log.ts';
import type {
  Checked,
  Condition,
  GatewaysOfCluster,
  GatewaysOfServer,
  KeptFigures,
  NodeReport,
  ShownNode,
} from '../../../admin/monitoring/monitoring.ts';
import type { ProblemGroup } from '../../../channels/problem-book.ts';
import type { Clock } from '../../../runtime/ports.ts';
import { type ConnectionList, listConnections } from './connection-list.ts';
import {
  type EndpointOfCluster,
  mergeConditions,
  mergeEndpoints,
  mergeFigures,
  mergeGateways,
  mergeLines,
  mergeProblems,
  type ProblemOfCluster,
} from './merge.ts';
import type { Answers, OtherServers } from './other-servers.ts';
import type { ClusterQuestion, ConnectionsOfServer, EndpointOfServer } from './questions.ts';

/** What this server knows of itself alone. */
export interface LocalServer {
  report(): Promise<NodeReport>;
  conditions(): Promise<Checked>;
  figures(sinceMs: number): Promise<KeptFigures>;
  /** How addresses of webhooks have answered; `undefined`: of all owners. */
  endpoints(ownerId: string | undefined): readonly EndpointOfServer[];
  gateways(instanceId: string): GatewaysOfServer;
  log(query: LogQuery): LogPage;
  problems(appId: string): Promise<readonly ProblemGroup[]>;
  /** `unknown`: the list that should be continued is not known any more. */
  connections(filter: ConnectionFilter): Promise<ConnectionsOfServer | 'unknown'>;
  connection(appId: string, socketId: string): Promise<ConnectionDetails | undefined>;
  /** Ends a connection; `false` if there is none. */
  end(appId: string, socketId: string): Promise<boolean>;
}

export interface ClusterOptions {
  /** The name of this server. */
  readonly node: string;
  readonly local: LocalServer;
  /** `undefined`: there are none. */
  readonly others: Pick<OtherServers, 'ask' | 'askOne' | 'list'> | undefined;
  /** Whether the servers share one store. */
  readonly sharesStore: boolean;
  readonly clock: Clock;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long the figures of other servers are kept. Milliseconds. */
const KEPT_MS = 1_000;

/** One answer for all servers that act as one. */
export class Cluster {
  private readonly options: ClusterOptions;
  /** What others have answered, by the hour from which on they were asked. */
  private readonly keptFigures = new Map<
    number,
    { readonly atMs: number; readonly answers: Promise<Answers<KeptFigures>> }
  >();

  constructor(options: ClusterOptions) {
    this.options = options;
  }

  /** Every server, this one first. */
  async nodes(): Promise<readonly ShownNode[]> {
    const { node, local, others, clock } = this.options;
    const [report, asked] = await Promise.all([local.report(), others?.ask({ what: 'report' })]);
    const reports = new Map(asked?.answers.map((one) => [one.node, one.answer]));
    const nowMs = clock.now();
    return [
      { name: node, isAsked: true, heardAtMs: nowMs, silentSinceMs: undefined, report },
      ...(others?.list() ?? []).map(({ name, heardAtMs, silentSinceMs }) => ({
        name,
        isAsked: false,
        heardAtMs,
        silentSinceMs: reports.has(name) ? undefined : (silentSinceMs ?? nowMs),
        report: reports.get(name),
      })),
    ];
  }

  async conditions() {
    const { node, local, others } = this.options;
    const [own, asked] = await Promise.all([
      local.conditions(),
      others?.ask({ what: 'conditions' }),
    ]);
    const silent = this.silent(asked?.away ?? []);
    const answers = asked?.answers.map((one) => ({ ...one, answer: one.answer.conditions })) ?? [];
    return {
      ...own,
      checked: own.checked + (others === undefined ? 0 : 1),
      conditions: mergeConditions([{ node, answer: [...own.conditions, ...silent] }, ...answers]),
      servers: this.servers(asked),
    };
  }

  async figures(sinceMs: number): Promise<KeptFigures & OfAllServers> {
    const { local } = this.options;
    const [own, asked] = await Promise.all([local.figures(sinceMs), this.figuresOfOthers(sinceMs)]);
    const figures = asked?.answers.map(({ answer }) => answer) ?? [];
    return {
      ...mergeFigures(own, figures, { ...this.options, sinceMs }),
      servers: this.servers(asked),
    };
  }

  /** The newest lines of all logs. */
  async log(query: LogQuery): Promise<OfAllServers & LogPage<ShownLine & OfServer>> {
    const { node, local, others } = this.options;
    const own = local.log(query);
    const asked = await others?.ask({ what: 'log', ...query });
    const merged = mergeLines([{ node, answer: own }, ...(asked?.answers ?? [])], query.limit);
    return { servers: this.servers(asked), ...merged };
  }

  /** What is known of the gateways of an instance. */
  async gateways(instanceId: string): Promise<OfAllServers & GatewaysOfCluster> {
    const { node, local, others } = this.options;
    const own = local.gateways(instanceId);
    const asked = await others?.ask({ what: 'gateways', instanceId });
    const merged = mergeGateways([{ node, answer: own }, ...(asked?.answers ?? [])]);
    return { servers: this.servers(asked), ...merged };
  }

  async problems(
    appId: string,
  ): Promise<OfAllServers & { readonly problems: readonly ProblemOfCluster[] }> {
    const { node, local, others } = this.options;
    const [own, asked] = await Promise.all([
      local.problems(appId),
      others?.ask({ what: 'problems', appId }),
    ]);
    const problems = mergeProblems([{ node, answer: own }, ...(asked?.answers ?? [])]);
    return { servers: this.servers(asked), problems };
  }

  /** How addresses of webhooks have answered; `undefined`: of all owners. */
  async endpoints(
    ownerId: string | undefined,
  ): Promise<OfAllServers & { readonly endpoints: readonly EndpointOfCluster[] }> {
    const { node, local, others } = this.options;
    const own = local.endpoints(ownerId);
    const asked = await others?.ask({ what: 'endpoints', ownerId });
    const all = [{ node, answer: own }, ...(asked?.answers ?? [])];
    return { servers: this.servers(asked), endpoints: mergeEndpoints(all, this.options) };
  }

  async connections(filter: ConnectionFilter): Promise<ConnectionList> {
    const { node, local, others, clock } = this.options;
    const { answers, away } = (await others?.ask({ what: 'here' })) ?? { answers: [], away: [] };
    return await listConnections(
      {
        servers: [node, ...answers.map((one) => one.node)],
        away,
        now: () => clock.now(),
        ask: async (server, query) =>
          server === node
            ? await local.connections(query)
            : await others?.askOne(server, { what: 'connections', ...query }),
      },
      filter,
    );
  }

  /** Finds a connection, wherever it is. `server`: the one that has it, if that is known. */
  async connection(appId: string, socketId: string, server?: string) {
    const { node, local, others } = this.options;
    if (server !== undefined && server !== node) {
      const answer = await others?.askOne(server, { what: 'connection', appId, socketId });
      const found = answer === undefined || answer === 'none' ? undefined : answer;
      return { servers: [], found: found && { ...found, server } };
    }
    const own = await local.connection(appId, socketId);
    if (own !== undefined) return { servers: [], found: { ...own, server: node } };
    const asked = await others?.ask({ what: 'connection', appId, socketId });
    for (const { node: name, answer } of asked?.answers ?? []) {
      if (answer !== 'none') return { servers: [], found: { ...answer, server: name } };
    }
    return { servers: this.servers(asked), found: undefined };
  }

  /** Ends a connection, wherever it is. */
  async end(appId: string, socketId: string) {
    const { local, others } = this.options;
    if (await local.end(appId, socketId)) return { servers: [], isFound: true };
    const asked = await others?.ask({ what: 'end', appId, socketId });
    const isFound = asked?.answers.some(({ answer }) => answer) === true;
    return { servers: this.servers(asked), isFound };
  }

  /**
   * Asks others for the figures since the last full hour before a time. Those of a day are large, so the answers to the same
   * question are kept for a second: however many watch, a server is asked 25 times in a second at most.
   */
  private async figuresOfOthers(sinceMs: number) {
    const { others, clock } = this.options;
    if (others === undefined) return undefined;
    const nowMs = clock.now();
    const firstMs = Math.max(sinceMs, nowMs - DAY_MS);
    const hour = Math.min(Math.floor(firstMs / HOUR_MS), Math.floor(nowMs / HOUR_MS));
    const kept = this.keptFigures.get(hour);
    if (kept !== undefined && Math.abs(nowMs - kept.atMs) < KEPT_MS) return await kept.answers;
    const answers = others.ask({ what: 'figures', sinceMs: hour * HOUR_MS });
    for (const [old, { atMs }] of this.keptFigures) {
      if (Math.abs(nowMs - atMs) >= KEPT_MS) this.keptFigures.delete(old);
    }
    this.keptFigures.set(hour, { atMs: nowMs, answers });
    return await answers;
  }

  /** The conditions that other servers do not answer. */
  private silent(away: readonly string[]): readonly Condition[] {
    const { others, clock } = this.options;
    const known = (others?.list() ?? []).filter(({ name }) => away.includes(name));
    return known.map(({ name, silentSinceMs = clock.now() }) => ({
      id: 'server-away',
      level: 'bad',
      text: `The server ${name} does not answer.`,
      advice:
        'Look at its process, its log and its network. If it is gone, its clients connect to other servers, and it is forgotten after 10 minutes.',
      sinceMs: silentSinceMs,
    }));
  }

  private servers(asked: { readonly away: readonly string[] } | undefined): readonly AskedServer[] {
    const { node, others } = this.options;
    const away = new Set(asked?.away);
    return [
      { name: node, away: false },
      ...(others?.list() ?? []).map(({ name }) => ({ name, away: away.has(name) })),
    ];
  }
}

/** Answers a question of another server. */
export async function answerFor(local: LocalServer, question: ClusterQuestion): Promise<unknown> {
  switch (question.what) {
    case 'here':
      return true;
    case 'report':
      return await local.report();
    case 'conditions':
      return await local.conditions();
    case 'figures':
      return await local.figures(question.sinceMs);
    case 'log': {
      const { what: _, ...query } = question;
      return local.log(query);
    }
    case 'gateways':
      return local.gateways(question.instanceId);
    case 'problems':
      return await local.problems(question.appId);
    case 'endpoints':
      return local.endpoints(question.ownerId);
    case 'connections': {
      const { what: _, ...filter } = question;
      return await local.connections(filter);
    }
    case 'connection':
      return (await local.connection(question.appId, question.socketId)) ?? 'none';
    case 'end':
      return await local.end(question.appId, question.socketId);
    default:
      // A question of a later version has no answer here.
      question satisfies never;
      return undefined;
  }
}
