import type { ChannelText } from '../../channels/channel-name.ts';
import type { Cause } from '../../channels/event.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import type { HistoryPage, HistoryQuery } from '../../channels/history/page.ts';
import type { HistoryRequest } from '../../channels/history/resume.ts';
import type { Ask } from '../../channels/live/ask.ts';
import type { CachedEvent, ChannelCounts, ChannelPage, Entered } from '../../channels/ports.ts';
import type { SocketId } from '../../channels/socket-id.ts';

/*
 * What loops of one process say to each other about topics. Arrays and no objects, because they are cheaper to copy.
 *
 * A loop asks the home of a topic. A home answers each loop in the order of its questions, and puts each answer between the
 * broadcasts in the place where it belongs.
 */

/** What the home of a topic is asked. The first element names it, the second is the app. */
export type Question =
  | readonly [
      'join',
      appId: string,
      channel: ChannelText,
      held: number,
      socketId: SocketId,
      userId: string | undefined,
      userInfo: string | undefined,
      history?: HistoryRequest,
    ]
  | readonly [
      'leave',
      appId: string,
      channel: ChannelText,
      held: number,
      userId: string | undefined,
    ]
  | readonly [
      'publish',
      appId: string,
      channel: ChannelText,
      frame: string,
      except: SocketId | undefined,
      cause: Cause | undefined,
      rememberName: string | undefined,
      rememberData: string | undefined,
      trace?: string | undefined,
      ask?: Ask | undefined,
      idempotencyKey?: string | undefined,
    ]
  | readonly ['sign-in' | 'sign-out' | 'terminate', appId: string, userId: string]
  | readonly ['watch' | 'unwatch', appId: string, userIds: readonly string[]]
  | readonly [
      'members' | 'counts' | 'cached' | 'forget-history',
      appId: string,
      channel: ChannelText,
    ]
  | readonly ['history', appId: string, channel: ChannelText, query: HistoryQuery]
  | readonly ['channel-count', appId: string]
  | readonly [
      'page',
      appId: string,
      walk: number,
      prefix: string,
      after: string | undefined,
      limit: number,
    ];

/** The ids of events that were published, by their position among the questions that are done. */
export type DoneIds = readonly (readonly [position: number, id: EventId])[];

/** The answer of a home; `undefined` if the message asked nothing. */
/** What became of an event that asks its subscribers: its id in the history, and the loops that it was sent to. */
export type PublishedAsk = readonly [id: EventId | undefined, loops: number];

export type Answer =
  | Entered
  | false
  | readonly string[]
  | Entered['members']
  | ChannelCounts
  | CachedEvent
  | number
  | EventId
  | PublishedAsk
  | HistoryPage
  | ChannelPage
  | undefined;

export type EngineMessage =
  | Question
  /** `done` questions before it needed no answer; this is the answer to the next. */
  | readonly ['answer', done: number, answer: Answer, ids?: DoneIds]
  /** The same, but the next could not be answered. */
  | readonly ['failed', done: number, why: string, ids?: DoneIds]
  /** The next `done` questions needed no answer. */
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
  /** Every connection of the user must be ended. */
  | readonly ['end', appId: string, userId: string];
