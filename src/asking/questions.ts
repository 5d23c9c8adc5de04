import type { HistoryPage, HistoryQuery } from '../channels/history/page.ts';
import type { LiveAnswer, LiveEvent } from '../channels/live/ask.ts';
import type { MaybePromise } from '../channels/maybe-promise.ts';
import type { UserStatus } from '../channels/ports.ts';
import type { ProblemGroup } from '../channels/problems/problem-book.ts';
import type { SourceAnswer, SourceEvent } from '../channels/sources/source-event.ts';
import type { MetricValues } from '../observability/meter.ts';
import { LIVE_GRACE_MS } from '../push/model/live.ts';
import type { UsedKey } from '../runtime/keys/key-uses.ts';
import type {
  ConnectionDetails,
  ConnectionFilter,
  ConnectionsOfLoop,
  ConnectionsOfServer,
} from './facts/connections.ts';
import type { GatewaysOfServer } from './facts/gateways.ts';
import type {
  ChannelActivityPage,
  ChannelActivityQuery,
  ChannelState,
  LiveFigures,
  SendAnswer,
} from './facts/live.ts';
import type { LogPage, LogQuery } from './facts/log.ts';
import type { Checked, Installation, KeptFigures, NodeReport } from './facts/servers.ts';
import type { SourceOfServer } from './facts/sources.ts';
import type { EndpointOfServer, KeyUsesOfServer, Tenant } from './facts/tenants.ts';
import {
  addProblems,
  findConnection,
  mergeConditions,
  mergeEndpoints,
  mergeFigures,
  mergeGateways,
  mergeKeyUses,
  mergeLines,
  mergeProblems,
  mergeReports,
} from './merge.ts';
import { mergeSources } from './merge-sources.ts';
import { type AnswerOf, type AnyClusterRow, type AnyLoopRow, asks } from './question.ts';

type Nothing = Record<never, never>;

/** What is about one app. */
interface OfApp {
  readonly appId: string;
}

/** How full a share of the memory is. `mostBytes` is `null` if nothing bounds it. */
interface MemoryUse {
  readonly share: string;
  readonly usedBytes: number;
  readonly mostBytes: number | null;
}

interface OfChannel extends OfApp {
  readonly channel: string;
}

interface OfConnection extends OfApp {
  readonly socketId: string;
}

/** Leaves the answers of all servers as they are. */
const each = <Answer>(answers: readonly AnswerOf<Answer>[]) => answers;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * The questions to the realtime loops and to the servers of a cluster. Questions and answers of `ofLoops` and `ofServers` are
 * sent between servers as JSON: their names and shapes stay, so that a server of the previous release understands them.
 * One that does not know a question has no answer, and counts as away.
 */
