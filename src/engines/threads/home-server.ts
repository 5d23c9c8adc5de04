import type { App } from '../../channels/app.ts';
import { type ChannelName, parseChannelName } from '../../channels/channel-name.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import type { AppDirectory, Publication } from '../../channels/ports.ts';
import { withEventId } from '../../channels/wire.ts';
import { messageOf } from '../../runtime/error-code.ts';
import { Recent } from '../../runtime/recent.ts';
import { Unreadable } from '../../runtime/unreadable.ts';
import type { HoldersWalk } from '../holders.ts';
import type { Home } from '../home.ts';
import type { Loop } from '../shares.ts';
import type { EngineMessage, PostedEvent, Question, QuestionOf } from './messages.ts';
import { Answers } from './questions.ts';

/**
 * The limit of walks of other loops that stay open between two pages. A walk that is opened again must first find its
 * position.
 */
const WALKS_MAX = 64;

export interface HomeServerOptions {
  readonly home: Home;
  readonly apps: AppDirectory;
  readonly loops: readonly Loop[];
  readonly terminate: (app: App, userId: string) => void;
  readonly send: (to: Loop, message: EngineMessage) => void;
}

interface OpenWalk {
  readonly walk: HoldersWalk;
  /** Where its next page begins. */
  readonly next: string | undefined;
}

/** Answers the questions of other loops to the home on this loop. */
export class TopicHomeServer {
  private readonly options: HomeServerOptions;
  private readonly answers: readonly Answers[];
  /** Removed apps of which loops may still hold something. */
  private readonly known = new Map<string, App>();
  private readonly walks = new Recent<string, OpenWalk>(WALKS_MAX);

  constructor(options: HomeServerOptions) {
    this.options = options;
    this.answers = options.loops.map((to) => new Answers((message) => options.send(to, message)));
  }

  /** Throws if it cannot. The question is answered nevertheless, so that later answers belong to their questions. */
  answer(from: Loop, question: Question): void {
    const answers = this.answersTo(from);
    const { given } = answers;
    try {
      this.answerTo(from, question);
    } catch (error) {
      if (answers.given === given) answers.failed(messageOf(error));
      throw error;
    }
  }

  /** Publishes an event that nobody waits for. */
  post(event: PostedEvent): void {
    const app = this.appOf(event[1]);
    // The app was deleted after the event was posted, and its connections are closed.
    if (app === undefined) return;
    this.options.home.publish(publicationOf(app, event));
  }

  private answerTo(from: Loop, question: Question): void {
    const answers = this.answersTo(from);
    const app = this.appOf(question[1]);
    // The app was just created, and this loop does not know it yet.
    if (app === undefined) return answers.failed(`The app ${question[1]} is not known here yet`);
    const { home } = this.options;
    switch (question[0]) {
      case 'join': {
        const [, , text, held, socketId, userId, userInfo, history] = question;
        const member = userId === undefined ? undefined : { userId, userInfo };
        const entry = {
          app,
          channel: channelOf(text),
          held,
          member,
          newcomer: { socketId },
          history,
        };
        const isIn = home.join(from, entry, (entered) => answers.answer<'join'>(entered));
        if (!isIn) answers.answer<'join'>(false);
        return;
      }
      case 'leave': {
        const [, , text, held, userId, graceSeconds] = question;
        home.leave(from, { app, channel: channelOf(text), held, userId, graceSeconds });
        return answers.took();
      }
      case 'publish':
        return answers.took(
          home.publish({
            ...publicationOf(app, question),
            idempotencyKey: question[9],
            stops: question[10],
          }),
        );
      case 'publish-ask': {
        const publication = { ...publicationOf(app, question), ask: question[9] };
        const id = home.publish(publication);
        return answers.answer<'publish-ask'>([id, home.loopCountOf(app, publication.channel)]);
      }
      case 'append': {
        const [, , text, name, piece, bytesMax, trace] = question;
        const append = { app, channel: channelOf(text), name, piece, bytesMax, trace };
        return answers.answer<'append'>(home.append(append));
      }
      case 'stop-value': {
        const stopped = home.stopValue(app, channelOf(question[2]), question[3]);
        return answers.answer<'stop-value'>(stopped);
      }
      case 'sign-in':
        home.signIn(from, app, question[2], question[3]);
        return answers.took();
      case 'take-place':
        return answers.answer<'take-place'>(home.signIn(from, app, question[2], question[3]));
      case 'sign-out':
        home.signOut(from, app, question[2], question[3]);
        return answers.took();
      case 'terminate':
        this.options.terminate(app, question[2]);
        return answers.took();
      case 'watch':
        home.watch(from, app, question[2]);
        return answers.answer<'watch'>([...home.online(app, question[2])]);
      case 'unwatch':
        home.unwatch(from, app, question[2]);
        return answers.took();
      case 'user-statuses':
        return answers.answer<'user-statuses'>(home.userStatuses(app, question[2]));
      case 'members':
        return answers.answer<'members'>(home.members(app, channelOf(question[2])));
      case 'members-page': {
        const page = home.membersPage(app, channelOf(question[2]), question[3]);
        return answers.answer<'members-page'>(page);
      }
      case 'member':
        return answers.answer<'member'>(home.member(app, channelOf(question[2]), question[3]));
      case 'counts':
        return answers.answer<'counts'>(home.counts(app, channelOf(question[2])));
      case 'cached':
        return answers.answer<'cached'>(home.cached(app, channelOf(question[2])));
      case 'history':
        return answers.answer<'history'>(home.history(app, channelOf(question[2]), question[3]));
      case 'forget-history':
        home.forgetHistory(app, channelOf(question[2]));
        return answers.took();
      case 'channel-count':
        return answers.answer<'channel-count'>(home.channelCountOf(app));
      case 'page':
        return this.page(from, app, question);
      default:
        question satisfies never;
        throw new Unreadable('Its kind is not known');
    }
  }

  /** Called after each batch of questions of a loop. */
  flush(to: Loop): void {
    this.answersTo(to).flush();
  }

  private page(from: Loop, app: App, question: QuestionOf<'page'>) {
    const [, , number, prefix, after, limit] = question;
    const key = `${from} ${number}`;
    const open = this.walks.take(key);
    const walk =
      open !== undefined && open.next === after
        ? open.walk
        : this.options.home.channels(app, { prefix, after });
    const page = walk.page(limit);
    if (page.next !== undefined) this.walks.set(key, { walk, next: page.next });
    this.answersTo(from).answer<'page'>(page);
  }

  private answersTo(loop: Loop): Answers {
    const answers = this.answers[loop];
    if (answers === undefined) throw new Error(`There is no loop ${loop}`);
    return answers;
  }

  private appOf(id: string): App | undefined {
    const app = this.options.apps.byId(id);
    if (app === undefined) return this.known.get(id);
    if (this.known.get(id) !== app) this.known.set(id, app);
    return app;
  }
}

function channelOf(text: string): ChannelName {
  const parsed = parseChannelName(text);
  if (!parsed.ok) throw new Error(`Another loop sent an invalid channel name: ${parsed.why}`);
  return parsed.channel;
}

function publicationOf(
  app: App,
  question: QuestionOf<'publish'> | QuestionOf<'publish-ask'> | PostedEvent,
): Publication {
  const [, , channel, frame, except, cause, name, data, trace] = question;
  const remember = name === undefined || data === undefined ? undefined : { name, data };
  const makeFrame = (id?: EventId) => (id === undefined ? frame : withEventId(frame, id));
  return { app, channel, makeFrame, except, cause, remember, trace };
}
