import type { AppendOutcome, Piece } from '../../channels/appending/append.ts';
import type { ChannelText } from '../../channels/channel-name.ts';
import type { Cause } from '../../channels/event.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import type { HistoryPage, HistoryQuery } from '../../channels/history/page.ts';
import type { HistoryRequest } from '../../channels/history/resume.ts';
import type { Ask } from '../../channels/live/ask.ts';
import type {
  CachedEvent,
  ChannelCounts,
  ChannelPage,
  Entered,
  Member,
  MembersPage,
  MembersQuery,
  UserStatus,
} from '../../channels/ports.ts';
import type { SocketId } from '../../channels/socket-id.ts';

/*
 * Messages between the loops of one process about topics. They are arrays rather than objects, because arrays are
 * cheaper to copy.
 *
 * A loop asks the home of a topic. A home answers each loop in the order of its questions, and sends each answer at
 * its position among the broadcasts.
 */

/** The questions to the home of a topic by kind: what they ask with, behind the kind and the app, and their answer. */
interface HomeQuestions {
  join: {
    asks: [
      channel: ChannelText,
      held: number,
      socketId: SocketId,
      userId: string | undefined,
      userInfo: string | undefined,
      history?: HistoryRequest,
    ];
    answer: Entered | false;
  };
  leave: {
    asks: [
      channel: ChannelText,
      held: number,
      userId: string | undefined,
      graceSeconds?: number | undefined,
    ];
    answer: undefined;
  };
  publish: {
    asks: [
      ...Published,
      trace?: string | undefined,
      idempotencyKey?: string | undefined,
      stops?: string | undefined,
    ];
    answer: EventId | undefined;
  };
  /** Publishes an event with an ask. */
  'publish-ask': {
    asks: [...Published, trace: string | undefined, ask: Ask];
    /** The id of the event in the history, and the number of loops that it was sent to. */
    answer: readonly [id: EventId | undefined, loops: number];
  };
  append: {
    asks: [
      channel: ChannelText,
      name: string,
      piece: Piece,
      bytesMax: number,
      trace: string | undefined,
    ];
    answer: AppendOutcome;
  };
  'stop-value': { asks: [channel: ChannelText, id: string]; answer: AppendOutcome };
  'sign-in': { asks: [userId: string, held: number]; answer: undefined };
  /** The same for an app that limits the connections of a user. Answers whether there is a place. */
  'take-place': { asks: [userId: string, held: number]; answer: boolean };
  'sign-out': { asks: [userId: string, held: number]; answer: undefined };
  terminate: { asks: [userId: string]; answer: undefined };
  /** Answers with the users that are online. */
  watch: { asks: [userIds: readonly string[]]; answer: readonly string[] };
  unwatch: { asks: [userIds: readonly string[]]; answer: undefined };
  'user-statuses': { asks: [userIds: readonly string[]]; answer: readonly UserStatus[] };
  members: { asks: [channel: ChannelText]; answer: readonly Member[] };
  'members-page': { asks: [channel: ChannelText, query: MembersQuery]; answer: MembersPage };
  member: { asks: [channel: ChannelText, userId: string]; answer: Member | undefined };
  counts: { asks: [channel: ChannelText]; answer: ChannelCounts };
  cached: { asks: [channel: ChannelText]; answer: CachedEvent | undefined };
  history: { asks: [channel: ChannelText, query: HistoryQuery]; answer: HistoryPage };
  'forget-history': { asks: [channel: ChannelText]; answer: undefined };
  'channel-count': { asks: []; answer: number };
  page: {
    asks: [walk: number, prefix: string, after: string | undefined, limit: number];
    answer: ChannelPage;
  };
}

type Published = [
  channel: ChannelText,
  frame: string,
  except: SocketId | undefined,
  cause: Cause | undefined,
  rememberName: string | undefined,
  rememberData: string | undefined,
];

/** An event for a home that nothing can be wrong with: it is published, and has no id. */
export type PostedEvent = readonly [
  kind: 'post',
  appId: string,
  ...published: Published,
  trace?: string | undefined,
];

export type QuestionKind = keyof HomeQuestions;

/** A question of one kind. */
export type QuestionOf<Kind extends QuestionKind> = readonly [
  kind: Kind,
  appId: string,
  ...asks: HomeQuestions[Kind]['asks'],
];

/** The answer to a question of one kind. */
export type HomeAnswerTo<Kind extends QuestionKind> = HomeQuestions[Kind]['answer'];

export type Question = { [Kind in QuestionKind]: QuestionOf<Kind> }[QuestionKind];

/** The ids of published events, by their position among the acknowledged questions. */
export type DoneIds = readonly (readonly [position: number, id: EventId])[];

export type EngineMessage =
  | Question
  /** Publishes an event that needs no answer. */
  | PostedEvent
  /** Acknowledges `done` questions that needed no answer, and answers the next one. */
  | readonly ['answer', done: number, answer: HomeAnswerTo<QuestionKind>, ids?: DoneIds]
  /** Acknowledges `done` questions that needed no answer, and says why the next one failed. */
  | readonly ['failed', done: number, why: string, ids?: DoneIds]
  /** Acknowledges the next `done` questions, which needed no answer. */
  | readonly ['done', done: number, ids?: DoneIds]
  | readonly [
      'broadcast',
      appId: string,
      channel: ChannelText,
      frame: string,
      except: SocketId | undefined,
      cause: Cause | undefined,
      trace?: string | undefined,
      ask?: Ask,
    ]
  /** A user came online or went offline. */
  | readonly ['user', appId: string, userId: string, isOnline: boolean, frame: string]
  /** All connections of the user must be closed. */
  | readonly ['end', appId: string, userId: string];

/** The kinds of messages that come from a home. */
const fromHome = new Set(['broadcast', 'user', 'end', 'done', 'answer', 'failed']);

/** Whether a message is for a home. What homes send has no order with what they are sent: it is about other topics. */
export function isForHome(message: EngineMessage): boolean {
  return !fromHome.has(message[0]);
}