export const questions = {
  /** A barrier: the answer comes when all earlier messages have been handled. */
  ping: asks<Nothing, 'pong'>().ofLoop(),
  metrics: asks<Nothing, MetricValues>().ofLoop(),
  /** Before the answer, the loop sends its latest figures to Redis. */
  'share-figures': asks<Nothing, 'shared'>().ofLoop(),
  /** The figures of all loops add up to those of all servers. */
  'live-figures': asks<Nothing, LiveFigures>().ofLoop(),
  /** The open connections per app. The counts of all loops add up to those of all servers. */
  'open-connections': asks<Nothing, readonly (readonly [appId: string, open: number])[]>().ofLoop(),
  'live-channels': asks<ChannelActivityQuery, ChannelActivityPage>().ofLoop(),
  /** Triggers an event; `json` is the body of `POST /events`. */
  send: asks<OfApp & { readonly json: string }, SendAnswer>().ofLoop(),
  /** Triggers events that an application has committed, in the order of each channel. Begins none after `budgetMs`. */
  'send-source-events': asks<
    OfApp & { readonly events: readonly SourceEvent[]; readonly budgetMs: number },
    readonly SourceAnswer[]
  >().ofLoop(),
  /** Sends an event to users, and asks their connections whether they have it. */
  'ask-live': asks<OfApp & { readonly event: LiveEvent }, LiveAnswer>().ofLoop({
    loopMs: ({ event }) => event.waitMs + LIVE_GRACE_MS,
  }),
  'inspect-channel': asks<OfChannel, ChannelState>().ofLoop(),
  /** `unknown`: the engine cannot answer now. */
  'user-status': asks<OfApp & { readonly user: string }, UserStatus | 'unknown'>().ofLoop(),
  'read-history': asks<OfChannel & { readonly query: HistoryQuery }, HistoryPage>().ofLoop(),
  'forget-history': asks<OfChannel, 'forgotten'>().ofLoop(),
  /** When the keys of an app were last used on this loop. */
  'app-key-uses': asks<OfApp, readonly UsedKey[]>().ofLoop(),
  /** `unknown`: that walk no longer exists. */
  'find-connections': asks<
    Omit<ConnectionFilter, 'after'> & { readonly after: number | undefined },
    ConnectionsOfLoop | 'unknown'
  >().ofLoop(),
  /**
   * Sends a notice to a loop of another server, or to one loop of each server (`to` is `undefined`). Answers with the
   * number of receivers; `undefined` if it is unknown at the moment.
   */
  'notify-servers': asks<
    { readonly to: string | undefined; readonly text: string },
    number | undefined
  >().ofLoop(),

  /** What clients and backends of an app did wrong since the start of each server. */
  problems: asks<OfApp, readonly ProblemGroup[]>().ofLoops({
    add: addProblems,
    merge: mergeProblems,
  }),
  /** What realtime loops use of the memory that they share. All of them list the same shares. */
  memory: asks<Nothing, readonly MemoryUse[]>().ofLoops({
    add: ([first = [], ...others]) =>
      first.map((one, place) => ({
        ...one,
        usedBytes: others.reduce((sum, uses) => sum + (uses[place]?.usedBytes ?? 0), one.usedBytes),
      })),
    merge: each,
  }),
  /** `none`: no such connection. */
  connection: asks<OfConnection, ConnectionDetails | 'none'>().ofLoops({
    add: (answers) => answers.find((one) => one !== 'none') ?? 'none',
    merge: findConnection,
    enough: (answer) => answer !== 'none',
    whole: true,
  }),
  /** Ends a connection. Whether it existed. */
  end: asks<OfConnection, boolean>().ofLoops({
    add: (answers) => answers.includes(true),
    merge: (all) => all.some(({ answer }) => answer),
    enough: (answer) => answer,
    whole: true,
  }),

  /** What each server belongs to. Older releases say nothing of their installation, and answer `true`. */
  here: asks<
    { readonly installation?: Installation | undefined },
    true | { readonly installation?: Installation | undefined }
  >().ofServers({ merge: each }),
  /** Whether it answers. Older releases answer `null`, which is enough. */
  alive: asks<Nothing, true>().ofServers({ merge: each }),
  report: asks<Nothing, NodeReport>().ofServers({ merge: mergeReports }),
  conditions: asks<Nothing, Checked>().ofServers({ merge: mergeConditions }),
  figures: asks<{ readonly sinceMs: number }, KeptFigures>().ofServers({
    merge: mergeFigures,
    // A day of figures is large. However many people watch, a server is asked at most 25 times a second.
    shared: {
      query({ sinceMs }, nowMs) {
        const hour = Math.floor(Math.max(sinceMs, nowMs - DAY_MS) / HOUR_MS);
        return { sinceMs: Math.min(hour, Math.floor(nowMs / HOUR_MS)) * HOUR_MS };
      },
      keptMs: 1_000,
    },
  }),
  log: asks<LogQuery, LogPage>().ofServers({ merge: mergeLines }),
  /** When the keys of a tenant were last used. It is known since the latest start of one of the servers. */
  'key-uses': asks<{ readonly tenant: Tenant }, KeyUsesOfServer>().ofServers({
    merge: mergeKeyUses,
  }),
  /** The state of the gateways of an instance. */
  gateways: asks<{ readonly instanceId: string }, GatewaysOfServer>().ofServers({
    merge: mergeGateways,
  }),
  /** How the webhook addresses that were tried most recently have answered. `undefined`: of all owners. */
  endpoints: asks<
    { readonly ownerId: string | undefined },
    readonly EndpointOfServer[]
  >().ofServers({ merge: mergeEndpoints }),
  /** The databases of applications, and who follows them. */
  sources: asks<Nothing, readonly SourceOfServer[]>().ofServers({ merge: mergeSources }),
  /** A page of connections. `unknown`: the list no longer exists. */
  connections: asks<ConnectionFilter, ConnectionsOfServer | 'unknown'>().ofServers({ merge: each }),
};

type Questions = typeof questions;

export function loopRow(what: LoopQuestion): AnyLoopRow {
  return questions[what];
}

export function clusterRow(what: ClusterQuestion): AnyClusterRow {
  return questions[what];
}

/** Whether servers ask each other this. Loops are asked more, which is for their own server alone. */
export function isOfCluster(what: string): what is ClusterQuestion {
  return Object.hasOwn(questions, what) && questions[what as What].askedOf !== 'loop';
}

export type What = keyof Questions;

/** Questions by whom they are asked of. */
type AskedOf<Who extends 'loop' | 'loops' | 'servers'> = {
  [One in What]: Questions[One]['askedOf'] extends Who ? One : never;
}[What];
/** What a loop answers. */
export type LoopQuestion = AskedOf<'loop' | 'loops'>;
/** What all servers answer together. */
export type ClusterQuestion = AskedOf<'loops' | 'servers'>;

type TermsOf<One extends What> = NonNullable<Questions[One]['terms']>;
export type QueryOf<One extends What> = TermsOf<One>['query'];
/** The answer of one loop or server. */
export type AnswerTo<One extends What> = TermsOf<One>['answer'];
/** The answer of all servers. */
export type Merged<One extends ClusterQuestion> = TermsOf<One>['merged'];

/** A question as it is sent to a loop. */
export type LoopAsk = {
  [One in LoopQuestion]: { readonly what: One } & QueryOf<One>;
}[LoopQuestion];

/** What one loop answers, by the name of the question. */
export type LoopAnswers = {
  readonly [One in LoopQuestion]: (query: QueryOf<One>) => MaybePromise<AnswerTo<One>>;
};

export function answerQuestion(
  answers: LoopAnswers,
  { what, ...query }: LoopAsk,
): MaybePromise<unknown> {
  // The compiler cannot see that a query belongs to the question that it comes with.
  return answers[what](query as never);
}

/**
 * What one server answers, by the name of the question. `from` is the name of the server that asks; `undefined`: this one,
 * for an operator.
 */
export type ServerAnswers = {
  readonly [One in AskedOf<'servers'>]: (
    query: QueryOf<One>,
    from: string | undefined,
  ) => MaybePromise<AnswerTo<One>>;
};
