import type { ChannelText } from '../../channels/channel-name.ts';
import type { Cause } from '../../channels/event.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import type { HistoryPage, HistoryQuery } from '../../channels/history/page.ts';
import type { HistoryRequest } from '../../channels/history/resume.ts';
import type { Ask } from '../../channels/live/ask.ts';
import type { CachedEvent, ChannelCounts, ChannelPage, Entered } from '../../channels/ports.ts';
import type { SocketId } from '../../channels/socket-id.ts';

/*
 * Messages between the loops of one process about topics. They are arrays rather than objects, because arrays are
 * cheaper to copy.
 *
 * A loop asks the home of a topic. A home answers each loop in the order of its questions, and sends each answer at
 * its position among the broadcasts.
 */

/** Questions to the home of a topic. The first element is the kind, the second the app. */
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

/** The ids of published events, by their position among the acknowledged questions. */
export type DoneIds = readonly (readonly [position: number, id: EventId])[];

/** The result of an event with an ask: its id in the history, and the number of loops that it was sent to. */
export type PublishedAsk = readonly [id: EventId | undefined, loops: number];

/** The answer of a home; `undefined` if the message asked nothing. */
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
  /** Acknowledges `done` questions that needed no answer, and answers the next one. */
  | readonly ['answer', done: number, answer: Answer, ids?: DoneIds]
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
