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
import type { ProblemGroup } from '../../../channels/problems/problem-book.ts';
import { mergeUses, type UsedKey } from '../../../runtime/keys/key-uses.ts';
import type { Clock } from '../../../runtime/ports.ts';
import { type ConnectionList, listConnections } from './connection-list.ts';
import type { Installation } from './installation.ts';
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
import type {
  ClusterQuestion,
  ConnectionsOfServer,
  EndpointOfServer,
  KeyUsesOfServer,
  Tenant,
} from './questions.ts';
import type { Stranger } from './strangers.ts';

/** What this server knows about itself. */
export interface LocalServer {
  report(): Promise<NodeReport>;
  conditions(): Promise<Checked>;
  figures(sinceMs: number): Promise<KeptFigures>;
  /** How webhook addresses have answered this server. `undefined`: of all tenants. */
  endpoints(ownerId: string | undefined): readonly EndpointOfServer[];
  gateways(instanceId: string): GatewaysOfServer;
  log(query: LogQuery): LogPage;
  problems(appId: string): Promise<readonly ProblemGroup[]>;
  keyUses(tenant: Tenant): Promise<KeyUsesOfServer>;
  /** `unknown`: the list that the position belongs to no longer exists. */
  connections(filter: ConnectionFilter): Promise<ConnectionsOfServer | 'unknown'>;
  connection(appId: string, socketId: string): Promise<ConnectionDetails | undefined>;
  /** Notes what another server belongs to, and returns what this one does. */
  meet(node: string, said: unknown): Promise<Installation | undefined>;
  /** Servers of other installations. */
  strangers(): readonly Stranger[];
  /** Ends a connection; `false` if there is none. */
  end(appId: string, socketId: string): Promise<boolean>;
}

export interface ClusterOptions {
  /** The name of this server. */
  readonly node: string;
  readonly local: LocalServer;
  /** `undefined`: there are none. */
  readonly others: Pick<OtherServers, 'ask' | 'askOne' | 'list'> | undefined;
  /** Whether all servers use one store. */
  readonly sharesStore: boolean;
  readonly clock: Clock;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long answers of other servers are cached. Milliseconds. */
const KEPT_MS = 1_000;

/** Answers questions for the whole cluster. */
export class Cluster {
  private readonly options: ClusterOptions;
  /** Cached answers of other servers, by the hour that they start at. */
  private readonly keptFigures = new Map<
    number,
    { readonly atMs: number; readonly answers: Promise<Answers<KeptFigures>> }
  >();

  constructor(options: ClusterOptions) {
    this.options = options;
  }

  /** All servers, this one first. */
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
      checked: own.checked + (others === undefined ? 0 : 2),
      conditions: mergeConditions([
        { node, answer: [...own.conditions, ...silent, ...this.foreign()] },
        ...answers,
      ]),
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

  /** The newest lines of all servers' logs. */
  async log(query: LogQuery): Promise<OfAllServers & LogPage<ShownLine & OfServer>> {
    const { node, local, others } = this.options;
    const own = local.log(query);
    const asked = await others?.ask({ what: 'log', ...query });
    const merged = mergeLines([{ node, answer: own }, ...(asked?.answers ?? [])], query.limit);
    return { servers: this.servers(asked), ...merged };
  }

  /** The state of the gateways of an instance. */
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

  /** When the keys of a tenant were last used on any server. It is known since the latest start of one of them. */
  async keyUses(
    tenant: Tenant,
  ): Promise<OfAllServers & { readonly sinceMs: number; readonly keys: readonly UsedKey[] }> {
    const { local, others } = this.options;
    const [own, asked] = await Promise.all([
      local.keyUses(tenant),
      others?.ask({ what: 'key-uses', tenant }),
    ]);
    const all = [own, ...(asked?.answers.map(({ answer }) => answer) ?? [])];
    return {
      servers: this.servers(asked),
      sinceMs: Math.max(...all.map(({ sinceMs }) => sinceMs)),
      keys: mergeUses(all.map(({ keys }) => keys)),
    };
  }

  /** How webhook addresses have answered. `undefined`: of all tenants. */
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

  /** Finds a connection on any server. `server` is given if it is already known where the connection is. */
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

  /** Closes a connection on any server. */
  async end(appId: string, socketId: string) {
    const { local, others } = this.options;
    if (await local.end(appId, socketId)) return { servers: [], isFound: true };
    const asked = await others?.ask({ what: 'end', appId, socketId });
    const isFound = asked?.answers.some(({ answer }) => answer) === true;
    return { servers: this.servers(asked), isFound };
  }

  /**
   * Asks the other servers for figures since the last full hour before a time. A day of figures is large, so equal
   * questions share one answer for a second: however many people watch, a server is asked at most 25 times a second.
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

  /** The conditions that report servers without an answer. */
  private silent(away: readonly string[]): readonly Condition[] {
    const { others, clock } = this.options;
    const known = (others?.list() ?? []).filter(({ name }) => away.includes(name));
    return known.map(({ name, silentSinceMs = clock.now() }) => ({
      id: 'server-away',
      level: 'bad',
      text: `The server ${name} does not answer.`,
      advice:
        'Check its process, log and network. If it has failed, its clients connect to other servers, and it is forgotten after 10 minutes.',
      sinceMs: silentSinceMs,
    }));
  }

  /** The conditions that report servers of other installations. */
  private foreign(): readonly Condition[] {
    const { local, others } = this.options;
    const running = new Set(others?.list().map(({ name }) => name));
    return local
      .strangers()
      .filter(({ node }) => running.has(node))
      .map(({ node, why, sinceMs }) => ({
        id: 'other-installation',
        level: 'bad',
        text: `The server ${node} is of another installation, but uses the same Redis under the same names: ${why}.`,
        advice:
          'Events and members of apps with the same id reach each other. Give one installation an `engine.keyPrefix` or a database of Redis of its own. `fanfare doctor --redis` names its servers.',
        sinceMs,
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

/** Answers a question from another server. */
export async function answerFor(
  local: LocalServer,
  question: ClusterQuestion,
  node: string,
): Promise<unknown> {
  switch (question.what) {
    case 'here':
      return { installation: await local.meet(node, question.installation) };
    case 'alive':
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
    case 'key-uses':
      return await local.keyUses(question.tenant);
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
      // A newer version may ask questions that this one cannot answer.
      question satisfies never;
      return undefined;
  }
}
